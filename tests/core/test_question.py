import os
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.content import MediaPart, MediaRef, Modality, TextPart, parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind, Step, choice_label


def ref(modality: str, sha256: str = "a" * 64) -> MediaRef:
    return MediaRef(sha256=sha256, media_type="x/y", modality=modality, byte_count=1)


def question(kind: str = "choice", **changes) -> Question:
    by_kind = {
        "choice": {"choices": (Choice(text="red"), Choice(text="blue")), "answer": AnswerKey(correct=(1,))},
        "open": {"answer": AnswerKey(accepted=("blue",))},
        "multi_step": {"steps": (step(4), step(6))},
    }
    fields = {"prompt": (TextPart(text="Which?"),), "kind": kind, "task_type": "counting", "language": "en"}
    return Question(**(fields | by_kind[kind] | changes))


def step(points: int, accepted: tuple[str, ...] = ("3",)) -> Step:
    return Step(ask="How many?", points=points, answer=AnswerKey(accepted=accepted))


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        ("choice", {"choices": (Choice(text="red"),)}, "at least 2 choices, this one has 1"),
        ("choice", {"answer": AnswerKey()}, "at least one correct choice"),
        ("choice", {"answer": AnswerKey(correct=(2,))}, "the key names choice 3, but there are 2 choices"),
        ("choice", {"answer": AnswerKey(correct=(-1,))}, "the key names choice 0"),
        ("choice", {"steps": (step(10),)}, "only multi-step questions have steps"),
        ("open", {"answer": AnswerKey()}, "at least one accepted answer"),
        ("open", {"choices": (Choice(text="a"), Choice(text="b"))}, "only choice questions have choices"),
        ("multi_step", {"steps": (step(4), step(5))}, "must sum to 10, these sum to 9"),
        ("multi_step", {"steps": ()}, "must sum to 10, these sum to 0"),
        ("multi_step", {"steps": (step(4), step(6, ()))}, "step 2 needs at least one accepted answer"),
        ("open", {"language": "English"}, "language"),
        ("open", {"unknown": 1}, "unknown"),
        ("open", {"prompt": (MediaPart(name="image_1", media=ref("image")),) * 2}, "places <image_1> twice"),
    ],
)
def test_a_question_that_cannot_be_asked_or_graded_is_refused(kind, changes, told):
    with pytest.raises(ValidationError, match=told):
        question(kind, **changes)


@pytest.mark.parametrize("points", [0, 11, 2.5, -1])
def test_steps_are_worth_whole_points_of_ten(points):
    with pytest.raises(ValidationError):
        step(points)


def test_an_empty_answer_never_counts():
    with pytest.raises(ValidationError):
        AnswerKey(accepted=("",))


def test_the_key_is_a_set_of_choices():
    assert AnswerKey(correct=(2, 0, 2)) == AnswerKey(correct=(0, 2))


def test_the_prompt_reads_as_written_and_tells_its_media():
    text = "Hear <audio_1>, see <image_1> and <image_2>; <image_1> again."
    media = {"audio_1": ref("audio"), "image_1": ref("image"), "image_2": ref("image", "b" * 64)}
    asked = question(prompt=parse_prompt(text, media), required={"image", "audio"})
    assert asked.prompt_text == text
    assert [part.name for part in asked.media] == ["audio_1", "image_1", "image_2"]
    assert asked.modalities == {Modality.AUDIO, Modality.IMAGE}
    assert asked.modalities == asked.required


def test_rotation_moves_choice_i_to_place_i_plus_k_with_its_key():
    asked = question(choices=tuple(Choice(text=text) for text in "abcd"), answer=AnswerKey(correct=(0, 3)))
    turned = asked.rotated(1)
    assert [choice.text for choice in turned.choices] == ["d", "a", "b", "c"]
    assert turned.answer.correct == (0, 1)


@st.composite
def choice_questions(draw):
    texts = draw(st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=6, unique=True))
    correct = draw(st.lists(st.sampled_from(range(len(texts))), min_size=1))
    return question(choices=tuple(Choice(text=text) for text in texts), answer=AnswerKey(correct=tuple(correct)))


def right_texts(asked: Question) -> set[str]:
    return {asked.choices[index].text for index in asked.answer.correct}


