"""Whether the members of a group of counterfactual twins are twins."""

from collections.abc import Sequence

from core.condition import SENSES
from core.content import Modality
from core.question import Question
from evaluation.report.items import blind_ceiling
from qc.checks import Finding, error, warning


def twin_problems(members: Sequence[Question]) -> list[Finding]:
    """What is wrong with a twin group: its members must read the same, have other keys, and differ in one modality.

    An error where somebody who sees no media can get all of them right; a warning for each member that differs from no
    other one in the media of exactly one modality. A member that is alone has no twin yet, and no problem.
    """
    if len(members) < 2:
        return []
    problems: list[Finding] = []
    if blind_ceiling(members) == 1.0:
        problems.append(
            error(
                "twins_not_counterfactual",
                "one answer is right for all members that read the same without media: give them the same text and "
                "other keys",
                "不看素材时，同一个答案对所有孪生题都正确：请使用相同的文字和不同的答案",
            )
        )
    for place, member in enumerate(members):
        differing = [_differing(member, other) for row, other in enumerate(members) if row != place]
        if all(len(modalities) != 1 for modalities in differing):
            told = min((len(modalities), " and ".join(modalities)) for modalities in differing)[1] or "nothing"
            problems.append(
                warning(
                    "twin_media",
                    f"member {place + 1} differs from its nearest twin in the media of {told}, not of one modality",
                    f"第 {place + 1} 道孪生题与最接近的一道相差的素材不是恰好一种模态",
                )
            )
    return problems


def _differing(first: Question, second: Question) -> list[Modality]:
    return [modality for modality in SENSES if _shown(first, modality) != _shown(second, modality)]


def _shown(question: Question, modality: Modality) -> list[str]:
    return [part.media.sha256 for part in question.media if part.media.modality is modality]
