"""Proof of difference: what must be refused and what may pass, in both languages."""

import pytest

from core.content import MediaPart, MediaRef, Modality, TextPart
from core.question import AnswerKey, Choice, Question, QuestionKind
from curation.questions.difference import Nearness, prove

LONG = "Which of the two boats near the harbour wall carries more red containers than the other"


def medium(number, modality="image"):
    return MediaRef(sha256=f"{number:064x}", media_type=f"{modality}/x", modality=modality, byte_count=1)


def question(text, *, media=(1,), choices=("two", "three"), task_type="counting", language="en", modality="image"):
    parts = [MediaPart(name=f"{modality}_{n}", media=medium(m, modality)) for n, m in enumerate(media, 1)]
    return Question(
        prompt=(TextPart(text=text), *parts),
        kind=QuestionKind.CHOICE if choices else QuestionKind.OPEN,
        choices=tuple(Choice(text=one) for one in choices),
        answer=AnswerKey(correct=(0,)) if choices else AnswerKey(accepted=("x",)),
        required=frozenset({Modality(modality)}),
        task_type=task_type,
        language=language,
    )


def different(_ours, _theirs):
    return Nearness(compared=True)


def failed(private, public, near=different, theirs=None):
    return [check.name for check in prove(private, public, near, theirs or {}).checks if check.passed is False]


PUBLIC = question(
    LONG + "?", media=(9,), choices=("the left boat there", "the right boat here", "both carry equal loads")
)


def test_own_media_and_words_pass():
    private = question("How many kites fly over the meadow?", choices=("four kites aloft", "seven kites aloft"))
    proof = prove(private, PUBLIC, different, {})
    assert proof.holds
    assert {check.passed for check in proof.checks} == {True}


def test_thirteen_words_in_a_row_fail_and_twelve_pass():
    words = LONG.split()
    choices = ("alpha beacon tower", "gamma lantern bridge")
    rest = "sails under bright morning clouds while children watch from the old pier at dawn"
    found = prove(question(f"{' '.join(words[:13])} {rest}?", choices=choices), PUBLIC, different, {})
    (told,) = [check for check in found.checks if check.name == "other_words"]
    assert (told.measured["tokens"], told.passed) == (13, False)
    assert told.measured["coverage"] < 0.6  # by its length alone
    # Twelve of them are 12/20 of a text as long as this one: within the limit of coverage.
    rest = "sails under bright morning clouds while children watch"
    assert failed(question(f"{' '.join(words[:12])} {rest}?", choices=choices), PUBLIC) == []


def test_most_of_the_text_taken_over_in_pieces_fails():
    text = "Which of the two boats near the old harbour wall carries more red containers than another?"
    found = prove(question(text, choices=("alpha", "beta")), PUBLIC, different, {})
    (words,) = [check for check in found.checks if check.name == "other_words"]
    # 'Which of the two boats near the' and 'harbour wall carries more red containers than': 14 of 16 and two options.
    assert words.passed is False
    assert words.measured["coverage"] == pytest.approx(14 / 18, abs=1e-4)


@pytest.mark.parametrize(("count", "passed"), [(8, False), (7, True)])
def test_eight_characters_in_a_row_fail(count, passed):
    text = "码头旁边哪艘红色货轮装载集装箱更多"
    public = question(text, media=(9,), language="zh", choices=())
    private = question(text[:count] + "与草地上奔跑追逐蝴蝶的孩子们相比谁先抵达终点呢", language="zh", choices=())
    assert ("other_words" not in failed(private, public)) is passed


def test_instructions_are_free():
    ask = "Which of the following is true about the image? Choose the right answer from the options below."
    private, public = (question(f"{ask} {tail}", choices=()) for tail in ("Kites soar.", "Boats sink."))
    assert "other_words" not in failed(private, public)


def test_the_same_options_fail_unless_they_are_everybodys():
    private = question("Kites?", choices=("both carry equal loads", "the right boat here", "the left boat there"))
    assert failed(private, PUBLIC) == ["other_options"]
    yes = [question(text, media=(n,), choices=("yes", "no")) for n, text in enumerate(("Kites?", "Boats?"), 1)]
    assert failed(*yes) == []


def test_media_that_are_or_show_the_same_fail():
    private = question("Kites?", choices=("four kites aloft", "seven kites aloft"))
    assert failed(private, PUBLIC, near=lambda ours, theirs: Nearness(True, 0.02)) == ["other_media"]
    assert failed(private, PUBLIC, theirs={medium(1).sha256: ["mmbench/7"]}) == ["private_media"]


def test_what_cannot_be_compared_is_not_passed():
    private = question("Kites?", choices=("four kites aloft", "seven kites aloft"))
    proof = prove(private, PUBLIC, lambda ours, theirs: Nearness(compared=False), {})
    assert {check.name: check.passed for check in proof.checks}["other_media"] is None


def test_another_ability_or_a_missing_modality_fails():
    private = question("Kites?", choices=("four kites aloft", "seven kites aloft"), task_type="riddle_reasoning")
    assert failed(private, PUBLIC) == ["same_ability"]
    heard = question("Kites?", choices=("four kites aloft", "seven kites aloft"), modality="audio")
    assert failed(heard, PUBLIC) == ["same_modalities"]


def test_without_options_there_is_nothing_to_compare():
    proof = prove(question("Kites?", choices=()), PUBLIC, different, {})
    assert {check.name: check.passed for check in proof.checks}["other_options"] is None
    assert proof.holds
    assert all(check.en and check.zh for check in proof.checks)