@given(choice_questions(), st.integers(-9, 9), st.integers(-9, 9))
def test_rotation_keeps_what_is_right_and_adds_up(asked, by, more):
    turned = asked.rotated(by)
    assert right_texts(turned) == right_texts(asked)
    assert sorted(choice.text for choice in turned.choices) == sorted(choice.text for choice in asked.choices)
    assert turned.rotated(more) == asked.rotated(by + more)
    assert turned.rotated(-by) == asked


@given(choice_questions())
def test_a_full_turn_changes_nothing_and_every_choice_stands_once_in_every_place(asked):
    count = len(asked.choices)
    stepwise = [asked]
    for _ in range(count):
        stepwise.append(stepwise[-1].rotated(1))
    assert stepwise[count] == asked
    assert stepwise[count].content_hash == asked.content_hash
    for place in range(count):
        assert len({turned.choices[place] for turned in stepwise[:count]}) == count


@pytest.mark.parametrize("kind", ["open", "multi_step"])
def test_a_question_without_choices_has_no_rotation(kind):
    assert question(kind).rotated(3) == question(kind)


def test_asked_openly_the_text_of_the_right_choice_counts():
    asked = question().as_open()
    assert (asked.kind, asked.choices, asked.answer.accepted) == (QuestionKind.OPEN, (), ("blue",))
    assert Question.model_validate(asked.model_dump()) == asked
    numbers = question(choices=(Choice(text="1,200"), Choice(text="7.5")))
    assert (asked.answer.grader, numbers.as_open().answer.grader) == ("short_text", "number")
    assert question("open").as_open() == question("open")
    both = question().model_copy(update={"answer": AnswerKey(correct=(0, 1))}).as_open()
    assert both.answer == AnswerKey(accepted=("; ".join(c.text for c in question().choices[:2]),), grader="enumeration")
    words = question().model_copy(update={"choices": (Choice(text="nan"), Choice(text="inf"))})
    assert words.as_open().answer.grader == "short_text"


CHANGES = {
    "prompt": (TextPart(text="Which one?"),),
    "choices": (Choice(text="blue"), Choice(text="red")),
    "answer": AnswerKey(correct=(0,)),
    "required": frozenset({Modality.IMAGE}),
    "task_type": "ocr",
    "language": "zh",
    "asked_in": "audio",
}


@pytest.mark.parametrize("field", sorted(Question.model_fields.keys() - {"kind", "steps"}))
def test_the_content_hash_sees_every_field(field):
    assert question(**{field: CHANGES[field]}).content_hash != question().content_hash


def test_the_content_hash_sees_kind_and_steps():
    steps = [question("multi_step"), question("multi_step", steps=(step(5), step(5))), question("open")]
    assert len({asked.content_hash for asked in steps}) == 3


def test_the_content_hash_does_not_depend_on_the_process():
    asked = question(
        prompt=parse_prompt("看 <image_1> <audio_1>", {"image_1": ref("image"), "audio_1": ref("audio")}),
        required=frozenset({Modality.VIDEO, Modality.TEXT, Modality.IMAGE, Modality.AUDIO}),
    )
    code = "import sys; from core.question import Question as Q; print(Q.model_validate_json(input()).content_hash)"
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        line = [sys.executable, "-c", code]
        done = subprocess.run(
            line, input=asked.model_dump_json(), capture_output=True, text=True, check=True, env=environment
        )
        assert done.stdout.strip() == asked.content_hash


@given(choice_questions())
def test_a_stored_question_comes_back_the_same(asked):
    again = Question.model_validate_json(asked.model_dump_json())
    assert again == asked
    assert again.content_hash == asked.content_hash


def test_labels_are_letters():
    assert [choice_label(index) for index in (0, 1, 25)] == ["A", "B", "Z"]


@given(st.lists(st.integers(1, 10), min_size=1, max_size=10))
def test_step_points_are_shares_of_ten(points):
    steps = tuple(step(worth) for worth in points)
    if sum(points) != 10:
        with pytest.raises(ValidationError):
            question("multi_step", steps=steps)
    else:
        assert sum(Fraction(part.points, 10) for part in question("multi_step", steps=steps).steps) == 1
