"""Why a gate decided so: one sentence for each condition, with the shares and the thresholds, in both languages."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import ValidationError

from core.condition import FULL, OPENED, TEXT_ONLY
from core.question import Question, choice_label
from qc.checks import Finding
from qc.gates import Thresholds, enough_so_far, gate_of, judge_full
from qc.model_review import CODES, Reviews
from qc.panel import Votes
from qc.reasons import Words
from qc.report.document import GateStory
from qc.report.words import reason_words
from warehouse.tables import Decision, Verdict

_MODALITIES = {
    "image": ("image", "图像"),
    "audio": ("audio", "音频"),
    "video": ("video", "视频"),
    "visual": ("image and video", "图像和视频"),
}
_WHOLE = {
    "full": Words(en="with everything given", zh="给出全部信息"),
    "text_only": Words(en="with the text alone", zh="仅有文字"),
    "options_only": Words(en="with the choices alone", zh="仅有选项"),
}
_OLD_EVIDENCE = Words(
    en="the evidence of this verdict was stored in another form and cannot be shown",
    zh="该结论的证据格式不同，无法显示",
)
_GateSays = Literal["pass", "stop", "person", "unknown"]
_SAYS: Mapping[str, _GateSays] = {"open": "pass", "shut": "stop", "grey": "person", "unknown": "unknown"}
_PASSES = (": passes", "：通过")
_BY_PERSON = (": a person decides", "：由人工判定")


def condition_words(name: str) -> Words:
    """What was shown, in words: "without audio" for `without_audio`; that of a probe says so."""
    asked = name.removesuffix(OPENED)
    found = _WHOLE.get(asked)
    for start, en, zh in (
        ("without_", "without {}", "去除{}"),
        ("donor_for_", "with another item's {}", "换用其他题目的{}"),
    ):
        modality = asked.removeprefix(start)
        if found is None and asked.startswith(start) and modality in _MODALITIES:
            words = _MODALITIES[modality]
            found = Words(en=en.format(words[0]), zh=zh.format(words[1]))
    found = found or Words(en=asked.replace("_", " "), zh=asked.replace("_", " "))
    return found if asked == name else Words(en=f"{found.en}, open probe", zh=f"{found.zh}，开放作答复核")


def gate_stories(question: Question, verdict: Verdict) -> tuple[tuple[GateStory, ...], tuple[Words, ...], Words | None]:
    """The votes behind a check's verdict with a sentence each, the sentences that decided it, and a note.

    The note says that there are votes which this version cannot read.
    """
    evidence = verdict.evidence
    if "quarantined" in evidence:
        return (), (_undelivered(evidence["quarantined"]),), None
    try:
        votes = [Votes.model_validate(one) for one in evidence.get("votes", ())]
        limits = Thresholds(**evidence["thresholds"]) if votes else Thresholds()
    except (ValidationError, TypeError, KeyError):
        return (), (), _OLD_EVIDENCE
    by_name = {one.condition: one for one in votes}
    leaking = tuple(evidence.get("leaking_steps", ()))
    stories = tuple(_story(question, one, by_name, limits, leaking) for one in votes)
    return stories, _deciding(stories, verdict.decision), None


def _story(
    question: Question, votes: Votes, by_name: Mapping[str, Votes], limits: Thresholds, leaking: tuple[int, ...]
) -> GateStory:
    name, shown = votes.condition, condition_words(votes.condition)
    if name == FULL.name:
        return _full(question, votes, limits, shown)
    if name.endswith(OPENED) and name.removesuffix(OPENED) in by_name:
        return GateStory(votes=votes, shown=shown, says="probe", why=_probe(votes, limits, shown))
    story = _missing(votes, by_name.get(name + OPENED), limits, shown)
    if name == TEXT_ONLY.name and leaking and story.says == "pass":
        return story.model_copy(update={"says": "person", "leaking": leaking, "why": _leak(votes, leaking, limits)})
    return story


def _full(question: Question, votes: Votes, limits: Thresholds, shown: Words) -> GateStory:
    ruling = judge_full(question, votes, limits)
    says: _GateSays
    match ruling.reason_codes:
        case ("not_enough_votes",):
            says, why = "unknown", _too_few(votes, limits, shown)
        case ("suspect_key",):
            share, place = max((share, -place) for place, share in enumerate(votes.shares) if place in votes.wrong)
            says, label, reached = "stop", choice_label(-place), f"(>= {_percent(limits.suspect_key)})"
            why = Words(
                en=f"{_percent(share)} for choice {label} {shown.en} {reached}, which is not the key: returned",
                zh=f"{shown.zh}：选择 {label} 者 {_percent(share)}{reached}，并非答案：退回",
            )
        case ("unsolved",):
            says, why = "person", _sentence(shown, votes, f"< {_percent(limits.full_at_least)}", *_BY_PERSON)
        case _:
            says, why = "pass", _sentence(shown, votes, f">= {_percent(limits.full_at_least)}", *_PASSES)
    return GateStory(votes=votes, shown=shown, says=says, why=why)


def _missing(votes: Votes, probe: Votes | None, limits: Thresholds, shown: Words) -> GateStory:
    gate = gate_of(votes, probe, limits)
    if gate == "unknown":
        why = _too_few(votes, limits, shown)
    elif gate == "open":
        why = _sentence(shown, votes, f"<= {_percent(limits.passes)}", *_PASSES)
    elif (votes.solved or 0.0) < limits.flagged:
        why = _sentence(shown, votes, f"> {_percent(limits.passes)}, < {_percent(limits.flagged)}", *_BY_PERSON)
    else:
        why = _sentence(
            shown, votes, f">= {_percent(limits.flagged)}", *_flagged(votes, probe, limits, is_shut=gate == "shut")
        )
    return GateStory(votes=votes, shown=shown, says=_SAYS[gate], why=why)


def _flagged(votes: Votes, probe: Votes | None, limits: Thresholds, *, is_shut: bool) -> tuple[str, str]:
    """What the probe adds, and what follows."""
    if not votes.shares:
        return ", and no choices could lead: solved", "，没有选项可供猜测：可解"
    if probe is None or not enough_so_far(probe, limits):
        return ", but too few answers in the open probe: a person decides", "，但开放作答复核的有效作答不足：由人工判定"
    told = _percent(probe.solved)
    if is_shut:
        return f", and {told} in the open probe: solved", f"，开放作答复核答对 {told}：可解"
    return (
        f", but only {told} in the open probe: a person decides",
        f"，但开放作答复核仅答对 {told}：由人工判定",
    )


def _sentence(shown: Words, votes: Votes, limit: str, en: str, zh: str) -> Words:
    solved = _percent(votes.solved)
    return Words(en=f"{solved} right {shown.en} ({limit}){en}", zh=f"{shown.zh}：答对 {solved}（{limit}）{zh}")


def _probe(votes: Votes, limits: Thresholds, shown: Words) -> Words:
    if not enough_so_far(votes, limits):
        return _too_few(votes, limits, shown)
    if (votes.solved or 0.0) >= limits.flagged:
        return _sentence(shown, votes, f">= {_percent(limits.flagged)}", ": confirms it", "：证实")
    return _sentence(shown, votes, f"< {_percent(limits.flagged)}", ": does not confirm it", "：未证实")


def _too_few(votes: Votes, limits: Thresholds, shown: Words) -> Words:
    need = _percent(limits.valid_at_least)
    return Words(
        en=f"only {votes.valid} of {votes.asked} answers, of {votes.families} families, can be read {shown.en}; {need} "
        f"of {limits.families_at_least} families are needed: undecided",
        zh=f"{shown.zh}：{votes.asked} 个作答中 {votes.valid} 个有效，来自 {votes.families} 个模型家族；"
        f"需要 {need}、{limits.families_at_least} 个家族：无法判定",
    )


def _leak(votes: Votes, leaking: Sequence[int], limits: Thresholds) -> Words:
    shares = [(number, _percent(votes.step_shares[number - 1])) for number in leaking]
    limit = _percent(limits.flagged)
    en, zh = (
        joined.join(told.format(number=number, share=share) for number, share in shares)
        for joined, told in ((", ", "{share} right in step {number}"), ("、", "步骤 {number} 答对 {share}"))
    )
    return Words(
        en=f"with the text alone, {en} (>= {limit}): a person decides", zh=f"仅有文字：{zh}（>= {limit}）：由人工判定"
    )


def grounds_of(findings: Sequence[Finding], codes: Sequence[str], reviews: Reviews | None) -> tuple[Words, ...]:
    """What of the automatic checks and of the panel's reviews decided a verdict with these reason codes."""
    aspects = {code: aspect for aspect, code in CODES.items()} if reviews else {}
    found = []
    for finding in findings:
        told = reason_words(finding.code)
        if reviews and finding.code in codes and finding.code in aspects:
            count, of = len(reviews.objections[aspects[finding.code]]), len(reviews.valid)
            found.append(
                Words(
                    en=f"{count} of {of} model families say: {told.en}",
                    zh=f"{of} 个模型家族中有 {count} 个认为：{told.zh}",
                )
            )
        elif finding.code in codes:
            found.append(Words(en=f"{told.en}: {finding.message}", zh=f"{told.zh}：{finding.text('zh')}"))
    return tuple(found)


def _undelivered(quarantined: Mapping[str, Any]) -> Words:
    told = "; ".join(f"{model}: {', '.join(lost)}" for model, lost in sorted(quarantined.items()))
    return Words(
        en=f"what the item shows does not reach enough of the panel ({told}): undecided",
        zh=f"题目素材无法送达足够多的模型（{told}）：无法判定",
    )


def _deciding(stories: Sequence[GateStory], decision: Decision) -> tuple[Words, ...]:
    """Of a pass all sentences, else those that stand against it."""
    wanted = {
        Decision.PASS: ("pass",),
        Decision.RETURN: ("stop",),
        Decision.REJECT: ("stop",),
        Decision.UNKNOWN: ("unknown", "person"),
    }[decision]
    return tuple(story.why for story in stories if story.says in wanted)


def _percent(share: float | None) -> str:
    return "undefined" if share is None else f"{round(100 * share, 1):g}%"
