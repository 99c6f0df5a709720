import pytest

from core.condition import FULL, OPTIONS_ONLY, TEXT_ONLY, without
from core.content import MediaPart, Modality
from evaluation.prompts import render


def text_of(question) -> str:
    (message,) = render(question)
    assert message.role == "user"
    return "".join(f"<{part.name}>" if isinstance(part, MediaPart) else part.text for part in message.parts)


@pytest.fixture
def media(questions):
    return {"image_1": questions.media_ref("image"), "audio_1": questions.media_ref("audio")}


def test_a_choice_question_in_english(questions, media):
    question = questions.choice("See <image_1>, hear <audio_1>. Is <image_1> red?", media=media)
    assert text_of(question) == (
        "See <image_1>, hear <audio_1>. Is <image_1> red?\n\nA. red\nB. blue\nC. green\nD. grey\n"
        "Answer with the letter of the right option on the last line, as 'Answer: X'."
    )


def test_media_stand_where_the_text_names_them_and_only_once(questions, media):
    (message,) = render(questions.choice("See <image_1>, hear <audio_1>. Is <image_1> red?", media=media))
    assert [part.name for part in message.parts if isinstance(part, MediaPart)] == ["image_1", "audio_1"]
    assert [type(part).__name__ for part in message.parts][:4] == ["TextPart", "MediaPart", "TextPart", "MediaPart"]


def test_a_choice_question_in_chinese(questions):
    question = questions.choice("哪种颜色？", language="zh-CN")
    assert text_of(question) == (
        "哪种颜色？\n\nA. red\nB. blue\nC. green\nD. grey\n请在最后一行用选项字母作答，格式为“答案：X”。"
    )


def test_several_right_options_are_asked_for_as_several(questions):
    assert text_of(questions.choice(correct=(0, 2))).endswith(
        "More than one option is right. Answer with their letters on the last line, as 'Answer: X, Y'."
    )
    assert "本题有多个正确选项" in text_of(questions.choice(correct=(0, 2), language="zh"))


def test_a_question_says_nothing_of_its_key(questions):
    assert {text_of(questions.choice(correct=(place,))) for place in range(4)} == {text_of(questions.choice())}


def test_an_open_question_in_both_languages(questions):
    assert text_of(questions.open()) == "How many?\n\nGive a short answer on the last line, as 'Answer: ...'."
    assert text_of(questions.open("几个？", language="zh")) == "几个？\n\n请在最后一行简短作答，格式为“答案：……”。"


def test_steps_with_their_points_in_both_languages(questions):
    assert text_of(questions.steps()) == (
        "Count, then add.\n\nStep 1 (4 points): How many?\nStep 2 (6 points): Where?\n"
        "Answer every step on a line of its own, as 'Step 1: ...'."
    )
    chinese = text_of(questions.steps("先数再加。", language="zh"))
    assert "步骤1（4分）：How many?\n步骤2（6分）：Where?\n请逐行回答每一步" in chinese


@pytest.mark.parametrize("language", ["de", "fr-CA", "en-GB"])
def test_all_other_languages_are_told_how_to_answer_in_english(questions, language):
    assert "Give a short answer" in text_of(questions.open(language=language))


@pytest.mark.parametrize(
    ("kind", "language", "said"),
    [
        ("choice", "en", "The question is withheld. Choose the most likely option.\n\nA. red"),
        ("choice", "zh", "题干未提供。请选择最可能的选项。\n\nA. red"),
        ("open", "en", "The question is withheld. Answer as well as you can.\n\nGive a short answer"),
        ("open", "zh", "题干未提供。请尽量作答。\n\n请在最后一行"),
        ("steps", "en", "The question is withheld. Answer each step as well as you can.\n\nStep 1 (4 points)"),
        ("steps", "zh", "题干未提供。请尽量回答每一步。\n\n步骤1（4分）"),
    ],
)
def test_a_withheld_question_says_so_in_the_words_of_its_kind(questions, kind, language, said):
    question = getattr(questions, kind)(language=language)
    assert text_of(OPTIONS_ONLY.apply(question)).startswith(said)


def test_what_is_left_out_is_said_where_it_was(questions, media):
    question = questions.choice("See <image_1>, hear <audio_1>.", media=media)
    assert text_of(without(Modality.AUDIO).apply(question)).startswith(
        "See <image_1>, hear [audio not provided].\n\nA."
    )
    assert text_of(TEXT_ONLY.apply(question)).startswith("See [image not provided], hear [audio not provided].")
    assert text_of(TEXT_ONLY.apply(question.model_copy(update={"language": "zh"}))).startswith("See [未提供图片]")
    assert text_of(FULL.apply(question)) == text_of(question)


def test_a_turned_question_has_its_options_in_turned_order(questions):
    turned = text_of(questions.choice().rotated(1))
    assert "A. grey\nB. red\nC. blue\nD. green" in turned


def test_an_opened_question_shows_no_option(questions):
    assert text_of(FULL.opened().apply(questions.choice())) == (
        "Which colour?\n\nGive a short answer on the last line, as 'Answer: ...'."
    )
