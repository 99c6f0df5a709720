from datetime import UTC, datetime, timedelta

import pytest

from core.content import TextPart
from core.question import AnswerKey, Question
from qc.reasons import REASONS, reason
from qc.report import qc_report, report_lines
from warehouse.items import Draft, create_item, get_item, revise_item
from warehouse.lifecycle import Action, Advance, advance
from warehouse.tables import Decision
from warehouse.verdicts import Judgement, record_verdict, settle_round


def draft(text: str) -> Draft:
    asked = Question(
        prompt=(TextPart(text=text),),
        kind="open",
        answer=AnswerKey(accepted=("3",)),
        task_type="counting",
        language="zh",
    )
    return Draft(asked, {}, "mei")


@pytest.fixture
def story(workspace):
    """Make an item and judge it: (round, decider, decision, codes) one after the other."""
    minutes = iter(range(1000))

    def clock():
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=next(minutes))

    def tell(name: str, *judged: tuple, submit: bool = True, settle: bool = True):
        with workspace.database.session() as session:
            item, revision = create_item(session, name, draft(name), clock=clock)
            if submit:
                advance(session, item.id, item.version, Advance(Action.SUBMIT, "mei"), clock)
            for number, decider, decision, *codes in judged:
                judgement = Judgement(
                    number, decider, "@" not in decider, Decision(decision), codes, {"votes": [{"solved": 0.5}]}
                )
                verdict = record_verdict(session, revision, judgement, clock)
                session.flush()
                if settle:
                    settle_round(session, revision, verdict, clock)

    return tell


def read(workspace):
    with workspace.database.reading() as session:
        return qc_report(session)


def test_the_funnel_counts_every_state(workspace, story):
    story("a", submit=False)
    story("b")
    story("c", (1, "check@1", "pass"))
    story("d", (1, "check@1", "return", "suspect_key"))
    story("e", (1, "check@1", "pass"), (2, "check@1", "reject", "redundant_modality"))
    found = read(workspace)
    assert found.funnel == {
        "draft": 1, "submitted": 1, "round1_passed": 1, "round2_passed": 0, "accepted": 0, "released": 0,
        "retired": 0, "returned": 1, "rejected": 1,
    }  # fmt: skip
    assert found.reasons == {"suspect_key": 1, "redundant_modality": 1}
    assert [item.name for item in found.items] == list("abcde")


def test_the_last_verdict_of_each_round_counts(workspace, story):
    story("a", (1, "check@1", "unknown", "unsolved"), (1, "rita", "pass"), (2, "check@1", "unknown", "needs_a_person"))
    (item,) = read(workspace).items
    assert (item.state, item.reason_codes) == ("round1_passed", ["needs_a_person"])
    assert {number: one["decider"] for number, one in item.rounds.items()} == {1: "rita", 2: "check@1"}
    assert item.rounds[2]["votes"] == [{"solved": 0.5}]
    assert (item.task_type, item.language) == ("counting", "zh")


def test_a_person_s_pass_takes_the_reason_away(workspace, story):
    story("a", (1, "check@1", "unknown", "unsolved"), (1, "rita", "pass"))
    assert read(workspace).reasons == {}


def test_verdicts_on_older_revisions_are_history(workspace, story):
    story("a", (1, "check@1", "return", "suspect_key"))
    with workspace.database.session() as session:
        item = get_item(session, "a")
        revise_item(session, item, item.version, draft("a, mended"))
    (item,) = read(workspace).items
    assert (item.state, item.rounds, item.reason_codes) == ("submitted", {}, [])


def test_the_lines_say_why_in_words(workspace, story):
    story("a", (1, "check@1", "pass"))
    story("b", (1, "check@1", "return", "suspect_key"))
    assert report_lines(read(workspace)) == [
        "funnel: 1 round1_passed, 1 returned",
        "  b: returned: suspect_key (the models agree on a choice that is not the key)",
    ]


def test_an_empty_project(workspace):
    found = read(workspace)
    assert (found.items, found.reasons, set(found.funnel.values())) == ((), {}, {0})


def test_every_reason_has_words_in_both_languages():
    for code, one in REASONS.items():
        assert reason(code) is one
        assert one.text("en") == one.text("de") == one.en
        assert one.text("zh") == one.text("zh-TW") == one.zh
        assert any("\u4e00" <= letter <= "\u9fff" for letter in one.zh)
        assert one.en.isascii()
