"""`interplay published check`."""

import json

import pytest
from typer.testing import CliRunner

from core.errors import UnknownName
from evaluation.published.cli import app

TABLES = {"T": {"title": "by hand", "columns": ["share"], "decimals": 1, "rows": {"a": [33.3], "b": [50.1]}}}
CLAIM = {"check": "counts", "table": "T", "n": {"share": 3}}


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"name": "Mine", "source": "by hand", "tables": TABLES, "claims": [CLAIM]}), "utf-8")
    return str(path)


def call(*words):
    return CliRunner().invoke(app, ["check", *words], catch_exceptions=False)


def test_both_papers_are_checked_when_none_is_named():
    document = json.loads(call("--json").stdout)
    assert set(document["sources"]) == {"UNO-Bench", "OmniPlay"}
    counted = {(row["paper"], row["check"]): row for row in document["summary"]}
    assert counted["OmniPlay", "nps"]["reproduces"] == 59
    assert sum(row["reproduces"] + row["does not"] + row["recorded"] for row in document["summary"]) == len(
        document["findings"]
    )


def test_what_does_not_reproduce_is_listed_and_all_on_demand(mine):
    shown = call("--file", mine)
    assert shown.exit_code == 0
    assert "T, b: share" in shown.stdout
    assert "T, a: share" not in shown.stdout
    assert "source: by hand" in shown.stdout
    assert "UNO-Bench" not in shown.stdout
    assert "T, a: share" in call("--file", mine, "--all").stdout


def test_a_file_may_stand_beside_a_paper(mine):
    document = json.loads(call("--file", mine, "--paper", "omniplay", "--json").stdout)
    assert set(document["sources"]) == {"OmniPlay", "Mine"}


def test_strict_tells_by_its_exit_code(mine, tmp_path):
    assert call("--file", mine, "--strict").exit_code == 1
    rows = {"T": TABLES["T"] | {"rows": {"a": [33.3]}}}
    good = tmp_path / "good.json"
    good.write_text(json.dumps({"name": "Mine", "source": "by hand", "tables": rows, "claims": [CLAIM]}), "utf-8")
    assert call("--file", str(good), "--strict").exit_code == 0


def test_an_unknown_paper_is_refused():
    with pytest.raises(UnknownName):
        call("--paper", "unno")
