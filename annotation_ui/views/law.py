"""The compositional law in words: what was fitted to which models, how sure it is, and why it could not be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation_ui.views.results import CellView, Links, cell_view
from annotation_ui.words import N_, Words
from core.errors import InterplayError
from evaluation.law.fit import CLOSE_CORRELATION, ConstantColumn, FormFit, LawFit, TooFewModels, check_points
from evaluation.law.forms import SYMMETRIC
from evaluation.law.of_report import NoUniModalScores, points_of
from evaluation.report.document import Number, Report
from warehouse.spreadsheets import Cell

NEEDED_MODELS = len(SYMMETRIC.parameters) + 1
FORMS = {
    "symmetric": N_("Symmetric, the law itself"),
    "generalised": N_("An exponent for each"),
    "linear_interaction": N_("Linear with interaction"),
    "weighted_sum": N_("Weighted sum"),
    "weighted_sum_bounded": N_("Weighted sum, weight from 0 to 1"),
    "linear": N_("Linear"),
}
_SCORES = ("Audio", "Visual", "Omni-MC")


@dataclass(frozen=True)
class PointRow:
    """A model's three scores, each with the way to its responses."""

    model: str
    cells: Sequence[CellView]


@dataclass(frozen=True)
class FormRow:
    """One form, and what its fit is worth; `problem` says why there is none."""

    label: str
    formula: str
    parameters: str
    r2: str = ""
    adjusted: str = ""
    rmse: str = ""
    aicc: str = ""
    q2: str = ""
    problem: str = ""


@dataclass(frozen=True)
class LawView:
    """The fitted law: P_O = scale (P_A P_V)^exponent, and the offset with its sign."""

    scale: str
    exponent: str
    offset: str
    alpha: str
    alpha_interval: str
    r2: str
    rmse: str
    models: str
    points: Sequence[PointRow]
    forms: Sequence[FormRow]
    notes: Sequence[str]


def why_not(report: Report, t: Words) -> str:
    """Why the law cannot be fitted to the models of a report; empty where nothing speaks against trying."""
    try:
        check_points(points_of(report))
    except InterplayError as error:
        return problem_told(error, report, t)
    return ""


def problem_told(error: InterplayError, report: Report, t: Words) -> str:
    """A mistake of the fit in the reader's words."""
    if isinstance(error, NoUniModalScores):
        return t(
            "No model has scores on questions that are only heard, only seen, and both. Put questions with audio alone "
            "and with image or video alone into the release, and to the models, too."
        )
    if isinstance(error, TooFewModels):
        return t(
            "{count} models have all three scores (audio alone, visual alone, both). The law has three unknowns and "
            "needs at least {needed}.",
            count=t.number(len(points_of(report))), needed=t.number(NEEDED_MODELS),
        )  # fmt: skip
    if isinstance(error, ConstantColumn):
        return t("A score is the same for every model; a law needs models that differ.")
    return t("No exponent fits these models: they lie too close together, or one has a score of zero.")


def point_rows(report: Report, links: Links, t: Words) -> list[PointRow]:
    """What the law is fitted to, or would be: people are no part of it."""
    table = report.table("table2")
    if table is None:
        return []
    places = [place for place, column in enumerate(table.columns) if column.title in _SCORES]
    return [
        PointRow(row.label, [cell_view(row.cells[place], links, t) for place in places])
        for row in table.rows
        if row.label not in report.people
        and any(isinstance(row.cells[place], Number) and row.cells[place].points is not None for place in places)  # type: ignore[union-attr]
    ]


def law_view(law: LawFit, report: Report, links: Links, t: Words) -> LawView:
    """A fitted law."""
    fit, alpha = law.fits[SYMMETRIC.name], law.alpha
    values = fit.parameters
    interval = t("{low} to {high}", low=_signed(alpha.low), high=_signed(alpha.high)) if alpha.low is not None else ""
    sign = "+" if values["b"] >= 0 else "−"
    return LawView(
        scale=_signed(values["C"], 3),
        exponent=_signed(values["alpha"], 3),
        offset=f"{sign} {abs(values['b']):.3f}",
        alpha=_signed(values["alpha"]),
        alpha_interval=interval or t("too few resamples could be fitted"),
        r2=f"{fit.r2:.3f}",
        rmse=f"{100 * fit.rmse:.1f}",
        models=t.plural("{count} model", "{count} models", len(law.points)),
        points=point_rows(report, links, t),
        forms=[
            *(_form(one, t) for one in law.fits.values()),
            *(FormRow(t(FORMS[name]), "", "", problem=t("not determined by these models")) for name in law.not_fitted),
        ],
        notes=_notes(law, t),
    )


def alt_text(view: LawView, t: Words) -> str:
    """What the picture shows, for those who do not see it."""
    return t(
        "Omni-modal scores against the product of audio and visual scores for {models}, with the fitted curve: "
        "exponent {alpha}, R² {r2}.",
        models=view.models, alpha=view.alpha, r2=view.r2,
    )  # fmt: skip


def saved_columns() -> list[str]:
    """Heads of the models that the law was fitted to."""
    names = ("audio", "visual", "omni")
    return ["model", *names, *(f"{name}_{end}" for name in names for end in ("low", "high"))]


def saved_rows(law: LawFit) -> Iterator[Sequence[Cell]]:
    """The points as `interplay law fit` reads them: shares with their intervals."""
    for point in law.points:
        ends = [point.intervals.get(name, (None, None)) for name in ("audio", "visual", "omni")]
        yield [point.model, point.audio, point.visual, point.omni, *(end for pair in ends for end in pair)]


def _form(fit: FormFit, t: Words) -> FormRow:
    return FormRow(
        label=t(FORMS[fit.form]),
        formula=fit.formula,
        parameters=_parameters(fit.parameters, fit.errors, t),
        r2=f"{fit.r2:.3f}",
        adjusted=f"{fit.adjusted_r2:.3f}",
        rmse=f"{100 * fit.rmse:.1f}",
        aicc="–" if fit.aicc is None else _signed(fit.aicc, 1),
        q2="–" if fit.q2 is None else _signed(fit.q2, 2),
    )


def _parameters(values: Mapping[str, float], errors: Mapping[str, float | None], t: Words) -> str:
    told = [
        f"{name} {_signed(value, 3)}"
        + (f" ({t('at its bound')})" if errors[name] is None else f" ± {errors[name]:.3f}")
        for name, value in values.items()
    ]
    return t("; ").join(told)


def _notes(law: LawFit, t: Words) -> list[str]:
    notes = [
        t(
            "The interval comes from drawing the models anew {count} times. The fit takes audio and visual scores as "
            "exact; they are measured, and their errors flatten the law.",
            count=t.number(law.alpha.resamples),
        )
    ]
    if abs(law.correlation) > CLOSE_CORRELATION:
        notes.append(
            t(
                "Audio and visual scores go together (r = {r}): what each adds can hardly be told apart.",
                r=_signed(law.correlation),
            )
        )
    return notes


def _signed(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}".replace("-", "−")
