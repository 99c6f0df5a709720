"""How a question is put to a model: the prompt in its order, the options, and how to answer."""

from collections.abc import Sequence

from core.content import Message, Part, TextPart
from core.question import Question, QuestionKind, choice_label

_WORDS = {
    "en": {
        "no_prompt": "The question is withheld. Choose the most likely option.",
        "no_prompt_open": "The question is withheld. Answer as well as you can.",
        "no_prompt_steps": "The question is withheld. Answer each step as well as you can.",
        "choice": "Answer with the letter of the right option on the last line, as 'Answer: X'.",
        "choices": "More than one option is right. Answer with their letters on the last line, as 'Answer: X, Y'.",
        "open": "Give a short answer on the last line, as 'Answer: ...'.",
        "step": "Step {number} ({points} points): {ask}",
        "multi_step": "Answer every step on a line of its own, as 'Step 1: ...'.",
        "answered_step": "Step {number}: {text}",
    },
    "zh": {
        "no_prompt": "题干未提供。请选择最可能的选项。",
        "no_prompt_open": "题干未提供。请尽量作答。",
        "no_prompt_steps": "题干未提供。请尽量回答每一步。",
        "choice": "请在最后一行用选项字母作答，格式为“答案：X”。",
        "choices": "本题有多个正确选项。请在最后一行写出所有正确选项的字母，格式为“答案：X、Y”。",
        "open": "请在最后一行简短作答，格式为“答案：……”。",
        "step": "步骤{number}（{points}分）：{ask}",
        "multi_step": "请逐行回答每一步，格式为“步骤1：……”。",
        "answered_step": "步骤{number}：{text}",
    },
}

_WITHHELD = {
    QuestionKind.CHOICE: "no_prompt",
    QuestionKind.OPEN: "no_prompt_open",
    QuestionKind.MULTI_STEP: "no_prompt_steps",
}


def render(question: Question) -> tuple[Message, ...]:
    """The messages of a question: one user turn, in the question's language (Chinese, or English for all others)."""
    words = _words(question.language)
    parts: list[Part] = list(question.prompt)
    if not parts:
        parts.append(TextPart(text=words[_WITHHELD[question.kind]]))
    parts.append(TextPart(text="\n\n" + "\n".join([*_asked(question, words), words[_instruction(question)]])))
    return (Message(role="user", parts=tuple(parts)),)


def letters_text(letters: Sequence[str]) -> str:
    """Chosen letters as a model writes them."""
    return ", ".join(sorted(letters))


def steps_text(answers: Sequence[str], language: str) -> str:
    """Answers to steps as a model writes them, in lines of their own; empty ones are left out."""
    heading = _words(language)["answered_step"]
    lines = [(number, " ".join(text.split())) for number, text in enumerate(answers, start=1)]
    return "\n".join(heading.format(number=number, text=text) for number, text in lines if text)


def _words(language: str) -> dict[str, str]:
    return _WORDS["zh" if language.partition("-")[0] == "zh" else "en"]


def _asked(question: Question, words: dict[str, str]) -> list[str]:
    match question.kind:
        case QuestionKind.CHOICE:
            return [f"{choice_label(place)}. {choice.text}" for place, choice in enumerate(question.choices)]
        case QuestionKind.MULTI_STEP:
            return [
                words["step"].format(number=number, points=step.points, ask=step.ask)
                for number, step in enumerate(question.steps, start=1)
            ]
        case QuestionKind.OPEN:
            return []


def _instruction(question: Question) -> str:
    if question.kind is QuestionKind.CHOICE:
        return "choices" if len(question.answer.correct) > 1 else "choice"
    return question.kind.value
