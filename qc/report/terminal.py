"""The report for a terminal: short lines, and one item's whole story."""

from collections.abc import Iterator, Sequence

from core.question import choice_label
from qc.report.document import DecoyCondition, ItemHistory, ItemStory, QcReport, RoundFlow, RoundStory, VerdictStory
from qc.report.words import reason_words
from qc.review.revision_diff import Change

# Terminals are for the first look; the page and the JSON document hold all.
STOPPED_SHOWN = 40
NEXT_ITEMS = "interplay item import FILE"
NEXT_ROUNDS = "interplay qc run"
NEXT_AUDIT = "interplay qc audit NAME VERSION"


def report_lines(found: QcReport) -> list[str]:
    """The funnel, the rounds, what the numbers are worth, and what stopped with why."""
    if not found.items:
        return [f"no items yet; next: {NEXT_ITEMS}"]
    lines = ["funnel: " + ", ".join(f"{count} {state}" for state, count in found.funnel.items() if count)]
    if not any(flow.entered for flow in found.rounds):
        return lines
    lines += [_flow_line(flow) for flow in found.rounds if flow.entered]
    if not any(story.verdicts for item in found.items for story in item.rounds):
        return [*lines, f"no round has run yet; next: {NEXT_ROUNDS}"]
    return [*lines, *_decoy_lines(found), *_certificate_lines(found), *_reason_lines(found), *_stopped_lines(found)]


def history_lines(history: ItemHistory) -> list[str]:
    """All about one item but its table of answers."""
    item = history.item
    needs = f", needs {' and '.join(item.required)}" if item.required else ""
    lines = [
        f"{item.name}: {item.state}; {item.kind}, {item.task_type}, {item.language}{needs}; "
        f"revision {item.revision} by {item.author}",
        *(f"  {line}" for line in item.prompt.splitlines()),
        *_key_lines(item),
    ]
    for revision in history.revisions:
        if len(history.revisions) > 1:
            lines.append(f"revision {revision.number} by {revision.author}, {revision.at:%Y-%m-%d %H:%M}")
            lines += [f"  {line}" for change in revision.changes for line in _change_lines(change)]
        lines += [line for story in revision.rounds for line in _round_lines(story)]
    if not any(revision.rounds for revision in history.revisions):
        lines.append("no round has judged it yet")
    return [*lines, *(f"people {one.words}" for one in item.solves)]


def answer_rows(item: ItemStory) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of conditions x models."""
    models = sorted({cell.model for cell in item.table})
    cells = {(cell.condition, cell.model): f"{cell.text} ({cell.right}/{cell.valid})" for cell in item.table}
    conditions = dict.fromkeys(cell.condition for cell in item.table)
    rows = [[name, *(cells.get((name, model), "-") for model in models)] for name in conditions]
    return ["condition", *models], rows


def _flow_line(flow: RoundFlow) -> str:
    told = [f"{getattr(flow, name)} {name}" for name in ("passed", "returned", "rejected", "open")]
    if flow.left:
        told.append(f"{flow.left} left without a verdict")
    by_people = [
        f"{count} {words}"
        for count, words in ((flow.settled_by_person, "settled"), (flow.overruled, "overruled"))
        if count
    ]
    more = f" ({', '.join(by_people)} by a person)" if by_people else ""
    return f"round {flow.round}: {flow.entered} entered, {', '.join(told)}{more}"


def _decoy_lines(found: QcReport) -> Iterator[str]:
    if not found.decoys.conditions:
        return
    yield f"flagged by luck at share {found.decoys.share:g}, by decoys over {found.decoys.items} items:"
    for one in found.decoys.conditions:
        yield f"  {one.shown.en}: {_estimate(one)}; {_lowest(one, found.decoys.level)}"
        if one.is_above:
            yield f"  WARNING: the estimate {one.shown.en} is above {found.decoys.level:.0%} at the share in use"


def _estimate(one: DecoyCondition) -> str:
    used = one.used
    fdr = (
        "estimate undefined (nothing is flagged)"
        if used.fdr is None
        else f"estimate {used.fdr:.3f} (at most {used.fdr_at_most:.3f}, with 95% confidence)"
    )
    still_open = f", {used.open} still open" if used.open else ""
    return f"{used.flagged} flagged, {used.decoys} with a decoy{still_open}, {fdr}"


def _lowest(one: DecoyCondition, level: float) -> str:
    if one.lowest is None:
        return f"no share is known to stay under {level:.0%}"
    return f"stays under {level:.0%} from share {one.lowest:g} on"


def _certificate_lines(found: QcReport) -> Iterator[str]:
    for certificate in found.certificates:
        stands = "" if certificate.stands else " (contradicted by later findings, or replaced)"
        yield f"certificate of {certificate.release}: {certificate.text}{stands}"
    for audit in found.audits:
        yield f"audit of {audit.subject}: {audit.audited} of {audit.drawn} items audited, {audit.failures} fail"
    if not found.certificates:
        more = "" if found.audits else f"; an audit of a release by people gives one: {NEXT_AUDIT}"
        yield f"certificate: none{more}"


def _reason_lines(found: QcReport) -> Iterator[str]:
    if found.reasons:
        yield "reasons: " + ", ".join(f"{len(one.items)} {one.code}" for one in found.reasons)


def _stopped_lines(found: QcReport) -> Iterator[str]:
    stopped = [item for item in found.items if item.reason_codes]
    for item in stopped[:STOPPED_SHOWN]:
        words = "; ".join(f"{code} ({reason_words(code).en})" for code in item.reason_codes)
        yield f"  {item.name}: {item.state}: {words}"
        yield from (f"    {' '.join(why.en.split())}" for why in item.why)
    if len(stopped) > STOPPED_SHOWN:
        yield f"  and {len(stopped) - STOPPED_SHOWN} more; --output FOLDER makes a page with all, --json a document"


def _key_lines(item: ItemStory) -> Iterator[str]:
    for place, text in enumerate(item.choices):
        yield f"  {'*' if place in item.correct else ' '} {choice_label(place)}. {text}"
    for number, step in enumerate(item.steps, start=1):
        yield f"  {number}. {step.ask} ({step.points} points): {step.answer}"
    if item.accepted:
        yield f"  answer: {'; '.join(item.accepted)}"


def _round_lines(story: RoundStory) -> Iterator[str]:
    yield f"  round {story.round}: {story.outcome}" + (" (overruled by a person)" if story.overruled else "")
    for verdict in story.verdicts:
        yield from (f"    {line}" for line in _verdict_lines(verdict))


def _verdict_lines(verdict: VerdictStory) -> Iterator[str]:
    words = "; ".join(f"{code} ({reason_words(code).en})" for code in verdict.codes)
    yield f"{verdict.decider}: {verdict.decision}" + (f": {words}" if words else "")
    if verdict.comment:
        yield f"  says: {' '.join(verdict.comment.split())}"
    for why in (*verdict.why, *([verdict.note] if verdict.note else [])):
        yield f"  {why.en}"
    for finding in verdict.asides:
        yield f"  {finding.severity}: {finding.code}: {finding.message}"


def _change_lines(change: Change) -> Sequence[str]:
    return change.words.splitlines()
