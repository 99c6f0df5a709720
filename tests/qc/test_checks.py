import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.content import MediaRef, TextPart, parse_prompt
from core.question import AnswerKey, Choice, Question, QuestionKind, Step
from core.taxonomy import load_taxonomy
from qc.checks import CHECKS, Subject, run_checks
from qc.checks.asked import Asked
from qc.checks.authoring import fingerprint_text, normalise
from qc.checks.media_state import damaged, not_kept
from qc.reasons import REASONS, Words
from warehouse.tables import MaterialState

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
        "language": "zh" if re.search("[一-鿿]", text) else "en",
    }
    return Question(**fields | changes)


def open_question(text: str, *accepted: str) -> Question:
    return question(text, kind="open", choices=(), answer=AnswerKey(accepted=accepted))


def steps(*asks: str, text: str = "Which animal?", rubrics: dict[int, str] | None = None, **changes) -> Question:
    points = [10 - (len(asks) - 1), *[1] * (len(asks) - 1)]
    made = [
        Step(ask=ask, points=point, answer=AnswerKey(accepted=("3",)), rubric=(rubrics or {}).get(number))
        for number, (ask, point) in enumerate(zip(asks, points, strict=True), start=1)
    ]
    return question(text, kind="multi_step", choices=(), answer=AnswerKey(), steps=made, **changes)


def found(asked: Question, **more) -> list[tuple[str, str]]:
    return [(finding.severity, finding.code) for finding in run_checks(Subject(asked, **more))]


ERROR_LEAK, WARNING_LEAK = [("error", "answer_leaked")], [("warning", "answer_leaked")]


def test_a_good_question_has_no_findings():
    assert found(question()) == []
    assert found(steps("How many?", "What of step 1 is left?")) == []
    assert found(open_question("How many?", "3")) == []


def test_every_check_is_registered_with_a_version_and_its_codes_are_known():
    assert len(list(CHECKS)) == 13
    asked = question("The answer is a fox.", choices=("a fox", "A  Fox"), key=(0,), required={"video"}, task_type="x")
    codes = {code for _, code in found(asked, media_problems=(Words(en="gone", zh="缺失"),))}
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


@pytest.mark.parametrize(
    "pair", [("a fox", "The fox."), ("a red fox", "red-fox"), ("三只狐狸", "三只 狐狸。"), ("it's (a fox)", "its fox")]
)
def test_choices_that_nearly_say_the_same_are_a_warning(pair):
    (finding,) = run_checks(Subject(question(choices=("a wolf", *pair, "a lynx"))))
    assert (finding.severity, finding.code) == ("warning", "duplicate_choices")
    assert finding.message == f"choices B and C say nearly the same: {pair[0]!r} and {pair[1]!r}"


@pytest.mark.parametrize(
    "choices",
    [("3", "-3", "3.5", "35"), ("A, B", "B", "A", "A and B"), ("x + 1", "x - 1", "x", "x!"), ("<", ">", "=", "?")],
)
def test_choices_that_differ_in_a_sign_or_a_label_do_not(choices):
    assert found(question(choices=choices)) == []


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


class TestStepReferences:
    @pytest.mark.parametrize(
        "asks",
        [
            ("How many?", "Double what step 1 gives.", "Add the results of step 1 and step 2."),
            ("几个？", "把步骤1的结果加倍。", "第一步的答案与第2步的答案之差是多少？"),
            ("How many stepladders?", "Which footstep 1?"),
        ],
    )
    def test_to_earlier_steps_and_to_none_is_fine(self, asks):
        assert self.bad(asks) == []

    @pytest.mark.parametrize(
        "ask",
        [
            "Double the answer of step 3.",
            "Subtract it from the result from step 3.",
            "What is the answer to step 3 in words?",
            "Take the outputs of steps 1 and step 3.",
            "What follows from step 3?",
            "Double step 3's result.",
            "Name what you found in step 3.",
            "用步骤 3 的结果。",
            "第3步的答案加一是多少？",
            "第三步得到的结果是什么？",
        ],
    )
    def test_to_what_only_its_own_steps_have_is_an_error(self, ask):
        assert self.bad(("?", ask)) == ["error"]

    @pytest.mark.parametrize(
        "ask",
        [
            "Which spice is added in step 3 of the recipe?",
            "What is the result of step 3 of the experiment?",
            "How long does it take from step 3 to step 5?",
            "What does the cook do in step 4?",
            "As in step 2?",
            "菜谱第3步加了什么？",
            "视频中第三步的结果是什么？",
            "第9步之后听到什么？",
        ],
    )
    def test_to_what_may_be_a_step_in_the_world_is_a_warning(self, ask):
        assert set(self.bad(("?", ask))) == {"warning"}

    def test_numbers_of_any_length_are_read(self):
        assert self.bad(("?", f"Take the answer of step {'9' * 5000}.")) == ["error"]
        assert found(question(choices=("a wolf", f"<image_{'9' * 5000}>"), key=(0,))) == []

    def test_one_finding_for_each(self):
        assert self.bad(("How many?", "As in Step 7 and 第9步?")) == ["warning"] * 2
        assert self.bad(("Take the answer of step 1.", "?")) == ["error"]

    def bad(self, asks):
        return [severity for severity, code in found(steps(*asks, text="")) if code == "bad_step_reference"]


