"""Words of the report's page in both languages; user text is never among them."""

import re

from qc.reasons import REASONS, Words


def texts(language: str) -> dict[str, str]:
    """All words by name, in one language."""
    return {name: words.text(language) for name, words in _WORDS.items()}


def reason_words(code: str) -> Words:
    """The words of a reason code; the code itself where this version knows none (an older one stored it)."""
    known = REASONS.get(code)
    return Words(en=known.en, zh=known.zh) if known else Words(en=code, zh=code)


def undefined_words(reason: str) -> Words:
    """Why a statistic is not defined; as it stands where it has no words of ours in Chinese."""
    numbers = _NUMBER.findall(reason)
    told = _UNDEFINED.get(_NUMBER.sub("{}", reason))
    return Words(en=reason, zh=told.format(*numbers) if told else reason)


_NUMBER = re.compile(r"\d+")
# Of `qc.agreement`, `qc.drift`, `qc.item_analysis` and `qc.key_bias`; numbers stand in the same order.
_UNDEFINED = {
    "they share no item": "两人没有共同评审的题目",
    "fewer than two reviewers gave verdicts": "给出裁定的评审者不足两人",
    "no revision has two verdicts": "没有版本得到两次裁定",
    "all verdicts say the same: alpha is {}/{}": "所有裁定相同：α 为 {}/{}",
    "fewer than two items": "不足两道题目",
    "alpha is undefined in {} of {} resamples": "α 在 {} / {} 次重抽样中未定义",
    "alpha is the same in every resample, which says nothing of its spread": "每次重抽样的 α 均相同，无从估计离散程度",
    "too few decisions: {} of the {} needed": "裁定过少：{}，需要 {}",
    "no answer has points": "没有得到评分的回答",
    "no other item has points": "其他题目均无得分",
    "all models have the same rest score": "所有模型在其余题目上的得分相同",
    "all models have the same points": "所有模型得分相同",
    "too few models: {} of the {} needed": "模型过少：{}，需要 {}",
    "no question has one right choice": "没有单一答案的选择题",
    "no question has choices that differ in it": "没有题目的选项在这一点上有差别",
    "the ties are of too many sizes for an exact p": "并列情形过多，无法精确计算 p",
    "places are expected {}.{} times, {} are needed": "位置的期望次数为 {}.{}，需要 {}",
    "{} questions are too few: two places must be expected {} times": "题目过少（{} 道）：需两个位置的期望次数达到 {}",
    **{
        f"both always decided '{decision}': kappa is {{}}/{{}}": f"两人的裁定始终为“{words}”：κ 为 {{}}/{{}}"
        for decision, words in (("pass", "通过"), ("return", "退回"), ("reject", "淘汰"), ("unknown", "未定"))
    },
}
_WORDS = {
    name: Words(en=en, zh=zh)
    for name, en, zh in (
        # The page as a whole.
        ("title", "Quality control", "质量控制"),
        ("contents", "Contents", "目录"),
        ("empty", "There are no items yet. Next: write some in the studio, or run",
         "还没有题目。下一步：在工作台中出题，或运行"),
        ("unjudged", "No round has run yet. Next:", "尚未运行任何一轮。下一步："),
        ("noscript", "The items are shown by a script; qc.json holds the same.",
         "题目由脚本显示；qc.json 含有同样的内容。"),
        ("undefined", "undefined", "未定义"),
        ("none", "none", "无"),
        ("item_list", "Items", "题目"),
        ("warning", "Warning", "警告"),
        # The funnel.
        ("funnel", "Funnel", "漏斗"),
        ("funnel_note", "Where every item stands now, and what each round did with current revisions. "
         "An underlined number shows the items behind it; an opened item shows the responses behind its votes.",
         "每道题目目前的状态，以及各轮对当前版本的处理。点击带下划线的数字查看对应的题目；展开题目可查看投票背后的模型回答。"),
        ("round", "Round", "轮次"),
        ("entered", "entered", "进入"),
        ("passed", "passed", "通过"),
        ("returned_", "returned", "退回"),
        ("rejected_", "rejected", "淘汰"),
        ("open", "open", "待定"),
        ("left", "left without a verdict", "未经裁定而离开"),
        ("settled_by_person", "settled by a person", "由人工裁定"),
        ("overruled", "overruled by a person", "被人工推翻"),
        ("round_1", "Round 1: model check", "第一轮：模型检查"),
        ("round_2", "Round 2: ablation study", "第二轮：消融检验"),
        ("round_3", "Round 3: human check", "第三轮：人工检查"),
        ("draft", "draft", "草稿"),
        ("submitted", "submitted", "已提交"),
        ("round1_passed", "round 1 passed", "通过第一轮"),
        ("round2_passed", "round 2 passed", "通过第二轮"),
        ("accepted", "accepted", "已接受"),
        ("released", "released", "已发布"),
        ("retired", "retired", "已撤下"),
        ("returned", "returned", "已退回"),
        ("rejected", "rejected", "已淘汰"),
        # Reasons.
        ("reasons", "Why items stopped", "停止原因"),
        ("reasons_note", "Reasons of the last verdict that did not let an item pass, or for which it waits for a "
         "person.",
         "题目最后一次未通过、或等待人工裁定的原因。"),
        ("reason", "Reason", "原因"),
        ("count", "Items", "题数"),
        # Decoys.
        ("decoys", "Flagged by luck", "偶然命中的估计"),
        ("decoys_note", "Wrong choices serve as decoys: where models that are shown too little agree on a choice, it "
         "is the key by luck as often as any one wrong choice. Over the last round-2 verdicts by the check. The "
         "estimate is the share of the flagged items that are flagged by luck.",
         "错误选项充当诱饵：模型在信息不足时若一致选择某个选项，选中答案的偶然性与选中任一错误选项相同。"
         "依据第二轮自动检查的最近结论。估计值为被标记题目中偶然被标记的比例。"),
        ("share_in_use", "Share in use", "当前阈值"),
        ("level", "Level", "允许水平"),
        ("condition", "Condition", "条件"),
        ("asked_items", "Items asked", "作答题数"),
        ("flagged", "Flagged", "被标记"),
        ("decoy_items", "With a decoy", "诱饵达到"),
        ("undecided", "Still open", "未定"),
        ("estimate", "Estimate", "估计"),
        ("at_most", "At most (95%)", "上限（95%）"),
        ("lowest", "Lowest share under the level", "低于允许水平的最低阈值"),
        ("above", "at the share in use the estimate is above the level: raise the threshold, or have people look at "
         "the flagged items", "当前阈值下的估计超过允许水平：请提高阈值，或由人工复核被标记的题目"),
        ("no_decoys", "Round 2 has judged no choice question with one right choice yet.",
         "第二轮尚未裁定任何单一答案的选择题。"),
        ("curve", "Estimates at every share", "各阈值下的估计"),
        ("curve_note", "estimate (items with a decoy / flagged)", "估计（诱饵达到 / 被标记）"),
        ("share", "Share", "阈值"),
        # Certificates.
        ("certificate", "Certificate", "证书"),
        ("no_certificate", "None. A certificate comes from a random audit of a release by people, never from what a "
         "filter let pass. Next:", "无。证书来自人工对已发布集合的随机抽检，而非筛选自身的通过率。下一步："),
        ("superseded", "contradicted by later findings, or replaced", "已被后续发现推翻或取代"),
        ("audit", "Audit", "抽检"),
        ("audited", "audited", "已检"),
        ("failures", "fail", "不合格"),
        # Twins.
        ("twins", "Counterfactual twins", "反事实孪生题"),
        ("twins_note", "Accuracy counts questionings (model x rotation) in which all members are right, as the mean "
         "over families. A policy that sees no media reaches the blind ceiling at best.",
         "准确率统计所有成员均答对的提问（模型 × 轮换），取各模型家族的平均。不看素材的策略最多达到盲答上限。"),
        ("group", "Group", "组"),
        ("members", "Members", "成员"),
        ("blind_ceiling", "Blind ceiling", "盲答上限"),
        # People.
        ("agreement", "Agreement of reviewers", "评审一致性"),
        ("agreement_note", "Third verdicts are asked for only where the first two differ, so the first two say how far "
         "reviewers agree.", "只有前两位意见不一时才请第三位，因此应以前两次裁定衡量一致性。"),
        ("first_two", "First two verdicts", "前两次裁定"),
        ("all_verdicts", "All verdicts", "全部裁定"),
        ("revisions", "Revisions", "版本"),
        ("verdicts", "Verdicts", "裁定"),
        ("percent", "Agreeing pairs", "一致的对数比例"),
        ("alpha", "Krippendorff's alpha", "Krippendorff α"),
        ("interval", "95% interval", "95% 区间"),
        ("kappa", "Cohen's kappa", "Cohen κ"),
        ("pair", "Reviewers", "评审者"),
        ("shared", "Judged by both", "共同裁定"),
        ("agreeing", "Agree", "一致"),
        ("drift", "Drift", "漂移"),
        ("measure", "Measure", "指标"),
        ("recent", "Last", "最近"),
        ("before", "Before", "此前"),
        ("p_holm", "p (Holm)", "p（Holm）"),
        ("drifted", "drifted", "有漂移"),
        ("reviewers", "Reviewers", "评审者"),
        ("reviewer", "Reviewer", "评审者"),
        ("pass_share", "Pass share", "通过比例"),
        ("gold", "Gold items right", "金标题正确"),
        ("authors", "Authors", "作者"),
        ("author", "Author", "作者"),
        ("times_returned", "Returns ever", "累计退回"),
        ("key_positions", "Places of the key", "答案位置"),
        ("even", "no warning", "无警告"),
        ("solves", "People's ablation solves", "人工消融作答"),
        ("solves_note", "What reviewers answered before they saw the key: with one modality hidden, then with "
         "everything.",
         "评审者在看到答案之前的作答：先隐藏一种模态，再给出全部信息。"),
        ("solve_full", "with everything", "给出全部信息"),
        ("hidden", "Hidden", "隐藏"),
        ("right", "Right", "答对"),
        ("asked", "Asked", "作答"),
        ("ungraded", "not graded", "未评分"),
        # Runs.
        ("runs", "Last runs", "最近运行"),
        ("started", "Started (UTC)", "开始（UTC）"),
        ("status", "Status", "状态"),
        ("questions", "Questions", "提问"),
        ("failed", "Failed", "失败"),
        ("cost", "US dollars", "美元"),
        ("left_over", "Left by the budget", "因预算未处理"),
        ("budget", "Budget", "预算"),
        ("quarantined", "Quarantined", "隔离的端点"),
        ("panel", "Panel", "评审模型"),
        ("calls", "questions", "次提问"),
        ("unlimited", "unlimited", "不限"),
        # The list of items and an opened one.
        ("items_note",
         "Open an item for its verdicts, votes and responses. A vote is the mean over families of the share "
         "of answers; an underlined number shows the responses behind it.",
         "展开题目可查看裁定、投票与模型回答。投票为各模型家族作答比例的平均；点击带下划线的数字查看对应的回答。"),
        ("search", "Search names and prompts", "搜索名称与题面"),
        ("all", "all", "全部"),
        ("state", "State", "状态"),
        ("task_type", "Task type", "任务类型"),
        ("item", "Item", "题目"),
        ("rounds", "Rounds", "各轮"),
        ("more", "Show more", "显示更多"),
        ("clear", "Show all items", "显示全部题目"),
        ("shown", "shown", "道题目符合"),
        ("revision", "revision", "版本"),
        ("by", "by", "作者"),
        ("needs", "needs", "需要"),
        ("key", "key", "答案"),
        ("answer", "Answer", "回答"),
        ("pass", "pass", "通过"),
        ("return", "return", "退回"),
        ("reject", "reject", "淘汰"),
        ("unknown", "unknown", "未定"),
        ("solved", "right", "答对"),
        ("range", "can end at", "最终范围"),
        ("range_note", "between what the share of a full count lies, where asking stopped early",
         "提前停止时，完整统计的比例所在范围"),
        ("answers", "valid / asked / planned", "有效 / 已问 / 计划"),
        ("gate", "gate", "关卡"),
        ("says_pass", "passes", "通过"),
        ("says_stop", "flagged", "被标记"),
        ("says_person", "to a person", "交由人工"),
        ("says_unknown", "undecided", "无法判定"),
        ("says_probe", "probe", "复核"),
        ("because", "why", "理由"),
        ("table", "Answers by condition and model", "条件 × 模型作答表"),
        ("table_note", "One mark for each rotation of the choices, in the author's places; ? says nothing.",
         "每次选项轮换一个标记，按作者的选项位置；? 表示无有效作答。"),
        ("steps", "Steps", "步骤"),
        ("points", "points", "分"),
        ("leaks", "leaks", "泄露"),
        ("behind", "responses", "个回答"),
        ("all_responses", "Show all responses", "显示全部回答"),
        ("lost", "responses are not in the facts any more", "个回答已不在记录中"),
        ("model", "Model", "模型"),
        ("rotation", "Rotation", "轮换"),
        ("says", "Author's choice", "作者的选项"),
        ("error", "Error", "错误"),
        ("close", "Close", "收起"),
        ("state_ok", "ok", "正常"),
        ("state_refusal", "refused", "拒答"),
        ("state_truncated", "cut off", "被截断"),
        ("state_empty", "empty", "空"),
        ("state_blocked", "blocked", "被拦截"),
        ("state_unparsed", "not read", "无法解析"),
        ("state_api_error", "API error", "接口错误"),
        ("state_timeout", "timed out", "超时"),
        ("run_running", "running", "运行中"),
        ("run_finished", "finished", "已完成"),
        ("run_failed", "failed", "失败"),
        ("run_interrupted", "interrupted", "已中断"),
        ("response_key", "Key", "键"),
        ("option", "choice", "选项"),
        ("choice", "choice question", "选择题"),
        ("multi_step", "multi-step question", "多步题"),
        ("open_question", "open question", "开放题"),
        ("text", "text", "文字"),
        ("image", "image", "图像"),
        ("audio", "audio", "音频"),
        ("video", "video", "视频"),
        ("drift_passes", "passes", "通过"),
        ("drift_settled", "agrees with how round 3 was settled", "与第三轮结果一致"),
        ("drift_gold", "right on gold items", "金标题判断正确"),
        ("model_review", "Panel's review of the question", "模型评审"),
        ("valid_reviews", "families gave one", "个模型家族给出有效评审"),
        ("no_rounds", "No round has judged this revision yet.", "当前版本尚未经过任何一轮。"),
    )
}  # fmt: skip
