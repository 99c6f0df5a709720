"""What quality control says of the whole benchmark: rounds, reasons, luck, certificates, keys, runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session, col, select

from annotation_ui import labels
from annotation_ui.permissions import Permission, Principal, require
from annotation_ui.views.quality_words import Figure, figure, qc_words, share
from annotation_ui.words import Words
from core.content import Modality
from core.question import choice_label
from qc.audit.bounds import CONFIDENCE, TARGET, required_size
from qc.audit.certificate import Audit, read_audit, rounded_up
from qc.key_bias import Position
from qc.report.document import Decoys, LastRun, QcReport, RoundFlow
from qc.review.solves import Solves
from warehouse.tables import Certificate, ItemState, Release

# Of a round, in the order of its bar.
OUTCOMES = ("passed", "open", "returned", "rejected", "left")
_STATES = {"returned": ItemState.RETURNED, "rejected": ItemState.REJECTED}


@dataclass(frozen=True)
class RoundLine:
    """A round with how many had each outcome; `parts` are their shares in [0, 1] of those that entered, for a bar."""

    round: int
    name: str
    entered: int
    counts: Sequence[tuple[str, int]]
    settled: int
    overruled: int
    parts: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class ReasonLine:
    """Why items stopped, or wait for a person."""

    code: str
    words: str
    count: int


@dataclass(frozen=True)
class DecoyLine:
    """The decoy estimate under one condition at the share in use."""

    shown: str
    items: int
    flagged: int
    decoys: int
    open: int
    estimate: str
    at_most: str
    lowest: str
    is_above: bool


@dataclass(frozen=True)
class AuditLine:
    """A release with its certificate, and what is missing for one: words, and the command that goes on."""

    release: str
    text: str
    bound: str
    confidence: str
    audited: int
    failures: int
    missing: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class KeyPlaces:
    """How often right choices stand in each place: label, count, what chance gives."""

    questions: int
    places: Sequence[tuple[str, int, str]]
    p: Figure
    test: str


@dataclass(frozen=True)
class SolveLine:
    """What reviewers answered before they saw the key."""

    hidden: str
    right: int
    answered: int
    interval: str
    ungraded: int


@dataclass(frozen=True)
class RunLine:
    """The last run of a round."""

    round: str
    started: str
    status: str
    asked: str
    failed: str
    cost: str
    left: str
    models: str
    quarantined: Sequence[tuple[str, str]]


def round_lines(report: QcReport, t: Words) -> list[RoundLine]:
    """Rounds 1 to 3."""
    return [_round(flow, qc_words(t.language)) for flow in report.rounds]


def round_columns(t: Words) -> list[str]:
    """The head of the table of rounds."""
    words = qc_words(t.language)
    counts = [outcome_words(name, t) for name in OUTCOMES]
    return [words["round"], words["entered"], *counts, words["settled_by_person"], words["overruled"]]


def outcome_words(outcome: str, t: Words) -> str:
    """What a round did with an item."""
    return t(labels.ITEM_STATES[_STATES[outcome]]) if outcome in _STATES else qc_words(t.language)[outcome]


def reason_lines(report: QcReport, t: Words) -> list[ReasonLine]:
    """Reasons, the most frequent first."""
    return [ReasonLine(one.code, one.words.text(t.language), len(one.items)) for one in report.reasons]


def decoy_lines(decoys: Decoys, t: Words) -> list[DecoyLine]:
    """A line for each condition in which something is missing, and one for any of them."""
    none = qc_words(t.language)["none"]
    return [
        DecoyLine(
            shown=one.shown.text(t.language),
            items=one.used.items,
            flagged=one.used.flagged,
            decoys=one.used.decoys,
            open=one.used.open,
            estimate=share(one.used.fdr, t),
            at_most=share(one.used.fdr_at_most, t),
            lowest=none if one.lowest is None else f"{one.lowest:g}",
            is_above=one.is_above,
        )
        for one in decoys.conditions
    ]


def decoy_columns(decoys: Decoys, t: Words) -> list[str]:
    """The head of the table of estimates at every share."""
    return [qc_words(t.language)["share"], *(one.shown.text(t.language) for one in decoys.conditions)]


def decoy_curve(decoys: Decoys, t: Words) -> list[tuple[float, list[str]]]:
    """For each share the estimate under each condition, as "3.1% (2/64)"."""
    found = {(one.condition, one.share): one for one in decoys.curve}
    lines = []
    for at in sorted({one.share for one in decoys.curve}) if decoys.conditions else ():
        across = [found[one.condition, at] for one in decoys.conditions]
        lines.append((at, [f"{share(one.fdr, t)} ({one.decoys}/{one.flagged})" for one in across]))
    return lines


def audits(session: Session, who: Principal, t: Words) -> list[AuditLine]:
    """Every release with how its audit stands, the newest first.

    Raises:
        NotAllowed: The person may not see results.
    """
    require(who, Permission.SEE_RESULTS)
    releases = session.exec(select(Release).order_by(col(Release.created_at).desc())).all()
    return [_audit(read_audit(session, release), who, t) for release in releases]


def key_places(found: Position, t: Words) -> KeyPlaces:
    """Places of right choices against chance."""
    places = enumerate(zip(found.counts, found.expected, strict=True))
    return KeyPlaces(
        questions=sum(found.counts),
        places=[(choice_label(place), count, f"{expected:.1f}") for place, (count, expected) in places],
        p=figure(found.p, t),
        test=found.test or "",
    )


def solve_lines(solves: Sequence[Solves], t: Words) -> list[SolveLine]:
    """People's blind answers, with everything first."""
    words = qc_words(t.language)
    return [
        SolveLine(
            hidden=words["solve_full"] if one.hidden is None else t(labels.MODALITIES[Modality(one.hidden)]),
            right=one.right,
            answered=one.answered,
            interval=interval(one.low, one.high, t),
            ungraded=one.ungraded,
        )
        for one in solves
    ]


