import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import MediaRef, parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from qc.checks import CHECKS, Subject, run_checks
from qc.checks.asked import Asked
from qc.checks.authoring import fingerprint_text, normalise
from qc.reasons import REASONS

CHOICES = ("a wolf", "a fox", "a bear", "a lynx")


def ref(kind: str, seed: str = "x") -> MediaRef:
    sha256 = hashlib.sha256(f"{kind} {seed}".encode()).hexdigest()
    types = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
    return MediaRef(sha256=sha256, media_type=types[kind], modality=kind, byte_count=9)


def question(text: str = "Which animal?", choices=CHOICES, key: tuple[int, ...] = (1,), seed: str = "x", **changes):
    media = {"image_1": ref("image", seed), "audio_1": ref("audio", seed)}
    fields = {
        "prompt": parse_prompt(f"{text} <image_1> <audio_1>", media),
        "kind": "choice",
        "choices": tuple(Choice(text=one) for one in choices),
        "answer": AnswerKey(correct=key),
        "required": {"image", "audio"},
        "task_type": "counting",
        "language": "en",
    }
    return Question(**fields | changes)


def open_question(text: str, *accepted: str) -> Question:
    return question(text, kind="open", choices=(), answer=AnswerKey(accepted=accepted))


def steps(*asks: str) -> Question:
    points = [10 - (len(asks) - 1), *[1] * (len(asks) - 1)]
    made = [
        Step(ask=ask, points=point, answer=AnswerKey(accepted=("3",))) for ask, point in zip(asks, points, strict=True)
    ]
    return question(kind="multi_step", choices=(), answer=AnswerKey(), steps=made)


def found(asked: Question, **more) -> list[tuple[str, str]]:
    return [(finding.severity, finding.code) for finding in run_checks(Subject(asked, **more))]


ERROR_LEAK, WARNING_LEAK = [("error", "answer_leaked")], [("warning", "answer_leaked")]


def test_a_good_question_has_no_findings():
    assert found(question()) == []
    assert found(steps("How many?", "What of step 1 is left?")) == []
    assert found(open_question("How many?", "3")) == []


def test_every_check_is_registered_with_a_version_and_its_codes_are_known():
    assert len(list(CHECKS)) == 8
    asked = question("The answer is a fox.", choices=("a fox", "A  Fox"), key=(0,), required={"video"}, task_type="x")
    codes = {code for _, code in found(asked, media_problems=("gone",))}
    assert codes == {"missing_modality", "unknown_task_type", "duplicate_choices", "answer_leaked", "media_unusable"}
    assert codes <= set(REASONS)


def test_errors_come_first():
    severities = [severity for severity, _ in found(question("I see a fox", required={"image"}))]
    assert severities == sorted(severities)
    assert set(severities) == {"error", "warning"}


class TestRequiredMedia:
    def test_each_must_be_in_the_prompt(self):
        (finding,) = run_checks(Subject(question(required={"image", "audio", "video"})))
        assert finding.message == "video is required, but the prompt holds no video"

    @pytest.mark.parametrize("required", [set(), {"image"}, {"text"}, {"text", "audio"}])
    def test_two_senses_at_least_are_required(self, required):
        assert found(question(required=required)) == [("error", "missing_modality")]

    def test_text_is_always_there(self):
        assert found(question(required={"image", "audio", "text"})) == []


def test_the_task_type_must_be_known():
    (finding,) = run_checks(Subject(question(task_type="countin")))
    assert "did you mean 'counting'" in finding.message


@pytest.mark.parametrize("twice", ["a fox", "A FOX", " a  fox ", "ａ ｆｏｘ"])
def test_two_choices_that_say_the_same(twice):
    (finding,) = run_checks(Subject(question(choices=("a wolf", "a fox", "a bear", twice))))
    assert (finding.code, finding.message) == ("duplicate_choices", f"choices B and D both say {twice!r}")


class TestLeaks:
    @pytest.mark.parametrize(
        "text",
        [
            "Hint: the answer is a fox.",
            "The right answer is: a fox",
            "the ANSWER = A FOX",
            "Answer: B",
            "The correct answer is (B).",
            "The key is 'B'",
            "提示：答案是a fox。",
            "正确选项为B",
        ],
    )
    def test_an_answer_that_is_announced_is_an_error(self, text):
        assert found(question(text)) == ERROR_LEAK

    @pytest.mark.parametrize(
        "text",
        [
            "The answer is a wolf or so, thinks Mia.",
            "Answer: C is what Tom says.",
            "A monkey is brown, what else is?",
            "The key of the song is B flat?",
            "The donkey is A, the other one is what?",
            "The answer is a number. Which animal?",
        ],
    )
    def test_what_only_looks_like_it_is_none(self, text):
        key = {"A monkey is brown, what else is?": ("brown", "red")}.get(text, CHOICES)
        keyed = question(text, choices=key, key=(0,)) if "donkey" in text or "number" in text else question(text, key)
        assert ("error", "answer_leaked") not in found(keyed)

    @pytest.mark.parametrize(("number", "leaks"), [("2", True), ("2.5", False), ("25", False), ("2,5", False)])
    def test_a_number_as_a_whole(self, number, leaks):
        asked = open_question(f"Hint: the answer is {number}.", "2")
        assert (found(asked) == ERROR_LEAK) is leaks

    def test_an_answer_that_stands_in_the_prompt_alone_is_a_warning(self):
        assert found(question("Does this look like a fox to you?")) == WARNING_LEAK
        assert found(question("Is it a fox or a bear?")) == []
        assert found(question("Is it a foxglove?", choices=("fox", "bear"), key=(0,))) == []

    def test_short_answers_occur_by_chance(self):
        assert found(open_question("Of 12 birds, how many fly?", "12")) == []

    def test_steps_can_leak_too(self):
        asked = steps("How many?", "And now?")
        assert found(asked.model_copy(update={"prompt": question("The answer is 3.").prompt})) == ERROR_LEAK

    def test_chinese_answers_have_no_word_boundaries_and_say_much_in_two_characters(self):
        assert found(question("图中的狐狸在哪里？", choices=("狐狸", "狼", "熊"), key=(0,))) == WARNING_LEAK
        assert found(question("图中的狐在哪里？", choices=("狐", "狼", "熊"), key=(0,))) == []


