"""Why an item stopped: fixed codes with their words in both languages."""

from core.content import Frozen
from core.errors import UnknownName


class Reason(Frozen):
    """A reason code; `en` and `zh` are what people read."""

    code: str
    en: str
    zh: str

    def text(self, language: str) -> str:
        """Words in that language (Chinese, or English for all others)."""
        return self.zh if language.partition("-")[0] == "zh" else self.en


_REASONS = (
    # Checks of the question itself.
    Reason(code="missing_modality", en="a required modality is not in the prompt", zh="题目缺少必需的模态"),
    Reason(code="unknown_task_type", en="the task type is not in the taxonomy", zh="任务类型不在分类体系中"),
    Reason(code="duplicate_choices", en="two choices say the same", zh="存在重复选项"),
    Reason(code="answer_leaked", en="the text gives the answer away", zh="文字泄露了答案"),
    Reason(code="key_stands_out", en="the key is much longer than the other choices", zh="正确选项明显长于其他选项"),
    Reason(code="duplicate_question", en="another item asks the same", zh="与已有题目重复"),
    Reason(
        code="bad_step_reference", en="a step refers to a step that comes later or does not exist", zh="步骤引用有误"
    ),
    Reason(
        code="media_unusable", en="a material is missing, damaged, dropped or withdrawn", zh="素材缺失、损坏或已撤回"
    ),
    # What the panel shows.
    Reason(
        code="suspect_key", en="the models agree on a choice that is not the key", zh="答案可疑：模型一致选择了其他选项"
    ),
    Reason(
        code="unsolved", en="too few models find the answer with everything given", zh="给出全部信息后仍少有模型答对"
    ),
    Reason(code="answerable_from_text", en="the text alone is enough", zh="仅凭文字即可作答"),
    Reason(
        code="redundant_modality", en="either modality alone answers the question", zh="模态冗余：任一模态均可单独作答"
    ),
    Reason(code="unhelpful_modality", en="one modality is not needed", zh="模态无用：某一模态并非必需"),
    Reason(code="not_enough_votes", en="too few valid answers to decide", zh="有效作答不足，无法判定"),
    Reason(code="needs_a_person", en="the evidence is in between; a person decides", zh="证据不明确，需人工判定"),
    # What people say.
    Reason(code="ambiguous", en="the question can be read in two ways", zh="题意不明确"),
    Reason(code="wrong_key", en="the key is wrong", zh="答案错误"),
    Reason(code="not_unique", en="more than one answer is right", zh="答案不唯一"),
    Reason(code="unanswerable", en="what is asked is in none of the materials", zh="素材中没有题目所问的信息"),
    Reason(code="wrong_task_type", en="the question is of another task type", zh="任务类型不符"),
    Reason(code="poor_material", en="a material is of too low quality", zh="素材质量不佳"),
    Reason(code="inappropriate", en="the content must not be published", zh="内容不宜发布"),
)
REASONS = {reason.code: reason for reason in _REASONS}


def reason(code: str) -> Reason:
    """The reason of that code.

    Raises:
        UnknownName: There is none.
    """
    if code not in REASONS:
        raise UnknownName("reason code", code, REASONS)
    return REASONS[code]
