"""Fits of the compositional law to models' scores, what they are worth, and what they predict."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from core.content import Frozen
from core.errors import InterplayError
from evaluation.law.forms import FORMS, FREE, SYMMETRIC, Array, Form
from evaluation.law.points import SCORES, DuplicateModel, LawPoint

CONFIDENCE = 0.95
RESAMPLES = 1_000
CLOSE_CORRELATION = 0.9
_POLISHED_STARTS = 3
_TOLERANCE = 1e-14
_AT_BOUND = 1e-6
FARTHEST = 60.0


class TooFewModels(InterplayError):
    """Fewer models than a form's parameters need."""


class ConstantColumn(InterplayError):
    """A score that is the same for every model."""


class NoFit(InterplayError):
    """A form that these models do not determine."""


class FormFit(Frozen):
    """One form, fitted.

    Attributes:
        form, formula: Its name and how it reads.
        parameters: By name.
        errors: Standard errors by name, from the Jacobian; None where a parameter lies at its bound.
        r2, adjusted_r2: Share of the variance explained; adjusted by (n - 1) / (n - k) for n models, k parameters.
        rmse, rmse_dof: Root of the squared error over n, and over n - k; in shares.
        aicc: n ln(SSE / n) + 2 K + 2 K (K + 1) / (n - K - 1) with K = k + 1; None where n is too small for it.
        q2: 1 - sum of squared errors on the model left out / sum of squares about the mean; None where a fit failed.
        covariance: Of the parameters in their order; zero for a parameter at its bound.
        note: What a reader must know of this fit.
    """

    form: str
    formula: str
    parameters: Mapping[str, float]
    errors: Mapping[str, float | None]
    r2: float
    adjusted_r2: float
    rmse: float
    rmse_dof: float
    aicc: float | None
    q2: float | None
    covariance: tuple[tuple[float, ...], ...]
    note: str = ""


class AlphaInterval(Frozen):
    """Bootstrap interval of the symmetric law's alpha over models drawn with replacement.

    `low` and `high` are None where fewer than half of the resamples could be fitted. `failed` counts by reason.
    """

    low: float | None
    high: float | None
    resamples: int
    failed: Mapping[str, int]
    seed: int


class LawFit(Frozen):
    """The law fitted to models: every form, or why it could not be fitted.

    `correlation` is Pearson's of audio and visual shares.
    """

    points: tuple[LawPoint, ...]
    fits: Mapping[str, FormFit]
    not_fitted: Mapping[str, str]
    alpha: AlphaInterval
    correlation: float
    notes: tuple[str, ...]


class Prediction(Frozen):
    """What a form predicts for a new model, with the 95% interval for one new model; shares.

    `within` says whether P_A P_V lies among those of the fitted models.
    """

    form: str
    audio: float
    visual: float
    omni: float
    low: float
    high: float
    within: bool


def fit_law(points: Sequence[LawPoint], *, resamples: int = RESAMPLES, seed: int = 0) -> LawFit:
    """Fit every form to the models; the same models in any order give the same numbers.

    Raises:
        TooFewModels, ConstantColumn, DuplicateModel: The symmetric law cannot be fitted to these models.
        NoFit: The symmetric law has no least-squares fit here.
    """
    points = check_points(points)
    fits, not_fitted = {SYMMETRIC.name: fit_form(SYMMETRIC, points)}, {}
    for form in FORMS[1:]:
        try:
            fits[form.name] = fit_form(form, points)
        except (TooFewModels, NoFit) as error:
            not_fitted[form.name] = str(error)
    audio, visual, _ = _columns(points)
    correlation = float(np.corrcoef(audio, visual)[0, 1])
    return LawFit(
        points=points,
        fits=fits,
        not_fitted=not_fitted,
        alpha=_alpha_interval(points, resamples, seed),
        correlation=correlation,
        notes=tuple(_notes(points, fits[SYMMETRIC.name], correlation)),
    )


def check_points(points: Sequence[LawPoint]) -> tuple[LawPoint, ...]:
    """The points in the order of their names.

    Raises:
        TooFewModels, ConstantColumn, DuplicateModel: The law cannot be fitted to them.
    """
    ordered = tuple(sorted(points, key=lambda point: point.model))
    for one, other in itertools.pairwise(ordered):
        if one.model == other.model:
            raise DuplicateModel(f"the model {one.model!r} stands twice; keep one of its scores")
    _check_count(SYMMETRIC, len(ordered))
    columns = dict(zip((*SCORES,), _columns(ordered), strict=True))
    columns["audio times visual"] = columns["audio"] * columns["visual"]
    for name, values in columns.items():
        if np.ptp(values) < 1e-12:
            raise ConstantColumn(f"{name} is {values[0]:g} for every model; a law needs models that differ in it")
    return ordered


