import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import Modality, TextPart
from core.question import AnswerKey, Choice, Question
from qc.gates import (
    Ruling,
    Thresholds,
    goes_on,
    judge_ablations,
    judge_full,
    judge_text,
    judge_together,
    needs_probe,
    notes_on_full,
)
from qc.panel import Votes
from qc.reasons import REASONS
from warehouse.tables import Decision

LIMITS = Thresholds()
KEY = 1
SHARES = st.floats(0, 1)


def choice(correct: tuple[int, ...] = (KEY,)) -> Question:
    return Question(
        prompt=(TextPart(text="x"),),
        kind="choice",
        choices=tuple(Choice(text=text) for text in "wxyz"),
        answer=AnswerKey(correct=correct),
        task_type="counting",
        language="en",
    )


def votes(solved: float | None, shares: tuple[float, ...] | None = None, **changes) -> Votes:
    """Four families over four rotations, all asked; by default what is not solved is spread over the wrong choices."""
    if shares is None:
        rest = (1 - (solved or 0)) / 3
        shares = tuple(solved or 0 if place == KEY else rest for place in range(4))
    fields = {
        "condition": "c",
        "key": (KEY,) if shares else (),
        "solved": solved,
        "shares": shares,
        "solved_range": (solved or 0, solved or 0),
        "share_ranges": tuple((share, share) for share in shares),
        "planned": 16,
        "asked": 16,
        "valid": 16,
        "families": 4,
    }
    return Votes(**fields | changes)


def ablate(*pairs) -> dict[Modality, list]:
    """Votes without each modality in turn, beside their probes; a list of pairs holds a donor's, too."""
    modalities = (Modality.AUDIO, Modality.IMAGE, Modality.VIDEO)
    return {
        modality: pair if isinstance(pair, list) else [pair] for modality, pair in zip(modalities, pairs, strict=False)
    }


def said(ruling: Ruling) -> tuple[Decision, tuple[str, ...]]:
    return ruling.decision, ruling.reason_codes


PASSED = (Decision.PASS, ())
UNKNOWN = (Decision.UNKNOWN, ("not_enough_votes",))
PERSON = (Decision.UNKNOWN, ("needs_a_person",))
TOO_FEW = [
    pytest.param({"valid": 11}, id="11 of 16 valid"),
    pytest.param({"families": 3}, id="3 families"),
    pytest.param({"valid": 0, "families": 0, "solved": None, "shares": ()}, id="nothing valid"),
]


class TestFullInput:
    @pytest.mark.parametrize("solved", [0.4, 0.5, 1.0])
    def test_the_key_found_often_enough_passes(self, solved):
        assert said(judge_full(choice(), votes(solved), LIMITS)) == PASSED

    @pytest.mark.parametrize("solved", [0.0, 0.25, 0.399999])
    def test_found_too_seldom_goes_to_a_person(self, solved):
        assert said(judge_full(choice(), votes(solved), LIMITS)) == (Decision.UNKNOWN, ("unsolved",))

    @pytest.mark.parametrize("place", [0, 2, 3])
    def test_agreement_on_another_choice_is_a_suspect_key(self, place):
        shares = tuple(0.7 if at == place else 0.1 for at in range(4))
        ruling = judge_full(choice(), votes(0.1, shares), LIMITS)
        assert said(ruling) == (Decision.RETURN, ("suspect_key",))

    def test_just_short_of_it_is_unsolved(self):
        shares = (0.699999, 0.1, 0.1, 0.1)
        assert said(judge_full(choice(), votes(0.1, shares), LIMITS)) == (Decision.UNKNOWN, ("unsolved",))

    def test_of_several_right_choices_none_makes_the_key_suspect(self):
        question = choice(correct=(0, 1))
        assert said(judge_full(question, votes(0.8, (0.9, 0.9, 0.1, 0.0)), LIMITS)) == PASSED
        assert said(judge_full(question, votes(0.0, (0.9, 0.1, 0.9, 0.0)), LIMITS))[1] == ("suspect_key",)

    @pytest.mark.parametrize("few", TOO_FEW)
    def test_too_few_votes_are_unknown_and_never_a_pass(self, few):
        assert said(judge_full(choice(), votes(1.0).model_copy(update=few), LIMITS)) == UNKNOWN

    def test_three_quarters_of_four_families_are_enough(self):
        assert said(judge_full(choice(), votes(1.0, valid=12), LIMITS)) == PASSED

    def test_no_votes_at_all(self):
        assert said(judge_full(choice(), None, LIMITS)) == UNKNOWN

    def test_a_question_without_choices_has_no_suspect_key(self):
        assert said(judge_full(choice(), votes(0.1, ()), LIMITS)) == (Decision.UNKNOWN, ("unsolved",))
        assert said(judge_full(choice(), votes(0.4, ()), LIMITS)) == PASSED


