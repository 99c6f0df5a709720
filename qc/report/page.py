"""The report as one HTML page that opens offline, and the same as JSON."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from core.errors import UnknownName
from core.question import choice_label
from core.taxonomy import load_taxonomy
from evaluation.report.comparisons import condition_order
from qc.model_review import CODES, Reviews
from qc.reasons import Words
from qc.report.answers import mark_of
from qc.report.document import Decoys, GateStory, ItemStory, QcReport, TwinGroup, VerdictStory
from qc.report.terminal import NEXT_AUDIT, NEXT_ITEMS, NEXT_ROUNDS
from qc.report.why import condition_words
from qc.report.words import reason_words, texts, undefined_words

_ANSWER_CHARACTERS_ON_PAGE = 600
_PROMPT_CHARACTERS_IN_LIST = 160


def write_report(report: QcReport, folder: Path, language: str) -> Path:
    """Write `qc.html` and `qc.json`; returns the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "qc.json").write_text(report.model_dump_json(), encoding="utf-8")
    file = folder / "qc.html"
    file.write_text(page(report, language), encoding="utf-8")
    return file


def page(report: QcReport, language: str) -> str:
    """One HTML file. Its list of items is data at once; what an item holds is read and drawn when it is opened."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader("qc"), PackageLoader("evaluation")])
    templates = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    words = texts(language)

    def told(one: Words) -> str:
        return one.text(language)

    def number(share: float | None) -> str:
        return words["undefined"] if share is None else f"{share:.2f}"

    # As attributes: of a dict, `t.items` and `t.clear` would be its methods.
    templates.globals.update(
        told=told, reason=reason_words, undefined=undefined_words, t=SimpleNamespace(**words), number=number
    )
    return templates.get_template("qc_report.html").render(
        report=report,
        language=language,
        commands={"author": NEXT_ITEMS, "rounds": NEXT_ROUNDS, "audit": NEXT_AUDIT},
        has_verdicts=any(story.verdicts for item in report.items for story in item.rounds),
        curve=_curve(report.decoys),
        twin_conditions=_twin_conditions(report.twins),
        index=_index(report, language, words),
        details=(_details(item, language) for item in report.items),
    )


def _curve(decoys: Decoys) -> list[tuple[float, list[Any]]]:
    """Estimates by share, in the order of the conditions."""
    found = {(one.condition, one.share): one for one in decoys.curve}
    shares = sorted({one.share for one in decoys.curve}) if decoys.conditions else []
    return [(share, [found[one.condition, share] for one in decoys.conditions]) for share in shares]


def _twin_conditions(groups: tuple[TwinGroup, ...]) -> dict[str, Words]:
    found = {score.condition: score.shown for group in groups for score in group.scores}
    return {name: found[name] for name in sorted(found, key=condition_order)}


def _index(report: QcReport, language: str, words: Mapping[str, str]) -> dict[str, Any]:
    """What the list of items filters by."""
    codes = {code for item in report.items for code in item.reason_codes} | {
        code for item in report.items for story in item.rounds for one in story.verdicts
        for code in (*one.codes, *(finding.code for finding in one.findings))
    }  # fmt: skip
    return {
        "words": words,
        "reasons": {code: reason_words(code).text(language) for code in sorted(codes)},
        "task_types": {name: _task_type(name, language) for name in sorted({item.task_type for item in report.items})},
        "items": [
            {
                "name": item.name,
                "state": item.state,
                "task_type": item.task_type,
                "language": item.language,
                "author": item.author,
                "reasons": item.reason_codes,
                "prompt": item.prompt[:_PROMPT_CHARACTERS_IN_LIST],
                "rounds": {str(story.round): story.outcome for story in item.rounds},
                "settled": [story.round for story in item.rounds if story.settled_by_person],
                "overruled": [story.round for story in item.rounds if story.overruled],
            }
            for item in report.items
        ],
    }


def _task_type(name: str, language: str) -> str:
    try:
        return load_taxonomy().get(name).name("zh" if language == "zh" else "en")
    except UnknownName:
        return name


def _details(item: ItemStory, language: str) -> dict[str, Any]:
    """An item as its opened part needs it: responses once, everything else points at them by place."""
    places = {answer.key: place for place, answer in enumerate(item.answers)}
    conditions = dict.fromkeys(cell.condition for cell in item.table)
    return {
        **item.model_dump(mode="json", exclude={"rounds", "table", "answers", "choices", "why"}),
        "why": [why.text(language) for why in item.why],
        "choices": [[choice_label(place), text] for place, text in enumerate(item.choices)],
        "rounds": [
            {
                "round": story.round,
                "outcome": story.outcome,
                "overruled": story.overruled,
                "verdicts": [_verdict(verdict, places, language) for verdict in story.verdicts],
            }
            for story in item.rounds
        ],
        "models": sorted({cell.model for cell in item.table}),
        "conditions": {name: condition_words(name).text(language) for name in conditions},
        "answers": [
            [
                answer.key,
                answer.model,
                answer.condition,
                answer.rotation,
                answer.state,
                mark_of(answer),
                answer.right,
                _cut(answer.answer),
                _cut(answer.error),
                answer.picked,
            ]
            for answer in item.answers
        ],
    }


def _verdict(verdict: VerdictStory, places: Mapping[str, int], language: str) -> dict[str, Any]:
    return {
        "decision": verdict.decision,
        "codes": verdict.codes,
        "decider": verdict.decider,
        "by_person": verdict.by_person,
        "comment": verdict.comment,
        "at": f"{verdict.at:%Y-%m-%d %H:%M} UTC",
        "flagged_at": verdict.flagged_at,
        "why": [why.text(language) for why in _sentences(verdict)],
        "findings": [finding.model_dump() for finding in verdict.asides],
        "reviews": verdict.reviews and _reviews(verdict.reviews, places, language),
        "gates": [_gate(gate, places, language) for gate in verdict.gates],
    }


def _reviews(reviews: Reviews, places: Mapping[str, int], language: str) -> dict[str, Any]:
    return {
        "valid": len(reviews.valid),
        "invalid": dict(reviews.invalid),
        "objections": [
            [reason_words(CODES[aspect]).text(language), one.family, one.words, places.get(one.response_key)]
            for aspect, objections in reviews.objections.items()
            for one in objections
        ],
    }


def _sentences(verdict: VerdictStory) -> Iterator[Words]:
    """Those that the table of votes does not tell."""
    told = {gate.why for gate in verdict.gates}
    yield from (why for why in verdict.why if why not in told)
    if verdict.note:
        yield verdict.note


def _gate(gate: GateStory, places: Mapping[str, int], language: str) -> dict[str, Any]:
    votes = gate.votes
    return {
        **votes.model_dump(mode="json", exclude={"responses", "families_open", "key"}),
        "shown": gate.shown.text(language),
        "says": gate.says,
        "why": gate.why.text(language),
        "leaking": gate.leaking,
        "at": [places[key] for key in votes.responses if key in places],
    }


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= _ANSWER_CHARACTERS_ON_PAGE:
        return text
    return text[:_ANSWER_CHARACTERS_ON_PAGE] + " …"