class TestPointsOfRubrics:
    """The first of two steps has nine points, the other one."""

    def told(self, rubric: str, number: int = 1):
        asked = steps("How many?", "How many more?", rubrics={number: rubric})
        return [finding.message for finding in run_checks(Subject(asked))]

    @pytest.mark.parametrize(
        "rubric",
        [
            "2 points",
            "Two points for the right bird.",
            "10 points for a full answer",
            "5 pts for the bird, 3 pts for the count",
            "9 points; only 12 points where both are named",
            "2分",
            "答对得两分。",
            "满分 10 分",
            "鸟名5分，数量3分",
            "Award 1-3 points for the reasoning.",
        ],
    )
    def test_other_points_than_those_of_the_step_are_a_warning(self, rubric):
        (message,) = self.told(rubric)
        assert message.startswith("step 1 has 9 points, and its rubric speaks of ")

    @pytest.mark.parametrize(
        "rubric",
        [
            "9 points",
            "nine points for the right bird, 4 points for a bird of the same family",
            "5 points for the bird, 4 points for the count",
            "3 points each for the bird, the tree and the count",
            "9 of the 10 points: any spelling",
            "Deduct 2 points for a wrong unit.",
            "Only 4 points where the unit is missing.",
            "The number must be right.",
            "A bird seen 3 minutes in; two decimals suffice; 3 points of interest are shown",
            "9分",
            "九分",
            "鸟名5分，数量4分",
            "每个要点3分",
            "本题10分，此步9分",
            "单位错误扣2分",
            "仅写出单位得3分",
            "五分钟以内，约三分之一，十分清楚，八分音符",
            "得1至9分",
        ],
    )
    def test_the_same_points_and_parts_of_them_are_fine(self, rubric):
        assert self.told(rubric) == []

    def test_the_message_names_the_points(self):
        assert self.told("1 point for each of 3 and 2.5 points", 2) == [
            "step 2 has 1 points, and its rubric speaks of 1 and 2.5"
        ]


ENGLISH = "Which of the animals in the picture makes the sound that you hear?"
CHINESE = "图中的哪一种动物发出了录音中的声音？"
WRONG_LANGUAGE, MIXED_LANGUAGE = [("error", "wrong_language")], [("warning", "wrong_language")]


