"""What the taxonomy's definitions say of the form of a question, where they leave no doubt."""

from collections.abc import Iterable, Mapping

from core.content import Modality
from core.errors import UnknownName
from core.question import QuestionKind
from core.taxonomy import load_taxonomy
from qc.checks import Finding, Subject, warning

# "The question has several steps [...] and every step is graded". The reverse does not follow: the type is for what
# "cannot be put under a single other type", so a question of any other type may have steps too.
_KINDS: Mapping[str, QuestionKind] = {"multi_step_reasoning": QuestionKind.MULTI_STEP}

# Types that are defined by something that is heard. All definitions divide the evidence between ear and eye, but
# those of the other types as what is usual and not as what the type is. Of two required senses one is always seen.
_HEARD = frozenset(
    {
        "automatic_speech_recognition",  # "what was said, word for word"
        "background_sound_recognition",  # "what a sound [...] is, or where it comes from"
        "consistency_judgment",  # "whether what is heard agrees with what is seen"
        "coreference_resolution",  # "the word is spoken"
        "instrument_recognition",  # "the timbre or playing technique that is heard has to be matched"
        "long_audio_summarization",  # "sums up a long recording"
        "pause_comprehension",  # "where the speaker pauses"
        "timing_alignment",  # "one sound against several images or videos, or [...] against several sounds"
    }
)


_KINDS_ZH: Mapping[QuestionKind, str] = {
    QuestionKind.CHOICE: "选择题",
    QuestionKind.OPEN: "开放题",
    QuestionKind.MULTI_STEP: "多步题",
}


def task_type_fits(subject: Subject) -> Iterable[Finding]:
    """The question must have the form and the senses that its task type is defined by."""
    question = subject.question
    try:
        task_type = load_taxonomy().get(question.task_type)
    except UnknownName:
        return  # that is another check's finding
    kind = _KINDS.get(task_type.id, question.kind)
    if kind is not question.kind:
        yield warning(
            "wrong_task_type",
            f"{task_type.name_en} asks for a question of the kind {kind.value}, and this one is {question.kind.value}",
            f"“{task_type.name_zh}”类题目应为{_KINDS_ZH[kind]}，而本题是{_KINDS_ZH[question.kind]}",
        )
    if task_type.id in _HEARD and Modality.AUDIO not in question.required:
        yield warning(
            "wrong_task_type",
            f"{task_type.name_en} is about what is heard, and audio is not required",
            f"“{task_type.name_zh}”考查听到的内容，而本题不需要音频",
        )
