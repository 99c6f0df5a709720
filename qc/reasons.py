"""Why an item stopped: fixed codes with their words in both languages."""

from core.content import Frozen
from core.errors import UnknownName


class Words(Frozen):
    """What people read, in both languages."""

    en: str
    zh: str

    def text(self, language: str) -> str:
        """Words in that language (Chinese, or English for all others)."""
        return self.zh if language.partition("-")[0] == "zh" else self.en


class Reason(Words):
    """A reason code with its words."""

    code: str


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
    Reason(code="bad_placeholder", en="the text names media that are not there", zh="文字中提到了不存在的素材占位符"),
    Reason(
        code="media_named", en="the text holds what looks like the name of a media file", zh="文字中出现了素材文件名"
    ),
    Reason(
        code="wrong_language",
        en="the text is not in the stated language, or mixed oddly",
        zh="文字与标注的语言不符或混杂",
    ),
    Reason(
        code="points_contradict_rubric",
        en="a rubric speaks of other points than its step has",
        zh="评分标准中的分值与步骤分值不一致",
    ),
    Reason(code="key_positions", en="the author's right choices stand unevenly", zh="作者的正确选项位置分布不均"),
    Reason(
        code="twins_not_counterfactual",
        en="somebody who sees no media can answer all twins",
        zh="反事实孪生题无效：不看素材也能全部答对",
    ),
    Reason(
        code="twin_media",
        en="a twin does not differ from another in exactly one modality",
        zh="孪生题之间的差异不是恰好一种模态的素材",
    ),
    Reason(code="contaminated", en="it overlaps with a public benchmark", zh="与公开基准的题目或素材重合"),
    Reason(code="not_compared", en="it was not compared with public benchmarks yet", zh="尚未与公开基准比对"),
    Reason(
        code="media_unusable", en="a material is missing, damaged, dropped or withdrawn", zh="素材缺失、损坏或已撤回"
    ),
    Reason(
        code="evidence_outside",
        en="what the author marked as evidence lies outside of the medium",
        zh="作者标注的依据超出素材范围",
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
    Reason(
        code="undelivered",
        en="too few endpoints of the panel receive what the item shows",
        zh="能完整收到题目素材的模型端点过少",
    ),
    Reason(code="too_easy", en="every model finds the answer at once", zh="题目过易：所有模型都能直接答对"),
    Reason(code="answers_split", en="the models are split between two choices", zh="模型的回答分散在两个选项之间"),
    Reason(
        code="leaking_step",
        en="a step can be answered without a modality that it should need",
        zh="某一步骤缺少应需的模态仍可作答",
    ),
    Reason(code="no_panel_review", en="too few models gave a review that can be read", zh="有效的模型评审不足"),
    # What people say, and some of it models too.
    Reason(code="ambiguous", en="the question can be read in two ways", zh="题意不明确"),
    Reason(code="wrong_key", en="the key is wrong", zh="答案错误"),
    Reason(code="not_unique", en="more than one answer is right", zh="答案不唯一"),
    Reason(code="unanswerable", en="what is asked is in none of the materials", zh="素材中没有题目所问的信息"),
    Reason(code="wrong_task_type", en="the question is of another task type", zh="任务类型不符"),
    Reason(code="poor_material", en="a material is of too low quality", zh="素材质量不佳"),
    Reason(code="withdrawn", en="who gave a material has withdrawn it", zh="素材提供者已撤回授权"),
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