def run_lines(runs: Sequence[LastRun], t: Words) -> list[RunLine]:
    """The last runs of rounds 1 and 2."""
    return [_run(run, qc_words(t.language), t) for run in runs]


def interval(low: float | None, high: float | None, t: Words) -> str:
    """Two ends of an interval of a share."""
    return share(None, t) if low is None or high is None else f"{t.percent(low)} – {t.percent(high)}"


def _round(flow: RoundFlow, words: Mapping[str, str]) -> RoundLine:
    counts = [(name, int(getattr(flow, name))) for name in OUTCOMES]
    return RoundLine(
        round=flow.round,
        name=words[f"round_{flow.round}"],
        entered=flow.entered,
        counts=counts,
        settled=flow.settled_by_person,
        overruled=flow.overruled,
        parts=[(name, count / flow.entered) for name, count in counts if count],
    )


def _audit(audit: Audit, who: Principal, t: Words) -> AuditLine:
    certificate = audit.standing
    return AuditLine(
        release=f"{audit.release.name} {audit.release.version}",
        text=certificate.text if certificate else "",
        bound=t.percent(rounded_up(certificate.bound)) if certificate else "",
        confidence=f"{CONFIDENCE:.0%}",
        audited=certificate.audited if certificate else audit.counts.audited if audit.counts else 0,
        failures=certificate.failures if certificate else audit.counts.failures if audit.counts else 0,
        missing=_missing(audit, who, t),
    )


def _missing(audit: Audit, who: Principal, t: Words) -> list[tuple[str, str]]:
    """What is missing for a certificate, or for one that reaches the target."""
    name, by = f"{audit.release.name} {audit.release.version}", f"--by {who.name}"
    if audit.counts is None:
        return [(t("No sample has been drawn yet. A maintainer draws one:"), f"interplay qc audit {name} {by}")]
    if audit.counts.pending:
        told = t.plural(
            "{count} item of the sample has not been looked at yet. Go on with:",
            "{count} items of the sample have not been looked at yet. Go on with:",
            audit.counts.pending,
        )
        return [(told, f"interplay qc audit-next {name} {by}")]
    if not audit.is_certified:
        return [(t("The audit is complete. Write its certificate:"), f"interplay qc certificate {name}")]
    return _short_of_target(audit.standing, audit, f"{name} {by}", t) if audit.standing else []


def _short_of_target(certificate: Certificate, audit: Audit, name: str, t: Words) -> list[tuple[str, str]]:
    if certificate.bound <= TARGET:
        return []
    if certificate.audited == audit.samples[-1].population:
        return [(t("More than {target} of the items fail. Mend or retire those that do.", target=f"{TARGET:.0%}"), "")]
    needed = required_size(certificate.failures)
    told = t(
        "For a bound of {target}, with {failures} that fail, {needed} items must be audited. Draw more:",
        target=f"{TARGET:.0%}", failures=t.number(certificate.failures), needed=t.number(needed),
    )  # fmt: skip
    return [(told, f"interplay qc audit {name} --size {needed}")]


def _run(run: LastRun, words: Mapping[str, str], t: Words) -> RunLine:
    told = run.summary
    failures = [f"{count} {words.get(f'state_{state}', state)}" for state, count in told.get("failures", {}).items()]
    cost = told.get("cost_usd")
    return RunLine(
        round=words[f"round_{run.round}"],
        started=t.moment(run.started_at),
        status=words[f"run_{run.status}"],
        asked=_count(told.get("asked"), t),
        failed=t(", ").join(failures) or "0",
        cost="–" if cost is None else f"{cost:.2f}",
        left=_count(told.get("left"), t),
        models=t(", ").join(run.models),
        quarantined=[(model, t(", ").join(lost)) for model, lost in told.get("quarantined", {}).items()],
    )


def _count(count: int | None, t: Words) -> str:
    return "–" if count is None else t.number(count)
