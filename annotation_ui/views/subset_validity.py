"""How well subsets of a size predict models that were left out, in words and a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation_ui.pools.kept import KeptValidity
from annotation_ui.views.pool_curve import points, sampler_words
from annotation_ui.words import N_, Words
from compression.subset import Manifest
from compression.validate import BASELINES, RANDOM, STANDARD, SamplerValidity, Validation
from warehouse.spreadsheets import Cell

# What can be measured beside random; of the item response theory no subset can be chosen.
MEASURED = tuple(name for name in (*STANDARD, *BASELINES) if name != RANDOM)
_IRT = "irt"
_IRT_WORDS = N_("Item response theory: as it predicts; no subset can be chosen with it")


@dataclass(frozen=True)
class ValidityRow:
    """What was measured of one sampler; `is_chosen` marks the subset's own."""

    sampler: str
    rank: str
    rank_spread: str
    pairs: str
    line: str
    error: str
    error_closed: str
    beside: str
    margin: str
    coverage: str
    forward: str
    is_chosen: bool


def measured_words(t: Words, name: str) -> str:
    """What a sampler does."""
    return t(_IRT_WORDS) if name == _IRT else sampler_words(t, name)


def own_sampler(manifest: Manifest) -> str:
    """The sampler that a subset was chosen with, without its version."""
    return manifest.sampler.partition("@")[0]


def validity_words(kept: KeptValidity, t: Words) -> str:
    """How it was measured, by whom and when."""
    found = kept.validation
    fewest, most = min(found.held_out), max(found.held_out)
    return t(
        "Subsets of {size} of {questions} questions, made of the scores of some of {models} models, to predict the "
        "other {held_out}: {splits} splits, {repeats} draws in each. Worked out by {name}, {when}.",
        size=t.number(found.size), questions=t.number(found.questions), models=t.number(found.models),
        held_out=t.number(most) if fewest == most else f"{t.number(fewest)}–{t.number(most)}",
        splits=t.number(found.splits), repeats=t.number(found.repeats), name=kept.by, when=t.moment(kept.at),
    )  # fmt: skip


def is_of_other_scores(kept: KeptValidity, manifest: Manifest) -> bool:
    """Whether the pool has other questions or models now than when the subset was chosen."""
    return (kept.validation.questions, kept.validation.models) != (manifest.questions, len(manifest.sources))


def validity_rows(found: Validation, own: str, t: Words) -> list[ValidityRow]:
    """A row for each sampler, random first."""
    beside = next(one.rmse for one in found.samplers if one.sampler == RANDOM)
    forward = {one.sampler: one for one in found.weak_to_strong}
    return [
        ValidityRow(
            sampler=one.sampler,
            rank=_number(one.srcc),
            rank_spread="" if one.srcc_sd is None else f"± {one.srcc_sd:.3f}",
            pairs=_share(one.sign_agreement, t),
            line=_number(one.plcc),
            error=points(one.rmse),
            error_closed="" if one.design_rmse is None else t("exactly {points}", points=points(one.design_rmse)),
            beside=t("{share} of random's", share=t.percent(one.rmse / beside)) if beside else "",
            margin="–" if one.moe is None else f"± {points(one.moe)}",
            coverage="" if one.cic is None else t("{share} hold", share=t.percent(one.cic)),
            forward=_signed(forward[one.sampler].bias, forward[one.sampler].bias_error),
            is_chosen=one.sampler == own,
        )
        for one in found.samplers
    ]


def undefined(found: Validation, t: Words) -> list[str]:
    """What has no value, and why, sampler by sampler."""
    return [note for one in found.samplers for note in _undefined(one, t)]


def validity_columns(t: Words) -> list[str]:
    """Heads of the table that can be saved."""
    return [
        t("Sampler"), t("Rank correlation"), t("Its spread over splits"), t("Pairs in order"), t("Linear correlation"),
        t("Root mean square error"), t("Error in closed form"), t("Margin of error"), t("Intervals that hold"),
        t("Mean error"), t("Mean error on the strongest"), t("Its standard error"),
    ]  # fmt: skip


def validity_cells(found: Validation) -> Iterable[Sequence[Cell]]:
    """All that was measured, a row for each sampler; errors and margins in [0, 1], as the command tells them."""
    forward = {one.sampler: one for one in found.weak_to_strong}
    for one in found.samplers:
        strongest = forward[one.sampler]
        yield [
            one.sampler, one.srcc, one.srcc_sd, one.sign_agreement, one.plcc, one.rmse, one.design_rmse, one.moe,
            one.cic, one.bias, strongest.bias, strongest.bias_error,
        ]  # fmt: skip


def _undefined(one: SamplerValidity, t: Words) -> Iterable[str]:
    if len(one.notes) > (one.moe is None):
        yield t(
            "{sampler}: draws in which no correlation is defined are left out; there one model is predicted, or all "
            "have one mean.",
            sampler=one.sampler,
        )  # fmt: skip
    if one.moe is None and one.has_interval:
        yield t("{sampler}: no margin, for there are too few draws for two in each stratum.", sampler=one.sampler)
    elif one.moe is None:
        yield t("{sampler}: no margin, for this sampler has no valid interval.", sampler=one.sampler)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share(value: float | None, t: Words) -> str:
    return "–" if value is None else t.percent(value)


def _signed(value: float, error: float | None) -> str:
    return f"{100 * value:+.2f}" + ("" if error is None else f" ± {points(error)}")
