"""Why a material cannot be shown, in both languages."""

from qc.reasons import Words
from warehouse.tables import MaterialState

_ZH = {MaterialState.KEPT: "已保留", MaterialState.DROPPED: "已剔除", MaterialState.WITHDRAWN: "已撤回"}


def not_kept(placeholder: str, state: MaterialState) -> Words:
    """A material that was dropped or withdrawn."""
    return Words(en=f"{placeholder}: the material is {state.value}", zh=f"{placeholder}：该素材{_ZH[state]}")


def damaged(placeholder: str, told: str) -> Words:
    """A material whose bytes are missing or not what they were; `told` says so in English."""
    return Words(en=f"{placeholder}: {told}", zh=f"{placeholder}：素材文件缺失或已损坏（{told}）")
