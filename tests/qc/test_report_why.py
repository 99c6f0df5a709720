"""Sentences of the gates, by hand; and decoys and twins over stories that are made by hand."""

from dataclasses import asdict
from datetime import UTC, datetime

import numpy as np
import pytest

from core.content import TextPart
from core.question import AnswerKey, Choice, Question, Step
from qc.agreement import agreement, alpha, alpha_interval, kappa
from qc.gates import Thresholds
from qc.panel import Votes
from qc.reasons import Words
from qc.report.answers import answer_table
from qc.report.benchmark import decoys_of, twins_of
from qc.report.document import Answer, GateStory, ItemStory, RoundStory, VerdictStory
from qc.report.why import gate_stories
from qc.report.words import undefined_words
from warehouse.tables import Decision, Verdict

CHOICE = Question(
    prompt=(TextPart(text="Which?"),),
    kind="choice",
    choices=tuple(Choice(text=text) for text in ("red", "green", "blue", "white")),
    answer=AnswerKey(correct=(0,)),
    task_type="counting",
    language="en",
)
STEPS = Question(
    prompt=(TextPart(text="Work it out."),),
    kind="multi_step",
    steps=tuple(Step(ask=f"{number}?", points=5, answer=AnswerKey(accepted=("1",))) for number in (1, 2)),
    task_type="multi_step_reasoning",
    language="en",
)
LIMITS = asdict(Thresholds())


def votes(condition: str, *shares: float, solved: float | None = None, valid: int = 16, steps=()) -> Votes:
    return Votes(
        condition=condition,
        key=(0,) if shares else (),
        solved=shares[0] if shares else solved,
        shares=shares,
        step_shares=steps,
        solved_range=(0.0, 1.0),
        share_ranges=tuple((share, share) for share in shares),
        planned=16,
        asked=16,
        valid=valid,
        families=4,
    )


def told(decision: str, *given: Votes, question: Question = CHOICE, **more) -> tuple:
    evidence = {"thresholds": LIMITS, "votes": [one.model_dump(mode="json") for one in given], **more}
    verdict = Verdict(
        revision_id="r", round=2, by_person=False, decider="c@1", decision=Decision(decision), evidence=evidence, idempotency_key="k"
    )  # fmt: skip
    return gate_stories(question, verdict)


@pytest.mark.parametrize(
    ("decision", "given", "said"),
    [
        ("pass", [votes("full", 0.75, 0.25, 0, 0)], ["75% right with everything given (>= 40%): passes"]),
        ("unknown", [votes("full", 0.2, 0.6, 0.2, 0)], ["20% right with everything given (< 40%): a person decides"]),
        ("return", [votes("full", 0.125, 0.125, 0.75, 0)], ["75% for choice C with everything given (>= 70%), which is not the key: returned"]),
        (
            "unknown",
            [votes("full", 1, 0, 0, 0, valid=11)],
            ["only 11 of 16 answers, of 4 families, can be read with everything given; 75% of 4 families are needed: undecided"],
        ),
        ("pass", [votes("text_only", 0.4, 0.2, 0.2, 0.2)], ["40% right with the text alone (<= 40%): passes"]),
        ("unknown", [votes("text_only", 0.5, 0.5, 0, 0), votes("text_only_open", solved=0.9)], ["50% right with the text alone (> 40%, < 60%): a person decides"]),
        (
            "reject",
            [votes("without_audio", 0.75, 0.25, 0, 0), votes("without_audio_open", solved=0.75), votes("without_image", 0.1, 0.9, 0, 0)],
            ["75% right without audio (>= 60%), and 75% in the open probe: solved"],
        ),
        (
            "unknown",
            [votes("without_audio", 0.75, 0.25, 0, 0), votes("without_audio_open", solved=0.3)],
            ["75% right without audio (>= 60%), but only 30% in the open probe: a person decides"],
        ),
        (
            "unknown",
            [votes("without_audio", 0.75, 0.25, 0, 0), votes("without_audio_open", solved=0.9, valid=2)],
            ["75% right without audio (>= 60%), but too few answers in the open probe: a person decides"],
        ),
    ],
)  # fmt: skip
def test_why(decision, given, said):
    _, why, note = told(decision, *given)
    assert ([one.en for one in why], note) == (said, None)
    assert all(any("\u4e00" <= letter <= "\u9fff" for letter in one.zh) for one in why)


def test_without_choices_the_answers_are_their_own_probe():
    _, (why,), _ = told("reject", votes("without_audio", solved=0.8, steps=(0.8, 1.0)), question=STEPS)
    assert why.en == "80% right without audio (>= 60%), and no choices could lead: solved"


def test_a_step_that_leaks_is_marked():
    (story,), (why,), _ = told(
        "unknown", votes("text_only", solved=0.0, steps=(0.1, 0.75)), question=STEPS, leaking_steps=[2]
    )
    assert (story.says, story.leaking) == ("person", (2,))
    assert why == Words(
        en="with the text alone, 75% right in step 2 (>= 60%): a person decides",
        zh="仅有文字：步骤 2 答对 75%（>= 60%）：由人工判定",
    )