class TestLanguage:
    @pytest.mark.parametrize(
        ("text", "language"), [(CHINESE, "en"), (CHINESE, "en-GB"), (ENGLISH, "zh"), (ENGLISH, "zh-CN")]
    )
    def test_a_question_in_another_language_is_an_error(self, text, language):
        assert found(question(text, language=language)) == WRONG_LANGUAGE

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            (ENGLISH, "en"),
            (CHINESE, "zh"),
            (ENGLISH, "de"),
            (CHINESE, "yue"),
            ("<image_1> + <audio_1> = ?", "zh"),
            ("OK?", "zh"),
            ("Which animal?", "zh"),
            ("图中是谁？", "en"),
            ("Which city is 北京 and which one is 上海 on the map?", "en"),
            ('What is wrong with the sentence "他昨天晚上去了北京的那个很大的图书馆看书"?', "en"),
            ("Which sentence is spoken: “今天天气很好我们一起去公园玩吧” or another?", "en"),
            ("Mia 和 Tom 谁在图片的左边？", "zh"),
            ("运行 `for number in range(3): print(number)` 后会输出什么？", "zh"),
            ("录音中的人说的是不是“What a beautiful morning it is today, my dear friend”？", "zh"),
            ("求 $\\frac{distance}{time} \\cdot \\sin \\theta$ 的值。", "zh"),
            ("第3段录音与图中的 H2O、CO2 有什么关系？", "zh"),
        ],
    )
    def test_names_quotations_code_and_formulas_are_fine(self, text, language):
        assert found(question(text, language=language)) == []

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            (f"{ENGLISH}\n" + "他昨天晚上去了北京的那个很大的图书馆看书，然后回家吃了饭，睡了一个好觉。" * 3, "en"),
            (f"{ENGLISH}\n他昨天晚上去了北京的那个很大的图书馆看书，然后回家吃了饭，睡了一个好觉。", "en"),
            (
                f"{CHINESE}\nThe passage that is read aloud is a short story about a family who lived in the woods.",
                "zh",
            ),
            ("这部 movie 的 main character 在 video 里 says 什么？", "zh"),
        ],
    )
    def test_a_passage_in_another_language_and_a_medley_are_warnings(self, text, language):
        assert found(question(text, language=language)) == MIXED_LANGUAGE

    @pytest.mark.parametrize("choices", [("Apple", "Samsung", "华为", "小米"), ("a wolf", "a fox", "狼"), ("1", "2")])
    def test_options_may_be_names_in_another_language(self, choices):
        assert found(question(CHINESE, choices=choices)) == []
        assert found(question(ENGLISH, choices=choices)) == []

    def test_options_all_in_another_language_are_what_is_asked_about(self):
        choices = ("今天天气很好", "明天会下大雨", "昨天刮了大风")
        assert found(question("What does the speaker in the recording say?", choices=choices)) == []

    def test_options_in_two_languages_are_a_warning(self):
        choices = ("the wolf is behind the tree", "狐狸躲在大树的后面", "a bear")
        assert found(question(CHINESE, choices=choices)) == MIXED_LANGUAGE
        assert found(question(ENGLISH, choices=choices)) == MIXED_LANGUAGE

    def test_where_only_the_options_are_written_they_should_be_in_the_language(self):
        choices = ("今天天气很好", "明天会下大雨", "昨天刮了大风")
        assert found(question("", choices=choices, asked_in="audio")) == MIXED_LANGUAGE
        assert found(question("", choices=choices, asked_in="audio", language="zh")) == []
        assert found(question("Who?", choices=choices, language="en")) == []

    def test_a_single_step_in_another_language_is_a_warning(self):
        asked = steps("How many birds are there?", "How many of them sing?", "其中有几只鸟会飞？", text=ENGLISH)
        assert found(asked) == MIXED_LANGUAGE
        assert found(steps("有几只鸟？", "其中有几只鸟会唱歌？", text=CHINESE)) == []


class TestPlaceholders:
    @pytest.mark.parametrize("written", ["<image_2>", "<Image_2>", "<image 2>", "<image2>", "<video_1>", "＜image_2＞"])
    def test_a_placeholder_without_media_is_an_error(self, written):
        asked = question("Which animal?")
        asked = asked.model_copy(update={"prompt": (*asked.prompt, TextPart(text=f" Look at {written}."))})
        assert found(asked) == [("error", "bad_placeholder")]
        assert found(steps("How many?", f"How many in {written}?")) == [("error", "bad_placeholder")]
        assert found(question(choices=("a wolf", f"the one in {written}"))) == [("error", "bad_placeholder")]

    @pytest.mark.parametrize(
        "written", ["<image_1>", "<Image 1>", "<video>", "<audio controls>", "image 2", "5 < 6 > 2"]
    )
    def test_a_later_mention_and_other_text_is_fine(self, written):
        assert found(question(choices=("a wolf", f"as in {written}"), key=(0,))) == []

    def test_the_message_names_it(self):
        (finding,) = run_checks(Subject(question(choices=("a wolf", "in <Image 02>"))))
        assert finding.message == "the text names <Image 02>, but there is no image_2; add it or remove it"

    @pytest.mark.parametrize(
        ("written", "named"),
        [
            ("fox_01.jpg", True),
            ("录音my-fox.WAV里", True),
            (hashlib.sha256(b"x").hexdigest(), True),
            ("U.S. Route 66", False),
            ("e.g. mp3 players", False),
            ("one.two", False),
            ("x.png.y", False),
        ],
    )
    def test_names_of_media_files_are_a_warning(self, written, named):
        asked = question(choices=("a wolf", f"the one in {written}"), key=(0,))
        assert found(asked) == ([("warning", "media_named")] if named else [])