def fit_form(form: Form, points: Sequence[LawPoint]) -> FormFit:
    """Fit one form by least squares from many starts.

    Raises:
        TooFewModels: Not more models than parameters.
        NoFit: These models do not determine its parameters.
    """
    points = sorted(points, key=lambda point: point.model)
    audio, visual, omni = _columns(points)
    count, size = len(points), len(form.parameters)
    found = _solve(form, audio, visual, omni)
    residuals = omni - form.predict(found, audio, visual)
    squares, total = float(residuals @ residuals), float(((omni - omni.mean()) ** 2).sum())
    free = _free(form, found)
    inverse = np.linalg.pinv(_gradient(form, found, audio, visual)[:, free])
    covariance = np.zeros((size, size))
    covariance[np.ix_(free, free)] = inverse @ inverse.T * squares / (count - size)
    parameters = dict(zip(form.parameters, map(float, found), strict=True))
    errors = {name: float(np.sqrt(covariance[at, at])) if free[at] else None for at, name in enumerate(form.parameters)}
    if "w_audio" in form.shape:
        parameters["w_visual"], errors["w_visual"] = 1 - parameters["w_audio"], errors["w_audio"]
    return FormFit(
        form=form.name,
        formula=form.formula,
        parameters=parameters,
        errors=errors,
        r2=1 - squares / total,
        adjusted_r2=1 - squares / total * (count - 1) / (count - size),
        rmse=float(np.sqrt(squares / count)),
        rmse_dof=float(np.sqrt(squares / (count - size))),
        aicc=_aicc(squares, count, size + 1),
        q2=_q2(form, audio, visual, omni),
        covariance=tuple(map(tuple, covariance.tolist())),
        note="" if free.all() else "at its bound: " + ", ".join(np.array(form.parameters)[~free]),
    )


def predict(fit: FormFit, form: Form, points: Sequence[LawPoint], audio: float, visual: float) -> Prediction:
    """What a fit says of a new model with these shares.

    The interval is f ± t sqrt(s^2 + g' V g): g the gradient by the parameters, V their covariance, s^2 = SSE / (n - k),
    t Student's with n - k degrees of freedom (Seber and Wild 1989, section 5.1).

    Raises:
        NoFit: The fitted form has no value there.
    """
    from scipy import stats

    size = len(form.parameters)
    value, variance = curve(fit, form, np.array([audio]), np.array([visual]))
    if not np.isfinite([value[0], variance[0]]).all():
        raise NoFit(
            f"the {form.name} law has no value at audio {audio:g} and visual {visual:g}: a score of 0 allows no "
            "negative exponent; use another form"
        )
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, len(points) - size) * np.sqrt(variance[0] + fit.rmse_dof**2)
    products = [point.audio * point.visual for point in points]
    return Prediction(
        form=form.name,
        audio=audio,
        visual=visual,
        omni=float(value[0]),
        low=float(value[0] - reach),
        high=float(value[0] + reach),
        within=min(products) <= audio * visual <= max(products),
    )


def curve(fit: FormFit, form: Form, audio: Array, visual: Array) -> tuple[Array, Array]:
    """The fitted shares [n] and their variances [n] from the parameters' covariance."""
    found = np.array([fit.parameters[name] for name in form.parameters])
    gradient = _gradient(form, found, audio, visual)
    return form.predict(found, audio, visual), np.einsum("ni,ij,nj->n", gradient, np.array(fit.covariance), gradient)


def _columns(points: Sequence[LawPoint]) -> tuple[Array, Array, Array]:
    audio, visual, omni = np.array([(point.audio, point.visual, point.omni) for point in points]).T
    return audio, visual, omni


def _check_count(form: Form, count: int) -> None:
    needed = len(form.parameters) + 1
    if count < needed:
        raise TooFewModels(f"{count} models for the {form.name} law, which needs at least {needed}; add models")


def _solve(form: Form, audio: Array, visual: Array, omni: Array, starts: int = _POLISHED_STARTS) -> Array:
    """Parameters [k] at the least squares, from the best starts of the form's grid."""
    from scipy.optimize import least_squares

    _check_count(form, len(np.unique(np.stack([audio, visual], axis=1), axis=0)))
    bounded = any(bound != FREE for bound in form.bounds)
    bounds = [FREE] * len(form.coefficients) + list(form.bounds)
    best = None
    for start in _starts(form, audio, visual, omni)[:starts]:
        found = least_squares(
            lambda values: form.predict(values, audio, visual) - omni,
            start,
            jac="3-point" if bounded else "2-point",
            method="trf" if bounded else "lm",
            bounds=tuple(zip(*bounds, strict=True)),
            x_scale="jac",
            xtol=_TOLERANCE,
            ftol=_TOLERANCE,
            gtol=_TOLERANCE,
            max_nfev=2_000,
        )
        if np.isfinite(found.cost) and (best is None or found.cost < best.cost):
            best = found
    if best is None:
        raise NoFit(f"the {form.name} law is undefined for these models; scores of 0 allow no negative exponent")
    for name, value in zip(form.shape, best.x[len(form.coefficients) :], strict=True):
        if abs(value) > FARTHEST:
            raise NoFit(f"the {form.name} law has no least squares here: {name} runs beyond {FARTHEST:g}")
    found = np.array(best.x)
    for at, bound in enumerate(bounds):
        for end in bound:
            if abs(found[at] - end) < _AT_BOUND:
                found[at] = end
    _check_rank(form, found, audio, visual)
    return found