def test_what_does_not_arrive_is_told_by_model():
    stories, (why,), _ = told("unknown", quarantined={"m2": ["audio"], "m1": ["audio", "video"]})
    assert stories == ()
    assert why.en == "what the item shows does not reach enough of the panel (m1: audio, video; m2: audio): undecided"


def test_thresholds_are_those_of_the_verdict():
    _, (why,), _ = told("pass", votes("text_only", 0.5, 0.5, 0, 0), thresholds=LIMITS | {"passes": 0.55})
    assert why.en == "50% right with the text alone (<= 55%): passes"


def item(name: str, *given: Votes, twin_group: str | None = None, answers=()) -> ItemStory:
    gates = tuple(
        GateStory(votes=one, shown=Words(en="", zh=""), says="pass", why=Words(en="", zh="")) for one in given
    )
    verdict = VerdictStory(
        decision="pass", codes=(), decider="c@1", by_person=False, comment=None, at=datetime(2026, 1, 1, tzinfo=UTC),
        gates=gates, flagged_at=0.6,
    )  # fmt: skip
    return ItemStory(
        name=name, state="accepted", kind="choice", task_type="counting", language="en", author="mei", revision=1,
        twin_group=twin_group, prompt="Which?", required=(), answers=answers, table=answer_table(answers),
        rounds=(RoundStory(round=2, outcome="passed", verdicts=(verdict,)),),
    )  # fmt: skip


class TestDecoys:
    def test_an_estimate_above_the_level_is_marked(self):
        """2 keys reach .6 and a wrong choice of 3 items does: 3 / (3 x 2) = .5; at .75 only the keys are left."""
        found = decoys_of([
            *(item(f"found{number}", votes("text_only", 1.0, 0.0, 0.0, 0.0)) for number in range(2)),
            *(item(f"lucky{number}", votes("text_only", 0.1, 0.1, 0.7, 0.1)) for number in range(3)),
            item("placebo", votes("donor_for_image", 0.0, 1.0, 0.0, 0.0)),
        ])  # fmt: skip
        text_only, any_of_them = found.conditions
        assert (text_only.used.fdr, text_only.is_above, text_only.lowest) == (pytest.approx(0.5), True, 0.75)
        assert text_only.flagged == ("found0", "found1")
        assert text_only.decoys == ("lucky0", "lucky1", "lucky2")
        assert (any_of_them.condition, any_of_them.used.items) == ("any", 5)
        assert (found.share, found.items) == (0.6, 5)

    def test_without_votes_there_is_none(self):
        found = decoys_of([item("open", votes("text_only", solved=0.2))])
        assert (found.conditions, found.share) == ((), 0.6)


def answer(family: str, rotation: int, right: bool | None, place: int) -> Answer:
    return Answer(
        key=f"{family}{rotation}{place}", model=family, family=family, condition="text_only", rotation=rotation,
        state="ok", answer="A", error=None, picked=() if right is None else (0,), right=right,
    )  # fmt: skip


def test_a_group_is_right_where_all_members_are_and_each_family_counts_once():
    """Family f is right in 1 of the 2 questionings that both members share, g in its only one: (1/2 + 1) / 2."""
    first = [answer("f", 0, True, 1), answer("f", 1, True, 1), answer("g", 0, True, 1), answer("g", 1, True, 1)]
    second = [answer("f", 0, True, 2), answer("f", 1, False, 2), answer("g", 0, True, 2), answer("g", 1, None, 2)]
    members = [item("a", twin_group="pair", answers=tuple(first)), item("b", twin_group="pair", answers=tuple(second))]
    other = CHOICE.model_copy(update={"answer": AnswerKey(correct=(1,))})
    (group,) = twins_of(members, {"a": CHOICE, "b": other})
    (score,) = group.scores
    assert (score.right, score.asked, score.accuracy) == (2, 3, 0.75)
    assert (group.members, group.blind_ceiling) == (("a", "b"), 0.0)
    (alike,) = twins_of(members, {"a": CHOICE, "b": CHOICE})
    assert (alike.blind_ceiling, alike.findings[0].code) == (1.0, "twins_not_counterfactual")


def test_reasons_of_undefined_statistics_have_words_in_chinese():
    """Those that the statistics really give, so that a reworded one is missed here."""
    given = [
        kappa([]).reason,
        kappa([("return", "return")]).reason,
        alpha(np.array([[1, 0]])).reason,
        alpha(np.array([[2, 0], [2, 0]])).reason,
        agreement([], np.random.default_rng(0)).first_two.percent.reason,
        alpha_interval(np.array([[2, 0]]), ["a"], np.random.default_rng(0)).low.reason,
        "too few decisions: 20 of the 40 needed",
    ]
    assert [undefined_words(reason).zh for reason in given] == [
        "两人没有共同评审的题目",
        "两人的裁定始终为“退回”：κ 为 0/0",
        "没有版本得到两次裁定",
        "所有裁定相同：α 为 0/0",
        "给出裁定的评审者不足两人",
        "不足两道题目",
        "裁定过少：20，需要 40",
    ]
    assert undefined_words("of another version").zh == "of another version"