class TestTextOnly:
    @pytest.mark.parametrize("solved", [0.0, 0.25, 0.4])
    def test_what_the_text_does_not_answer_passes_without_a_probe(self, solved):
        assert said(judge_text(votes(solved), None, LIMITS)) == PASSED

    @pytest.mark.parametrize("solved", [0.400001, 0.5, 0.599999])
    @pytest.mark.parametrize("probe", [None, 0.0, 1.0])
    def test_between_the_limits_a_person_decides_whatever_the_probe_says(self, solved, probe):
        asked = None if probe is None else votes(probe, ())
        assert said(judge_text(votes(solved), asked, LIMITS)) == PERSON

    @pytest.mark.parametrize("solved", [0.6, 1.0])
    def test_it_is_rejected_only_if_the_probe_agrees(self, solved):
        rejected = (Decision.REJECT, ("answerable_from_text",))
        assert said(judge_text(votes(solved), votes(0.6, ()), LIMITS)) == rejected
        assert said(judge_text(votes(solved), votes(0.599999, ()), LIMITS)) == PERSON
        assert said(judge_text(votes(solved), None, LIMITS)) == PERSON

    @pytest.mark.parametrize("few", TOO_FEW)
    def test_too_few_votes_are_unknown_and_never_a_pass(self, few):
        assert said(judge_text(votes(0.0).model_copy(update=few), None, LIMITS)) == UNKNOWN

    @pytest.mark.parametrize("few", TOO_FEW)
    def test_a_probe_with_too_few_votes_rejects_nothing(self, few):
        probe = votes(1.0, ()).model_copy(update=few)
        assert said(judge_text(votes(1.0), probe, LIMITS)) == PERSON

    def test_an_open_question_is_its_own_probe(self):
        assert said(judge_text(votes(0.6, ()), None, LIMITS)) == (Decision.REJECT, ("answerable_from_text",))
        assert said(judge_text(votes(0.5, ()), None, LIMITS)) == PERSON

    def test_no_votes_at_all(self):
        assert said(judge_text(None, None, LIMITS)) == UNKNOWN


class TestStepsOfTheText:
    """A step that the text alone answers is for a person to see, though the item as a whole needs more."""

    def test_a_step_that_leaks_is_named(self):
        ruling = judge_text(votes(0.25, (), step_shares=(0.599999, 0.6, 1.0)), None, LIMITS)
        assert said(ruling) == (Decision.UNKNOWN, ("leaking_step",))
        assert ruling.evidence["leaking_steps"] == [2, 3]

    def test_none_leaks(self):
        assert said(judge_text(votes(0.25, (), step_shares=(0.599999, 0.0)), None, LIMITS)) == PASSED

    def test_an_item_that_the_text_answers_is_rejected_whatever_its_steps_say(self):
        rejected = (Decision.REJECT, ("answerable_from_text",))
        assert said(judge_text(votes(0.6, (), step_shares=(1.0, 0.6)), None, LIMITS)) == rejected

    def test_too_few_votes_say_nothing_of_steps(self):
        assert said(judge_text(votes(0.25, (), step_shares=(1.0,), valid=11), None, LIMITS)) == UNKNOWN