@pytest.mark.parametrize(
    ("choices", "stands_out"),
    [
        (("a very small red fox in the snow", "a wolf", "a bear"), True),
        (("a very small red fox in the snow", "a wolf", "a bear in the wood"), False),
        (("a lazy red fox", "wolf", "bear"), False),  # long beside the others, short all the same
        (("a fox", "a very old and quite grey wolf in winter", "a bear"), False),
    ],
)
def test_a_key_that_stands_out_by_its_length_is_a_warning(choices, stands_out):
    assert (found(question(choices=choices, key=(0,))) == [("warning", "key_stands_out")]) is stands_out


@pytest.mark.parametrize(
    ("asks", "bad"),
    [
        (("How many?", "Double what step 1 gives.", "Add steps 1 and step 2."), 0),
        (("See step 2.", "How many?"), 1),
        (("How many?", "As in step 2?"), 1),
        (("How many?", "As in Step 7 and 第9步?"), 2),
        (("几个？", "把步骤1的结果加倍。"), 0),
        (("几个？", "用步骤 3 的结果。"), 1),
        (("How many stepladders?", "Which footstep 1?"), 0),
    ],
)
def test_steps_refer_only_to_steps_before_them(asks, bad):
    assert found(steps(*asks)) == [("error", "bad_step_reference")] * bad


def test_media_problems_are_errors():
    findings = run_checks(Subject(question(), media_problems=("image_1: gone", "audio_1: damaged")))
    assert [finding.message for finding in findings] == ["audio_1: damaged", "image_1: gone"]


class TestAskedBefore:
    def near(self, asked: Question, *others: tuple[str, Question], name: str = "new"):
        return found(asked, others=Asked(others).beside(name, asked))

    def test_the_same_question_about_the_same_media_is_an_error(self):
        assert self.near(question(), ("old", question())) == [("error", "duplicate_question")]

    @pytest.mark.parametrize(
        "other",
        [
            question("which  ANIMAL?"),
            question(choices=CHOICES[::-1], key=(2,)),
            question(language="zh"),
            question(key=(0,)),
        ],
    )
    def test_also_in_other_letters_or_with_its_choices_in_another_order(self, other):
        assert self.near(question(), ("old", other)) == [("error", "duplicate_question")]

    def test_nearly_the_same_is_a_warning(self):
        text = "Look at the picture, listen to the recording, and say which of the animals in it you can hear best"
        assert self.near(question(f"{text}?"), ("old", question(f"{text}!"))) == [("warning", "duplicate_question")]

    @pytest.mark.parametrize(
        "other", [question(seed="y"), question("How many animals are there?"), question("Which plant?", seed="y")]
    )
    def test_a_template_asked_of_other_media_or_another_question_is_none(self, other):
        assert self.near(question(), ("old", other)) == []

    def test_an_item_is_not_compared_with_itself(self):
        assert self.near(question(), ("new", question())) == []

    def test_the_media_in_another_order_are_another_question(self):
        media = {"image_1": ref("image", "x"), "image_2": ref("image", "y")}
        swapped = {"image_1": media["image_2"], "image_2": media["image_1"]}
        first, second = (
            question(prompt=parse_prompt("Which is left? <image_1> <image_2>", one), required={"image", "audio"})
            for one in (media, swapped)
        )
        assert ("error", "duplicate_question") not in self.near(first, ("old", second))

    def test_only_items_that_show_all_the_media_are_looked_at(self):
        asked = Asked([("same", question()), ("other", question(seed="y"))])
        assert set(asked.beside("new", question())) == {"same"}
        assert asked.beside("new", question(prompt=parse_prompt("Bare?", {}))) == {}

    def test_a_question_that_is_put_again_replaces_the_old_one(self):
        asked = Asked([("one", question())])
        asked.put("one", question(seed="y"))
        assert asked.beside("new", question()) == {}
        assert set(asked.beside("new", question(seed="y"))) == {"one"}


@given(st.text(max_size=40))
def test_normalising_twice_is_once(text):
    once = normalise(text)
    assert normalise(once) == once or "ſ" in text or not text.isascii()
    if text.isascii():
        assert normalise(text.upper()) == once == normalise(f"  {text}\n")


@given(st.permutations(CHOICES))
def test_a_fingerprint_does_not_depend_on_the_order_of_choices(choices):
    assert fingerprint_text(question(choices=choices)) == fingerprint_text(question())


def test_a_fingerprint_tells_kinds_of_parts_apart():
    texts = {
        fingerprint_text(one)
        for one in (question(), question("Which?"), question(seed="y"), steps("How many?", "Why?"))
    }
    assert len(texts) == 4
    assert QuestionKind.CHOICE.value not in "".join(texts)
