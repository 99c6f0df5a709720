"""The tutorial, from top to bottom in an empty folder, as a newcomer would do it."""

import json


def test_it_ends_where_it_says(newcomer, interplay):
    project = newcomer / "my-benchmark"
    found = json.loads(interplay.run("qc", "report", "--json", "--project", project).stdout)
    states = {item["name"]: item["state"] for item in found["items"]}
    assert states == {"zoo-001": "released", "zoo-002": "released", "zoo-003": "released", "zoo-004": "rejected"}
    assert {one["code"]: one["items"] for one in found["reasons"]} == {"unhelpful_modality": ["zoo-004"]}
    assert (newcomer / "zoo-1.0.0" / "README.md").is_file()
    assert "<svg" in (newcomer / "report" / "report.html").read_text(encoding="utf-8")