class TestTaskTypes:
    @pytest.mark.parametrize("name", ["multi_step_reasoning", "Multi-step reasoning", "多步推理"])
    def test_multi_step_reasoning_has_steps(self, name):
        assert found(question(task_type=name)) == [("warning", "wrong_task_type")]
        assert found(steps("How many?", "Why?", task_type=name)) == []

    def test_steps_may_be_of_any_type(self):
        for task_type in load_taxonomy().task_types:
            assert found(steps("How many?", "Why?", task_type=task_type.id)) == []

    @pytest.mark.parametrize(
        ("task_type", "fits"),
        [("automatic_speech_recognition", False), ("pause_comprehension", False), ("puzzle", True)],
    )
    def test_what_is_defined_by_its_sound_requires_audio(self, task_type, fits):
        media = {"image_1": ref("image"), "video_1": ref("video")}
        silent = {"prompt": parse_prompt("What? <image_1> <video_1>", media), "required": {"image", "video"}}
        assert found(question(task_type=task_type, **silent)) == ([] if fits else [("warning", "wrong_task_type")])
        assert found(question(task_type=task_type)) == []


def test_media_problems_are_errors():
    problems = (not_kept("image_1", MaterialState.WITHDRAWN), damaged("audio_1", "blob is not there"))
    findings = run_checks(Subject(question(), media_problems=problems))
    assert [finding.text("en") for finding in findings] == [
        "audio_1: blob is not there", "image_1: the material is withdrawn",
    ]  # fmt: skip
    assert [finding.text("zh-CN") for finding in findings] == [
        "audio_1：素材文件缺失或已损坏（blob is not there）", "image_1：该素材已撤回",
    ]  # fmt: skip


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

    def test_near_duplicates_are_compared_as_if_they_were_the_same_and_warned_of(self):
        pairs = [(ref(kind, "x").sha256, ref(kind, "y").sha256) for kind in ("image", "audio")]
        alike = {sha256: min(pair) for pair in pairs for sha256 in pair}
        asked = Asked([("old", question(seed="y")), ("else", question("How many legs?", seed="y"))], alike)
        assert set(asked.beside("new", question())) == {"old", "else"}
        assert found(question(), others=asked.beside("new", question())) == [("warning", "duplicate_question")]
        assert asked.beside("new", question(seed="z")) == {}
        asked.put("old", question(seed="z"))
        assert set(asked.beside("new", question())) == {"else"}

    def test_all_of_the_media_must_be_near_duplicates(self):
        images = sorted(ref("image", seed).sha256 for seed in "xy")
        asked = Asked([("old", question(seed="y"))], dict.fromkeys(images, images[0]))
        assert asked.beside("new", question()) == {}

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


@pytest.mark.parametrize(
    ("begins", "ends", "accepted"),
    [
        ("Is it a fox? Answer: yes", " or no.", "yes"),
        ("Is it a fox? Your answer is: 'yes'", "/'no'.", "yes"),
        ("是狐狸吗？答案：是", "或否", "是"),
        ("Which animal is it? Answer: fox", ", lynx, or owl.", "fox"),
        ("Which letter is shown? Answer: A", " or B.", "A"),
    ],
)
def test_what_can_be_answered_is_no_announcement(begins, ends, accepted):
    assert ERROR_LEAK[0] not in found(open_question(begins + ends, accepted))
    assert ERROR_LEAK[0] in found(open_question(begins + ", of course.", accepted))


def test_nor_is_a_list_of_labels():
    assert found(question("Which animal? Answer: A, B, C or D.", key=(0,))) == []
    assert found(question("Which animal? Answer: A, of course.", key=(0,))) == ERROR_LEAK


