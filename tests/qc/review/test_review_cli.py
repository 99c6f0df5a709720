"""`interplay qc review ...` as people and programs call it."""

import json
import re
import shlex

import pytest
import typer

import qc.review.cli
from core.ids import utc_now
from interplay.cli import app as root
from qc.review.verdicts import give_verdict
from warehouse.items import current_revision, get_item
from warehouse.tables import Decision
from warehouse.verdicts import Judgement, record_verdict


@pytest.fixture
def database(workspace):
    return workspace.database


@pytest.fixture
def call(workspace, call_command):
    def run(line: str, code: int = 0):
        arguments = ["qc", "review", *shlex.split(line), "--project", str(workspace.project.root)]
        return call_command(root, arguments, code)

    return run


def commands():
    group = typer.main.get_command(qc.review.cli.app)
    within = {"gold": group.commands["gold"].commands}
    return [
        *(pytest.param(name, command, id=name) for name, command in group.commands.items() if name not in within),
        *(pytest.param(f"gold {name}", command, id=f"gold {name}") for name, command in within["gold"].items()),
    ]


@pytest.mark.parametrize(("name", "command"), commands())
def test_every_command_has_an_example_and_json(name, command):
    assert re.search(rf"^Example: interplay qc review {name}\b", command.help, re.MULTILINE)
    assert any("--json" in option.opts for option in command.params)


def test_from_the_first_look_to_accepted(call, desk):
    desk.item("zoo", notes={"audio": "named at 2 s"})
    for by in ("r0", "r1"):
        told = call(f"next --by {by}")
        assert re.match(r"zoo \(yours until .* UTC\): partial\nOne kind of material is kept back", told)
        assert "A. fox\nB. lynx\nC. owl" in told
        assert ("a" * 64 in told) != ("b" * 64 in told)
        assert "[1]" not in told and "named at" not in told
        assert call(f"next --by {by}") == told
        told = call(f"answer --by {by} --cannot-tell")
        assert "zoo" in told and "a" * 64 in told and "b" * 64 in told and "Now everything is shown" in told
        told = call(f"answer --by {by} --answer B")
        assert re.search(r"you answered without (image|audio): cannot tell \(not graded\)", told)
        assert "you answered with everything: B (1 of 1)" in told
        assert "answer: B: lynx" in told and "required: audio, image" in told and "note on audio: named at 2 s" in told
        done = call(f"decide --by {by} --decision pass --comment 'choice B: Good: clear.' --edit 'prompt: Who?' --json")
        assert done["item"] == "zoo" and "state" not in done
        assert done["comments"] == [{"part": "choice B", "text": "Good: clear."}]
        assert done["suggested_edit"] == {"prompt": "Who?"}
    assert desk.state("zoo") == "accepted"
    assert call("next --by r2") == "nothing waits for you\n"
    assert call("next --by r2 --json") is None


def test_the_json_shows_what_a_page_would_draw(call, desk):
    desk.item("zoo")
    view = call("next --by r0 --json")
    assert (view["stage"], view["shown"]["choices"], view["revealed"]) == ("partial", ["fox", "lynx", "owl"], None)
    assert set(view["instruction"]) == {"en", "zh"}
    assert "correct" not in json.dumps(view)
    assert "有一类素材暂不提供" in call("next --by r0 --language zh")


def test_a_task_given_back(call, desk):
    desk.item("zoo")
    call("next --by r0")
    assert call("release --by r0") == "zoo: given back\n"
    for line in ("release --by r0", "answer --by r0 --answer B", "decide --by r0 --decision pass"):
        assert "r0 has no task" in call(line)


def test_a_task_that_ended_leads_on_to_the_next(call, desk):
    desk.item("zoo")
    call("next --by r0")
    with desk.database.session() as session:
        for by in ("r1", "r2"):
            give_verdict(session, "zoo", 3, by, Decision.PASS)
    assert "decided meanwhile" in call("answer --by r0 --answer B")
    desk.item("other")
    assert call("next --by r0 --json")["item"] == "other"


@pytest.mark.parametrize("line", ["answer --by r0", "answer --by r0 --answer B --cannot-tell"])
def test_an_answer_or_none(call, desk, line):
    assert "one of them" in call(line)


def test_a_comment_names_its_part(call, desk):
    desk.item("zoo")
    call("next --by r0")
    call("decide --by r0 --decision pass --comment 'no part'", code=2)


def test_an_open_case(call, desk):
    desk.item("zoo", passed=0)
    with desk.database.session() as session:
        revision = current_revision(session, get_item(session, "zoo"))
        judgement = Judgement(1, "check@1", False, Decision.UNKNOWN, ["not_enough_votes"])
        record_verdict(session, revision, judgement, utc_now)
    assert call("waiting --json")["waiting"][0]["waits_for"] == "a reviewer"
    assert call("next --by r0") == "nothing waits for you\n"
    told = call("next --by r0 --open-case")
    assert "zoo" in told and "round 1, check@1: unknown; not_enough_votes" in told and "B. lynx" in told
    assert call("next --by r0") == told
    assert call("decide --by r0 --decision pass") == "zoo: pass by r0\n"
    assert desk.state("zoo") == "round1_passed"


def test_who_waits_for_what_until_a_maintainer_decides(call, desk):
    for name in ("new", "begun", "split", "stuck"):
        desk.item(name)
    for name, decisions in {
        "begun": ["pass"],
        "split": ["pass", "return"],
        "stuck": ["pass", "return", "reject"],
    }.items():
        for number, decision in enumerate(decisions):
            with desk.database.session() as session:
                give_verdict(
                    session, name, 3, f"r{number}", Decision(decision), [] if decision == "pass" else ["ambiguous"]
                )
    assert call("next --by r5 --json")["item"] == "split"
    found = {one["item"]: one for one in call("waiting --json")["waiting"]}
    assert {name: one["waits_for"] for name, one in found.items()} == {
        "new": "reviewers",
        "begun": "a reviewer",
        "split": "a third reviewer",
        "stuck": "a maintainer",
    }
    assert found["split"]["at_work"] == ["r5"]
    assert [one["decision"] for one in found["stuck"]["opinions"]] == ["pass", "return", "reject"]
    # Who still judges must not know what others said.
    assert (found["split"]["given"], found["split"]["opinions"]) == (2, [])
    assert re.search(r"stuck +3 +a maintainer .*r0: pass, r1: return, r2: reject", call("waiting"))
    assert call("adjudicate stuck --decision pass --by mara") == "stuck: pass by mara; the item is accepted\n"


def test_gold(call, desk):
    desk.item("zoo", passed=3)
    assert call("gold list --by mara") == "no gold items\n"
    assert "needs the role maintainer" in call("gold list --by r0")
    assert call("gold add zoo --decision reject --reason wrong_key --by mara") == "zoo: gold, reject\n"
    assert desk.review("r0", "reject", "wrong_key", gold_every=1) == "zoo"
    assert call("gold retire zoo --by mara") == "zoo: gold no more\n"
    assert call("gold list --by mara") == (
        "zoo: reject (wrong_key), retired\nr0: 1 of 1 right (95% interval 0.21 to 1.00)\n"
    )
    found = call("gold list --by mara --json")
    assert (found["items"][0]["item"], found["scores"][0]["given"]) == ("zoo", 1)
