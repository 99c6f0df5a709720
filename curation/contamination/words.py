"""Words of the reviewers' page in both languages; user text is never among them."""

from types import SimpleNamespace


def words_in(language: str) -> SimpleNamespace:
    """All words by name: Chinese for `zh` and its kin, English for all others."""
    place = 1 if language.partition("-")[0] == "zh" else 0
    return SimpleNamespace(**{name: pair[place] for name, pair in _WORDS.items()})


_WORDS = {
    "title": ("Overlaps with public benchmarks", "与公开基准的重合"),
    "intro": (
        "What is marked stands in both texts. A match counts until a person clears it with a reason.",
        "标出的文字两边都有。每处重合在有人说明理由并排除之前都算数。",
    ),
    "none": ("No matches.", "没有重合。"),
    "ours": ("Ours", "我方"),
    "theirs": ("Theirs", "对方"),
    "open": ("open", "未处理"),
    "cleared": ("cleared", "已排除"),
    "by": ("by", "处理人"),
    "why": ("because", "理由"),
    "carried_revision": ("carried over from revision {}", "沿用第 {} 版的结论"),
    "carried_index": ("carried over from index {}", "沿用索引 {} 的结论"),
    "score": ("score", "相似度"),
    "revision": ("question", "题目"),
    "numbered": ("{name}, revision {number}", "{name}，第 {number} 版"),
    "material": ("material", "素材"),
    "found_in": ("Index", "索引"),
    "no_texts": (
        "The index holds no texts of this benchmark; look the entry up there.",
        "索引不含该基准的文本，请到原处查看。",
    ),
    "no_media": (
        "The index holds no media: this is the medium's name and sha256.",
        "索引不含素材，仅有名称和 sha256。",
    ),
    "no_words": ("No words of it are known.", "没有相关文字。"),
    "no_picture": ("no picture here", "此处无图像"),
    "same_bytes": ("the very same bytes", "字节完全相同"),
    "shown_by": ("Shown by", "出现于"),
    "more": ("more", "更多"),
    "clear_with": ("To clear it:", "排除命令："),
    "reopen_with": ("To take that back:", "撤销排除："),
    "image": ("picture", "图像"),
    "video": ("video", "视频"),
    "audio": ("sound", "音频"),
    "words": ("words", "词语"),
    "characters": ("characters", "字符"),
    "options": ("set of options", "选项集合"),
    "embedding": ("near in meaning", "语义相近"),
    "measure_ours": ("share of ours", "占我方"),
    "measure_theirs": ("share of theirs", "占对方"),
    "measure_run": ("longest run, in words", "最长连续（词）"),
    "measure_options": ("options", "选项数"),
    "measure_cosine": ("cosine", "余弦"),
    "measure_distance": ("distance", "距离"),
    "label_prompt": ("prompt", "题干"),
    "label_choice": ("choice", "选项"),
    "label_step": ("step", "步骤"),
    "label_words": ("words of it", "相关文字"),
}