class TestStepsThatTell:
    def leaks(self, first: str, second: str, *accepted: str) -> list[str]:
        made = [
            Step(ask=first, points=4, answer=AnswerKey(accepted=accepted)),
            Step(ask=second, points=6, answer=AnswerKey(accepted=("7",))),
        ]
        asked = question("Look and listen.", kind="multi_step", choices=(), answer=AnswerKey(), steps=made)
        return [one.message for one in run_checks(Subject(asked)) if one.code == "answer_leaked"]

    def test_the_answer_of_one_step_in_the_words_of_another(self):
        told = self.leaks("Which animal is it?", "How often does the lynx call?", "bobcat", "Lynx")
        assert told == ["step 2 holds the answer of step 1, 'lynx'"]
        assert self.leaks("这是什么动物？", "猞猁叫了几次？", "猞猁") == ["step 2 holds the answer of step 1, '猞猁'"]

    def test_a_number_a_yes_or_the_alternatives_of_the_step_itself_tell_nothing(self):
        assert self.leaks("How many are there?", "Take 3 of them. What remains?", "3") == []
        assert self.leaks("Does it call?", "Does it run? Say yes or no.", "yes") == []
        assert self.leaks("Is it a fox or a lynx?", "How often does it call?", "lynx") == []


class TestEvidence:
    def told(self, name, **evidence):
        media = {
            "image_1": ref("image").model_copy(update={"width_px": 320, "height_px": 210}),
            "audio_1": ref("audio").model_copy(update={"duration_s": 2.0}),
            "video_1": ref("video").model_copy(update={"duration_s": 1.0, "width_px": 160, "height_px": 96}),
        }
        asked = question(prompt=parse_prompt("Which? <image_1> <audio_1> <video_1>", media))
        return [one for one in run_checks(Subject(asked, evidence={name: evidence})) if one.code == "evidence_outside"]

    @pytest.mark.parametrize(
        ("name", "evidence"),
        [
            ("audio_1", {"start_s": 0, "end_s": 2.0, "note": "the bell"}),
            ("audio_1", {"start_s": 1.5}),
            ("audio_1", {"end_s": 2.05}),
            ("image_1", {"left_px": 0, "top_px": 0, "width_px": 320, "height_px": 210}),
            ("video_1", {"start_s": 0.2, "end_s": 0.5, "left_px": 159, "top_px": 95, "width_px": 1, "height_px": 1}),
            ("image_1", {"note": "left"}),
            ("image_1", {"somewhere": [1, 2]}),
            ("image_9", {"start_s": 99}),
        ],
    )
    def test_a_mark_inside_or_in_words_is_good(self, name, evidence):
        assert self.told(name, **evidence) == []

    @pytest.mark.parametrize(
        ("name", "evidence", "en", "zh"),
        [
            ("audio_1", {"start_s": 0.5, "end_s": 2.5}, "goes beyond its end at 2 s", "超出了素材的结尾（2 秒）"),
            ("audio_1", {"start_s": 2.0}, "beyond its end", "超出了"),
            ("audio_1", {"start_s": 1.0, "end_s": 1.0}, "ends before it begins", "不在开始时间之后"),
            ("audio_1", {"start_s": -1.0, "end_s": 1.0}, "ends before it begins", "不在开始时间之后"),
            ("audio_1", {"end_s": 0}, "ends before it begins", "不在开始时间之后"),
            ("audio_1", {"start_s": float("nan")}, "no number as start_s", "start_s 不是数字"),
            ("audio_1", {"end_s": float("inf")}, "no number as end_s", "不是数字"),
            ("audio_1", {"start_s": "0:01"}, "no number", "不是数字"),
            ("audio_1", {"left_px": 1, "top_px": 1, "width_px": 1, "height_px": 1}, "there is no picture", "没有画面"),
            ("image_1", {"start_s": 0.5}, "a picture has none", "图片没有时间"),
            ("image_1", {"left_px": 300, "top_px": 0, "width_px": 21, "height_px": 5}, "of 320 × 210 px", "画面范围"),
            ("image_1", {"left_px": 0, "top_px": 209, "width_px": 5, "height_px": 2}, "of 320 × 210 px", "画面范围"),
            ("image_1", {"left_px": -1, "top_px": 0, "width_px": 5, "height_px": 2}, "does not lie", "画面范围"),
            ("image_1", {"left_px": 1, "top_px": 0, "width_px": 0, "height_px": 2}, "does not lie", "画面范围"),
            ("image_1", {"left_px": 1, "top_px": 0, "width_px": 9}, "a side is missing", "缺少一边"),
        ],
    )
    def test_a_mark_outside_stops_the_item_in_both_languages(self, name, evidence, en, zh):
        (finding,) = self.told(name, **evidence)
        assert finding.severity == "error"
        assert name in finding.message and en in finding.message
        assert zh in finding.text("zh-CN")
