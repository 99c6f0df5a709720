"""`interplay law ...`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from core.errors import InterplayError
from evaluation.law.figure import law_picture
from evaluation.law.fit import RESAMPLES, FormFit, LawFit, check_points, fit_form, fit_law, predict
from evaluation.law.forms import FORMS, SYMMETRIC, find_form
from evaluation.law.points import LawPoint, NotAShare, law_points, read_points
from evaluation.published.paper import load_paper
from warehouse.command_line import JsonOption, show, show_table

app = typer.Typer(no_args_is_help=True, help="Fit the compositional law to models' scores.", rich_markup_mode=None)
FileArgument = Annotated[
    Path | None, typer.Argument(help="CSV or JSON file with model, audio, visual and omni for each model.")
]
PublishedOption = Annotated[bool, typer.Option("--published", help="Use Table 2 of UNO-Bench instead of a file.")]
PercentOption = Annotated[bool, typer.Option("--percent", help="The file's numbers are percentages, not shares.")]


class NoScores(InterplayError):
    """Neither a file nor --published, or both."""


@app.command()
def fit(
    file: FileArgument = None,
    published: PublishedOption = False,
    percent: PercentOption = False,
    resamples: Annotated[int, typer.Option(min=0, max=100_000, help="Resamples of the bootstrap.")] = RESAMPLES,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    to: Annotated[Path | None, typer.Option("--to", help="Folder for law.svg and law.json.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit P_omni = C (P_audio P_visual)^alpha + b and five other forms, and say what each is worth.

    Example: interplay law fit --published --to law
    """
    points, _ = _points(file, published, percent)
    show_law(fit_law(points, resamples=resamples, seed=seed), to, as_json)


def show_law(law: LawFit, to: Path | None, as_json: bool) -> None:
    """Print a fitted law, and write it with its picture into a folder if one is given."""
    if to is not None:
        to.mkdir(parents=True, exist_ok=True)
        (to / "law.json").write_text(law.model_dump_json(indent=2), encoding="utf-8")
        (to / "law.svg").write_bytes(law_picture(law))
    header = ["form", "R2", "adjusted", "RMSE", "by dof", "AICc", "Q2"]
    show_table(law.model_dump(mode="json"), header, [_row(one) for one in law.fits.values()], as_json)
    if not as_json:
        show(None, [*_lines(law), *([f"written: {to / 'law.svg'}"] if to else [])], False)


@app.command("predict")
def predict_command(
    audio: Annotated[float, typer.Option(help="The new model's audio score, in the unit of the fitted scores.")],
    visual: Annotated[float, typer.Option(help="Its visual score, in the same unit.")],
    file: FileArgument = None,
    published: PublishedOption = False,
    percent: PercentOption = False,
    form: Annotated[str, typer.Option(help=f"Of {', '.join(one.name for one in FORMS)}.")] = SYMMETRIC.name,
    name: Annotated[str, typer.Option(help="What the picture calls the new model.")] = "new model",
    to: Annotated[Path | None, typer.Option("--to", help="Folder for prediction.svg and prediction.json.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict a new model's omni-modal score from its audio and visual scores.

    Example: interplay law predict --published --audio 80.2 --visual 67.06
    """
    points, in_percent = _points(file, published, percent)
    shape = find_form(form)
    scale = 100 if in_percent else 1
    for what, value in (("audio", audio), ("visual", visual)):
        if not 0 <= value <= scale or (in_percent and value <= 1):
            unit = "percentages from 0 to 100" if in_percent else "shares from 0 to 1"
            raise NotAShare(f"--{what} {value:g}: the fitted scores are {unit}; give this one so, too")
    found = predict(fit_form(shape, check_points(points)), shape, points, audio / scale, visual / scale)
    if to is not None:
        to.mkdir(parents=True, exist_ok=True)
        (to / "prediction.json").write_text(found.model_dump_json(indent=2), encoding="utf-8")
        (to / "prediction.svg").write_bytes(law_picture(fit_law(points, resamples=0), found, name))
    unit, digits = ("%", 1) if in_percent else ("", 3)
    told, low, high = (f"{scale * one:.{digits}f}{unit}" for one in (found.omni, found.low, found.high))
    lines = [f"omni {told}, 95% prediction interval {low} to {high} ({found.form} law, {len(points)} models)"]
    if not found.within:
        lines.append(
            "note: audio times visual lies outside that of the fitted models; the law is stretched beyond them"
        )
    if to is not None:
        lines.append(f"written: {to / 'prediction.svg'}")
    show(found.model_dump(mode="json"), lines, as_json)


def _points(file: Path | None, published: bool, percent: bool) -> tuple[tuple[LawPoint, ...], bool]:
    if (file is None) != published:
        raise NoScores("give a FILE with model, audio, visual and omni, or --published, and not both")
    if file is not None:
        return read_points(file, percent=percent)
    table = load_paper("uno").tables["T2"]
    at = [table.columns.index(name) for name in ("audio", "visual", "omni_mc")]
    return law_points({model: [float(row[one]) / 100 for one in at] for model, row in table.rows.items()}), True


def _row(one: FormFit) -> Sequence[str]:
    aicc, q2 = ("" if value is None else f"{value:.{digits}f}" for value, digits in ((one.aicc, 2), (one.q2, 4)))
    numbers = [f"{one.r2:.5f}", f"{one.adjusted_r2:.5f}", f"{one.rmse:.5f}", f"{one.rmse_dof:.5f}"]
    return [one.form, *numbers, aicc, q2]


def _parameters(one: FormFit) -> str:
    return ", ".join(f"{name} {value:.4f}{_error(one.errors[name])}" for name, value in one.parameters.items())


def _error(error: float | None) -> str:
    return " (at its bound)" if error is None else f" ± {error:.4f}"


def _lines(law: LawFit) -> list[str]:
    alpha = law.alpha
    failed = sum(alpha.failed.values())
    why = f" ({', '.join(f'{reason}: {count}' for reason, count in sorted(alpha.failed.items()))})" if failed else ""
    ends = "too few could be fitted" if alpha.low is None else f"{alpha.low:.2f} to {alpha.high:.2f}"
    lines = [f"{form}: {_parameters(one)}" for form, one in law.fits.items()]
    lines += [f"alpha of the symmetric law, 95% by bootstrap over models: {ends}"]
    lines += [f"  {alpha.resamples} resamples, seed {alpha.seed}; {failed} could not be fitted{why}"]
    lines += [f"correlation of audio and visual: {law.correlation:.4f}"]
    lines += [f"not fitted: {form}: {reason}" for form, reason in law.not_fitted.items()]
    return lines + [f"note: {note}" for note in law.notes]