class TestNotes:
    """Warnings on an item that round 1 lets pass."""

    def test_every_answer_right_is_too_easy(self):
        (found,) = notes_on_full(choice(), votes(1.0), LIMITS)
        assert (found.code, found.severity, found.message) == ("too_easy", "warning", "all 16 answers were right")

    def test_not_where_some_said_nothing_or_were_wrong(self):
        assert notes_on_full(choice(), votes(1.0, valid=15), LIMITS) == []
        assert notes_on_full(choice(), votes(0.9375), LIMITS) == []

    @pytest.mark.parametrize(("second", "told"), [(0.35, True), (0.349999, False)])
    def test_a_second_choice_with_many_votes_splits_the_panel(self, second, told):
        found = notes_on_full(choice(), votes(0.6, (0.0, 0.6, 0.05, second)), LIMITS)
        assert [(one.code, one.severity) for one in found] == [("answers_split", "warning")] * told
        assert all(one.message == "35% of the votes are for 'z'" for one in found)

    def test_another_right_choice_is_no_second_one(self):
        assert notes_on_full(choice(correct=(0, 1)), votes(0.6, (0.9, 0.7, 0.1, 0.1)), LIMITS) == []


OPEN, SHUT = (votes(0.25), None), (votes(1.0), votes(1.0, ()))
GREY, FEW = (votes(0.5), votes(0.0, ())), (votes(0.25, valid=11), None)


class TestAblations:
    @pytest.mark.parametrize(
        ("ablated", "wanted"),
        [
            ([OPEN, OPEN], PASSED),
            ([OPEN, OPEN, OPEN], PASSED),
            ([SHUT, SHUT], (Decision.REJECT, ("redundant_modality",))),
            ([SHUT, OPEN], (Decision.REJECT, ("unhelpful_modality",))),
            ([OPEN, SHUT], (Decision.REJECT, ("unhelpful_modality",))),
            ([SHUT, SHUT, OPEN], (Decision.REJECT, ("unhelpful_modality",))),
            ([SHUT], (Decision.REJECT, ("unhelpful_modality",))),
            # One modality that is shown not to be needed is enough, whatever is known of the others.
            ([SHUT, FEW], (Decision.REJECT, ("unhelpful_modality",))),
            ([SHUT, GREY], (Decision.REJECT, ("unhelpful_modality",))),
            ([OPEN, FEW], UNKNOWN),
            ([GREY, FEW], UNKNOWN),
            ([OPEN, (None, None)], UNKNOWN),
            ([OPEN, GREY], PERSON),
            ([OPEN, (votes(1.0), None)], PERSON),
            ([OPEN, (votes(1.0), votes(0.5, ()))], PERSON),
            ([], PERSON),
            # What a donor's media show counts beside what is answered without any.
            ([[OPEN, OPEN], OPEN], PASSED),
            ([[SHUT, OPEN], OPEN], (Decision.REJECT, ("unhelpful_modality",))),
            ([[SHUT, SHUT], [SHUT, OPEN]], (Decision.REJECT, ("redundant_modality",))),
            # By luck a donor may say what the item's own media say: alone it rejects nothing, and lets nothing pass.
            ([[OPEN, SHUT], OPEN], PERSON),
            ([[OPEN, SHUT], [OPEN, SHUT]], PERSON),
            ([[OPEN, SHUT], [SHUT, OPEN]], (Decision.REJECT, ("unhelpful_modality",))),
            ([[OPEN, GREY], OPEN], PERSON),
            ([[OPEN, FEW], OPEN], UNKNOWN),
        ],
    )
    def test_what_each_pattern_means(self, ablated, wanted):
        assert said(judge_ablations(ablate(*ablated), LIMITS)) == wanted

    def test_it_names_what_is_not_needed(self):
        assert judge_ablations(ablate(OPEN, SHUT), LIMITS).evidence["solvable_without"] == ["image"]
        assert judge_ablations(ablate(SHUT, [OPEN, SHUT], SHUT), LIMITS).evidence["solvable_without"] == [
            "audio",
            "video",
        ]

    @given(st.lists(st.tuples(SHARES, st.none() | SHARES, st.integers(0, 16), st.integers(0, 5)), max_size=3))
    def test_no_item_passes_without_evidence_that_each_modality_is_needed(self, drawn):
        ablated = [
            (votes(solved, valid=valid, families=families), None if probe is None else votes(probe, ()))
            for solved, probe, valid, families in drawn
        ]
        ruling = judge_ablations(ablate(*ablated), LIMITS)
        if ruling.decision is Decision.PASS:
            assert drawn
            assert all(solved <= 0.4 and valid >= 12 and families >= 4 for solved, _, valid, families in drawn)

    @given(SHARES, SHARES, SHARES)
    def test_the_order_of_modalities_decides_nothing(self, first, second, probe):
        pairs = [(votes(first), votes(probe, ())), (votes(second), votes(probe, ()))]
        assert said(judge_ablations(ablate(*pairs), LIMITS)) == said(judge_ablations(ablate(*pairs[::-1]), LIMITS))