def _check_rank(form: Form, found: Array, audio: Array, visual: Array) -> None:
    free = _free(form, found)
    jacobian = _gradient(form, found, audio, visual)[:, free]
    lengths = np.linalg.norm(jacobian, axis=0)
    if not lengths.all() or np.linalg.matrix_rank(jacobian / lengths, tol=1e-7) < free.sum():
        raise NoFit(f"these models do not determine the parameters of the {form.name} law; add models that differ more")


def _gradient(form: Form, found: Array, audio: Array, visual: Array) -> Array:
    """Derivatives [n, k] of the predicted shares by the parameters, from central differences."""
    steps = np.diag(1e-6 * np.maximum(1e-3, np.abs(found)))
    with np.errstate(invalid="ignore"):
        slopes = [
            (form.predict(found + step, audio, visual) - form.predict(found - step, audio, visual)) / (2 * step.sum())
            for step in steps
        ]
    return np.stack(slopes, axis=-1)


def _free(form: Form, found: Array) -> Array:
    """Which parameters lie inside their bounds."""
    shape = found[len(form.coefficients) :]
    inside = [low < value < high for value, (low, high) in zip(shape, form.bounds, strict=True)]
    return np.array([True] * len(form.coefficients) + inside)


def _starts(form: Form, audio: Array, visual: Array, omni: Array) -> list[Array]:
    """Parameters to begin from, the nearest first: each shape of the grid with the coefficients that fit it best."""
    shapes = np.array(list(itertools.product(*form.starts)), dtype=float)
    with np.errstate(all="ignore"):
        columns = np.stack([form.columns(shape, audio, visual) for shape in shapes])
    defined = np.isfinite(columns).all(axis=(1, 2))
    shapes, columns = shapes[defined], columns[defined]
    coefficients = np.linalg.pinv(columns) @ omni
    squares = ((np.einsum("snk,sk->sn", columns, coefficients) - omni) ** 2).sum(axis=1)
    return [np.concatenate([coefficients[at], shapes[at]]) for at in np.argsort(squares, kind="stable")]


def _aicc(squares: float, count: int, parameters: int) -> float | None:
    """Akaike's criterion corrected for small samples (Hurvich and Tsai 1989); `parameters` counts the variance."""
    if count <= parameters + 1 or squares <= 0:
        return None
    correction = 2 * parameters * (parameters + 1) / (count - parameters - 1)
    return float(count * np.log(squares / count) + 2 * parameters + correction)


def _q2(form: Form, audio: Array, visual: Array, omni: Array) -> float | None:
    missed = []
    for left_out in range(len(omni)):
        kept = np.arange(len(omni)) != left_out
        try:
            found = _solve(form, audio[kept], visual[kept], omni[kept])
        except (TooFewModels, NoFit):
            return None
        missed.append(omni[left_out] - form.predict(found, audio[[left_out]], visual[[left_out]])[0])
    return float(1 - np.square(missed).sum() / ((omni - omni.mean()) ** 2).sum())


def _alpha_interval(points: Sequence[LawPoint], resamples: int, seed: int) -> AlphaInterval:
    columns = np.stack(_columns(points))
    alphas: list[float] = []
    failed: dict[str, int] = {}
    for drawn in np.random.default_rng(seed).integers(len(points), size=(resamples, len(points))):
        try:
            audio, visual, omni = columns[:, drawn]
            found = _solve(SYMMETRIC, audio, visual, omni, starts=1)
            alphas.append(float(found[-1]))
        except TooFewModels:
            failed["too few different models"] = failed.get("too few different models", 0) + 1
        except NoFit:
            failed["no least squares"] = failed.get("no least squares", 0) + 1
    tail = 100 * (1 - CONFIDENCE) / 2
    enough = len(alphas) * 2 >= resamples > 0
    low, high = np.percentile(alphas, [tail, 100 - tail]).tolist() if enough else (None, None)
    return AlphaInterval(low=low, high=high, resamples=resamples, failed=failed, seed=seed)


def _notes(points: Sequence[LawPoint], fit: FormFit, correlation: float) -> list[str]:
    notes = []
    if abs(correlation) > CLOSE_CORRELATION:
        notes.append(
            f"audio and visual go together (r = {correlation:.2f}): what each adds can hardly be told apart, so look "
            "at the standard errors before reading separate weights or exponents"
        )
    widths = {
        name: [(high - low) / 2 for point in points for low, high in [point.intervals[name]]]
        for name in SCORES
        if all(name in point.intervals for point in points)
    }
    if widths:
        told = ", ".join(f"{name} ± {np.mean(half):.3f}" for name, half in widths.items())
        notes.append(
            f"the scores are measured, not exact (mean half width of their 95% intervals: {told}; RMSE of the law "
            f"{fit.rmse:.3f}): the fit takes audio and visual as exact, so errors in them flatten the law, and the "
            "standard errors and intervals above do not hold them"
        )
    return notes
