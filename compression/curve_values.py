"""What a cost-benefit curve holds: margins by size for each sampler, repeats, knees, and sizes for margins."""

from compression.cost_line import Line
from compression.splits import OnSplits
from core.content import Frozen


class CurvePoint(Frozen):
    """One size of one sampler; margins are half the width of 95% intervals of held-out models' means.

    Attributes:
        size: Questions.
        rate: Their share of the pool.
        margin: In closed form, mean over held-out models and splits.
        margin_sd: Standard deviation over splits of the mean over their models; None for one split.
        low: Below it are the margins of 10% of the held-out models of all splits.
        high: Above it as many.
        design_rmse: Root mean squared error in closed form.
        gain: What the margin becomes smaller by with 1% more of the pool.
        random_size: Questions that `random` needs for the same margin.
    """

    size: int
    rate: float
    margin: float
    margin_sd: float | None
    low: float
    high: float
    design_rmse: float
    gain: float
    random_size: int


class Repeated(Frozen):
    """What repeated draws of one size gave, to stand beside the closed form; None: fewer than two draws in a stratum.

    Attributes:
        size: Questions.
        draws: Splits times repeats.
        margin: Mean over draws and held-out models.
        low, high: 10% of the margins are below, as many above.
        rmse: Root mean squared error.
        coverage: Share of intervals that hold the truth.
    """

    size: int
    draws: int
    margin: float | None
    low: float | None
    high: float | None
    rmse: float
    coverage: float | None


class Needed(Frozen):
    """The size that a margin needs, or that of the knee.

    Attributes:
        asked: The margin that was asked for; None for the knee.
        size: Questions: with one less the margin is greater. Planned, not only read between two points of the curve.
        rate: Their share of the pool.
        margin: In closed form, at this size.
        random_size: Questions that `random` needs for the same.
    """

    asked: float | None
    size: int
    rate: float
    margin: float
    random_size: int


class SamplerCurve(Frozen):
    """The curve of one sampler; `knee` is None where the margin falls along a straight line or is 0 throughout."""

    sampler: str
    points: tuple[CurvePoint, ...]
    repeated: tuple[Repeated, ...]
    knee: Needed | None
    needed: tuple[Needed, ...]


class Curve(OnSplits):
    """The whole result.

    Attributes:
        chosen: The sampler that the gain and the knee are told of: the default if it is among them, else the last.
        one_percent: Questions in 1% of the pool, at least one.
        answer_cost_usd: What one answer of one model costs, if that was told.
    """

    chosen: str
    one_percent: int
    answer_cost_usd: float | None
    samplers: tuple[SamplerCurve, ...]

    def of(self, sampler: str) -> SamplerCurve:
        """The curve of that sampler."""
        return next(one for one in self.samplers if one.sampler == sampler)

    def line(self, sampler: str) -> Line:
        """The sampler's margin at any size, and the size for any margin, between the points."""
        return Line(self.questions, {point.size: point.margin for point in self.of(sampler).points})

    def cost_usd(self, questions: int) -> float | None:
        """What the answers of all the pool's models to so many questions cost, in US dollars; None if nobody told."""
        return None if self.answer_cost_usd is None else questions * self.models * self.answer_cost_usd