class TestProbe:
    @pytest.mark.parametrize(
        ("solved", "needed"), [(0.0, False), (0.4, False), (0.400001, True), (0.6, True), (1.0, True)]
    )
    def test_it_is_asked_where_the_first_votes_are_flagged_or_grey(self, solved, needed):
        assert needs_probe(votes(solved), LIMITS) is needed

    @pytest.mark.parametrize("few", TOO_FEW)
    def test_and_nothing_is_asked_where_nothing_could_follow(self, few):
        assert not needs_probe(votes(1.0).model_copy(update=few), LIMITS)
        assert not needs_probe(None, LIMITS)


def test_a_ruling_carries_its_numbers_and_its_limits():
    ruling = judge_text(votes(1.0), votes(0.5, ()), LIMITS)
    assert [one["solved"] for one in ruling.evidence["votes"]] == [1.0, 0.5]
    assert ruling.evidence["thresholds"] == {
        "version": "2",
        "flagged": 0.6,
        "passes": 0.4,
        "full_at_least": 0.4,
        "suspect_key": 0.7,
        "split": 0.35,
        "valid_at_least": 0.75,
        "families_at_least": 4,
    }


def test_other_limits_decide_otherwise():
    strict = Thresholds(version="3", flagged=0.3, passes=0.2)
    assert said(judge_text(votes(0.35), votes(0.35, ()), strict))[0] is Decision.REJECT
    assert said(judge_text(votes(0.35), votes(0.35, ()), LIMITS)) == PASSED


@given(st.none() | SHARES, st.none() | SHARES, st.integers(0, 16), st.integers(0, 6), st.booleans())
def test_every_reason_is_a_known_one(solved, probe, valid, families, is_open):
    shares = () if is_open else None
    first = votes(solved, shares, valid=valid if solved is not None else 0, families=families)
    second = None if probe is None else votes(probe, ())
    for ruling in (
        judge_full(choice(), first, LIMITS),
        judge_text(first, second, LIMITS),
        judge_ablations(ablate((first, second)), LIMITS),
    ):
        assert set(ruling.reason_codes) <= set(REASONS)
        assert (ruling.decision is Decision.PASS) == (ruling.reason_codes == ())


class TestTogether:
    """Both gates of round 2."""

    @pytest.mark.parametrize(("solved", "on"), [(0.0, True), (0.4, True), (0.59, True), (0.6, False), (1.0, False)])
    def test_what_the_text_alone_flags_is_asked_no_more(self, solved, on):
        assert goes_on(votes(solved), LIMITS) is on

    def test_nor_what_has_too_few_votes(self):
        assert not goes_on(None, LIMITS)
        assert not goes_on(votes(0.0, valid=11), LIMITS)

    def test_where_the_text_passes_the_ablations_decide(self):
        text = judge_text(votes(0.2), None, LIMITS)
        for ablations in (Ruling(Decision.PASS, (), {"votes": []}), Ruling(Decision.REJECT, ("x",), {"votes": [1]})):
            found = judge_together(text, ablations)
            assert said(found) == said(ablations)
            assert found.evidence["votes"] == [*text.evidence["votes"], *ablations.evidence["votes"]]

    def test_a_doubt_about_the_text_stays_with_a_person_who_is_told_the_rest(self):
        text = judge_text(votes(0.5), None, LIMITS)
        rejected = judge_together(text, Ruling(Decision.REJECT, ("unhelpful_modality",), {"votes": []}))
        assert said(rejected) == (Decision.UNKNOWN, ("needs_a_person", "unhelpful_modality"))
        grey = judge_together(text, Ruling(Decision.UNKNOWN, ("needs_a_person",), {"votes": []}))
        assert said(grey) == PERSON
