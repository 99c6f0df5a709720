"""Thin a batch of rollouts for on-policy training: drop those alike, keep the spread of rewards within each prompt.

GRPO and its kin learn from how rollouts of one prompt differ in reward. What repeats another rollout adds cost and no
difference; and of all subsets of K rollouts the one whose rewards vary most carries most of it (PODS: Xu, Savani, Fang
and Kolter 2025, "Not All Rollouts are Useful: Down-Sampling Rollouts in LLM Reinforcement Learning").
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from compression.matrix import Codes, Floats
from compression.train_select import STRATA, size_of
from compression.training_files import BadTrainingFile, Field, Given, Layout, Mask, read_given
from compression.training_strata import Kind, bands_of, entry_order, patterns_of, strata_of
from core.content import Frozen
from warehouse.analytics import connected, load_sql

ALIKE = 0.95
_FIELDS = {
    "embedding": "TRY_CAST({column} AS FLOAT[])",
    # Texts are compared by their words: any white space is one space.
    "text": r"md5_number(trim(regexp_replace({column}, '[\s\p{{Z}}]+', ' ', 'g')))",
}
_REPEATS = "SELECT line, prompt, reward, {repeats} AS repeats FROM rollout ORDER BY rollout"
_TWICE = """
SELECT sample_id, source FROM given GROUP BY sample_id, source HAVING count(*) > 1 ORDER BY sample_id, source LIMIT 1
"""
_LACKING = "SELECT count(*), min(line) FROM rollout WHERE {field} IS NULL"
_DIMENSIONS = "SELECT min(len(embedding)), max(len(embedding)) FROM rollout"
_EMBEDDINGS = "SELECT embedding FROM rollout WHERE rollout >= ? AND rollout < ? ORDER BY rollout"
_ROLLOUTS_AT_ONCE = 16_384
# Equal vectors have a cosine of 1 but for the last digits.
_ROUNDING = 1e-9


class Likeness(StrEnum):
    """What makes two rollouts of one prompt with equal rewards alike.

    `embedding`: their cosine; `text`: equal texts but for white space; `reward`: nothing more; `none`: nothing is
    alike; `auto`: embedding or text, the first that the file has, else none, for of rewards of 0 and 1 no more than two
    rollouts of a prompt would be left.
    """

    AUTO = "auto"
    EMBEDDING = "embedding"
    TEXT = "text"
    REWARD = "reward"
    NONE = "none"


@dataclass(frozen=True)
class Thinning:
    """How a batch is thinned, in the order in which it is done.

    Attributes:
        drop_flat: Leave out prompts all of whose rewards are equal.
        prompts: Share of the prompts that are kept, in proportion over strata of their sorted rewards; None: all.
        alike_by: What makes rollouts alike; of those alike the first by id is kept.
        alike: Least cosine of embeddings.
        keep, share: Most rollouts of each prompt, as a number or as a share of its rollouts (at least two): those whose
            rewards have the largest variance. At most one of both; None: all.
        seed: Of the draw of prompts.
        columns: Other names of the columns in the file, by ours.
    """

    drop_flat: bool = False
    prompts: float | None = None
    alike_by: Likeness = Likeness.AUTO
    alike: float = ALIKE
    keep: int | None = None
    share: float | None = None
    seed: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)


class Batch(Frozen):
    """Of rollouts with a reward.

    Attributes:
        prompts, rollouts: How many.
        fewest, most: Rollouts of a prompt.
        flat_prompts: All of whose rewards are equal: they carry no advantage.
        mean_reward: Over rollouts.
        mean_prompt_reward: Over prompts, of the mean of each.
        mean_variance: Over prompts, of the variance of each one's rewards (divided by their number).
    """

    prompts: int
    rollouts: int
    fewest: int
    most: int
    flat_prompts: int
    mean_reward: float
    mean_prompt_reward: float
    mean_variance: float


class RolloutReport(Frozen):
    """What thinning changed.

    Attributes:
        rows: Of the file.
        without_reward: Rows that are left out for that.
        alike_by: What made rollouts alike.
        alike: Least cosine; None where no embeddings were compared.
        dropped_flat, dropped_prompts, dropped_alike, dropped_variance: Rollouts left out since their prompt is flat,
            was not drawn, since they repeat another, and since others of their prompt spread rewards further.
        before, after: The batch.
        random_variance: Expected `mean_variance` if as many rollouts of each kept prompt were drawn at random.
        seed: With which.
        bias: What the kept rollouts are no longer.
    """

    rows: int
    without_reward: int
    alike_by: Likeness
    alike: float | None
    dropped_flat: int
    dropped_prompts: int
    dropped_alike: int
    dropped_variance: int
    before: Batch
    after: Batch
    random_variance: float
    seed: int
    bias: str


BIAS = (
    "kept rollouts are no sample of the policy: they are chosen by what they are, for certain, so that no importance "
    "weights undo it; take advantages within the kept rollouts of a prompt, and no success rates from them"
)
NO_BIAS = "every rollout with a reward is kept"


@dataclass(frozen=True)
class Thinned:
    """Which rows of the file are kept (rows,), in their order there, and what that changed."""

    keep: Mask
    report: RolloutReport


def thin_rollouts(path: Path, thinning: Thinning) -> Thinned:
    """Thin the rollouts of a file: columns prompt_id, rollout_id, reward, and embedding or text if there are any.

    The order of rows does not matter.

    Raises:
        BadTrainingFile: The file cannot be used, the thinning is none, or nothing would be left.
    """
    _check_thinning(thinning)
    with connected() as connection:
        given, rule = _read(connection, path, thinning)
        columns = connection.execute(_REPEATS.format(repeats=_repeats_sql(rule))).fetchnumpy()
        prompt, reward = columns["prompt"].astype(np.int64), np.asarray(columns["reward"], dtype=np.float64)
        repeats = np.asarray(columns["repeats"], dtype=bool)
        if rule is Likeness.EMBEDDING:
            repeats = _like_another(connection, path, prompt, reward, thinning.alike)
    kept, dropped = _thin(prompt, reward, repeats, thinning)
    keep = np.zeros(given.rows, dtype=bool)
    keep[columns["line"][kept]] = True
    report = RolloutReport(
        rows=given.rows,
        without_reward=given.empty,
        alike_by=rule,
        alike=thinning.alike if rule is Likeness.EMBEDDING else None,
        dropped_flat=dropped["flat"],
        dropped_prompts=dropped["prompts"],
        dropped_alike=dropped["alike"],
        dropped_variance=dropped["variance"],
        before=_batch(prompt, reward),
        after=_batch(prompt[kept], reward[kept]),
        random_variance=_random_variance(prompt, reward, kept),
        seed=thinning.seed,
        bias=NO_BIAS if kept.all() else BIAS,
    )
    return Thinned(keep, report)


def _thin(prompt: Codes, reward: Floats, repeats: Mask, thinning: Thinning) -> tuple[Mask, dict[str, int]]:
    """(rollouts,) whether it is kept, and how many are dropped for what."""
    kept = np.ones(len(prompt), dtype=bool)
    dropped = {}
    steps: dict[str, Callable[[], Mask]] = {
        "flat": lambda: ~(_is_flat(prompt, reward)[prompt] & thinning.drop_flat),
        "prompts": lambda: _drawn_prompts(prompt, reward, kept, thinning)[prompt],
        "alike": lambda: ~repeats,
        "variance": lambda: _most_varied(prompt, reward, kept, thinning),
    }
    for name, step in steps.items():
        before = int(kept.sum())
        kept &= step()
        dropped[name] = before - int(kept.sum())
        if not kept.any():
            raise BadTrainingFile("each prompt's rewards are all equal: without flat prompts nothing is left")
    return kept, dropped


def widest(rewards: Floats, keep: int) -> Codes:
    """(prompts,) how many of the lowest rewards belong to the `keep` ones with the largest variance; the rest: highest.

    The variance is convex in each reward. So a chosen one with unchosen ones both below and above it can be exchanged
    for one of these without loss, and a best subset is made of the j lowest and the K - j highest (PODS, Theorem 1). Of
    equal variances that with the mean nearest to that of all is taken, then the smallest j.

    Args:
        rewards: (prompts, rollouts), each row in rising order.
        keep: K, at most the rollouts.
    """
    # Around the mean nothing is lost to cancellation.
    apart = rewards - rewards.mean(axis=1, keepdims=True)
    size = rewards.shape[1]
    sums, squares = (np.pad(np.cumsum(one, axis=1), ((0, 0), (1, 0))) for one in (apart, np.square(apart)))
    low = np.arange(keep + 1)
    means, second = (one[:, low] + one[:, [size]] - one[:, size - keep + low] for one in (sums, squares))
    means, second = means / keep, second / keep
    variances = second - np.square(means)
    equal = variances >= variances.max(axis=1, keepdims=True) - 1e-12 * np.square(apart).max(axis=1, keepdims=True)
    off = np.where(equal, np.abs(means), np.inf)
    nearest = off <= off.min(axis=1, keepdims=True) + 1e-12 * np.abs(apart).max(axis=1, keepdims=True)
    return nearest.argmax(axis=1)


def _check_thinning(thinning: Thinning) -> None:
    if thinning.keep is not None and thinning.share is not None:
        raise BadTrainingFile("say how many rollouts of a prompt to keep as a number (--keep) or a share, not both")
    if thinning.keep is not None and thinning.keep < 2:
        raise BadTrainingFile("a prompt with one rollout carries no advantage; keep 2 or more")
    for name, share in (("share", thinning.share), ("prompts", thinning.prompts)):
        if share is not None and not 0 < share <= 1:
            raise BadTrainingFile(f"--{name} {share:g} is no share in (0, 1]; 0.5 keeps a half")
    if not -1 <= thinning.alike <= 1:
        raise BadTrainingFile(f"--alike {thinning.alike:g} is no cosine; give one in [-1, 1], such as {ALIKE}")


def _read(connection: duckdb.DuckDBPyConnection, path: Path, thinning: Thinning) -> tuple[Given, Likeness]:
    names = {name: thinning.columns.get(name, name) for name in ("prompt_id", "rollout_id", "reward", *_FIELDS)}
    fields = {name: Field(names[name], sql) for name, sql in _FIELDS.items()}
    layout = Layout(names["prompt_id"], names["rollout_id"], names["reward"], source_needed=True, fields=fields)
    given = read_given(connection, path, layout)
    twice = connection.execute(_TWICE).fetchone()
    if twice is not None:
        raise BadTrainingFile(f"{path}: prompt {twice[0]!r} has several rollouts {twice[1]!r}; name each one otherwise")
    rule = thinning.alike_by
    if rule is Likeness.AUTO:
        rule = next((one for one in (Likeness.EMBEDDING, Likeness.TEXT) if one in given.fields), Likeness.NONE)
    needed = [rule.value] if rule in {Likeness.EMBEDDING, Likeness.TEXT} else []
    if set(needed) - given.fields:
        raise BadTrainingFile(f"{path} has no column {names[rule.value]!r}, and --alike-by {rule.value} needs it")
    more = "".join(f", {name}" for name in needed)
    connection.execute(load_sql("compression.sql", "training_rollouts.sql").format(fields=more))
    for name in needed:
        count, line = connection.execute(_LACKING.format(field=name)).fetchone() or (0, 0)
        if count:
            raise BadTrainingFile(
                f"{path}: {count} rollouts have no {names[name]} that can be read, first row {line + 1}; fill them, or "
                "choose another --alike-by"
            )
    if rule is Likeness.EMBEDDING:
        least, most = connection.execute(_DIMENSIONS).fetchone() or (0, 0)
        if least != most or not most:
            raise BadTrainingFile(f"{path}: embeddings have {least} to {most} numbers; make them with one embedder")
    return given, rule


def _repeats_sql(rule: Likeness) -> str:
    same = {Likeness.TEXT: "prompt, reward, text", Likeness.REWARD: "prompt, reward"}.get(rule)
    return f"row_number() OVER (PARTITION BY {same} ORDER BY rollout) > 1" if same else "false"


def _like_another(
    connection: duckdb.DuckDBPyConnection, path: Path, prompt: Codes, reward: Floats, alike: float
) -> Mask:
    """(rollouts,) whether a kept rollout before it, of its prompt and with its reward, has nearly its direction."""
    repeats = np.zeros(len(prompt), dtype=bool)
    starts = np.flatnonzero(np.r_[True, (np.diff(prompt) != 0) | (np.diff(reward) != 0)])
    ends = np.r_[starts[1:], len(prompt)]
    for first, last in _portions(ends):
        begin, end = int(starts[first]), int(ends[last - 1])
        directions = _directions(connection, path, begin, end)
        sizes = ends[first:last] - starts[first:last]
        for size in np.unique(sizes[sizes > 1]):
            places = starts[first:last][sizes == size][:, None] + np.arange(size)
            vectors = directions[places - begin]
            cosines = vectors @ vectors.transpose(0, 2, 1)
            for place in range(1, size):
                like = (cosines[:, place, :place] >= alike - _ROUNDING) & ~repeats[places[:, :place]]
                repeats[places[:, place]] = like.any(axis=1)
    return repeats


def _portions(ends: Codes) -> Iterator[tuple[int, int]]:
    """Ranges of groups of about so many rollouts as are looked at once."""
    first = 0
    while first < len(ends):
        begin = 0 if first == 0 else ends[first - 1]
        last = max(first + 1, int(np.searchsorted(ends, begin + _ROLLOUTS_AT_ONCE, side="right")))
        yield first, last
        first = last


def _directions(connection: duckdb.DuckDBPyConnection, path: Path, begin: int, end: int) -> NDArray[np.float64]:
    """(rollouts, dimensions) embeddings of a range of rollouts, of length 1."""
    found: pa.Table = connection.sql(_EMBEDDINGS, params=[begin, end]).to_arrow_table()
    vectors = found["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = vectors.astype(np.float64).reshape(end - begin, -1)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise BadTrainingFile(f"{path}: an embedding has no direction, since it is all 0 or not finite; mend it")
    return np.asarray(vectors / norms)


def _is_flat(prompt: Codes, reward: Floats) -> Mask:
    """(prompts,) whether all rewards are equal; rollouts are sorted by prompt and reward."""
    starts = np.flatnonzero(np.r_[True, np.diff(prompt) != 0])
    return np.asarray(reward[starts] == reward[np.r_[starts[1:], len(prompt)] - 1])


def _drawn_prompts(prompt: Codes, reward: Floats, kept: Mask, thinning: Thinning) -> Mask:
    """(prompts,) whether it is kept when prompts are thinned in proportion over strata of their sorted rewards."""
    wanted: Mask = np.zeros(prompt[-1] + 1, dtype=bool)
    there = np.unique(prompt[kept])
    if thinning.prompts is None:
        wanted[there] = True
        return wanted
    from scipy.stats import rankdata

    counts = np.bincount(prompt)
    places = np.arange(len(prompt)) - np.repeat(np.cumsum(counts) - counts, counts)
    values = np.full((len(counts), counts.max()), np.nan)
    values[prompt, places] = (rankdata(reward) - 0.5) / len(reward)
    patterns = patterns_of(values, Kind.REWARD).of(there)
    strata = strata_of(patterns, STRATA, thinning.seed)
    order = entry_order(strata, bands_of(patterns.difficulty), np.zeros(3), np.random.default_rng(thinning.seed))
    wanted[there[order[: size_of(thinning.prompts, None, len(there))]]] = True
    return wanted


def _most_varied(prompt: Codes, reward: Floats, kept: Mask, thinning: Thinning) -> Mask:
    """(rollouts,) whether it is among those of its prompt whose rewards vary most; only of those kept so far."""
    if thinning.keep is None and thinning.share is None:
        return kept
    counts = np.bincount(prompt)
    most = np.full(len(counts), thinning.keep)
    if thinning.share is not None:
        most = np.maximum(np.floor(thinning.share * counts + 0.5).astype(np.int64), 2)
    left = np.bincount(prompt[kept], minlength=len(counts))
    most = np.minimum(most, left)
    rollouts = np.flatnonzero(kept)
    starts = np.cumsum(left) - left
    chosen = np.zeros(len(prompt), dtype=bool)
    for size, keep in np.unique(np.column_stack([left, most])[left > 0], axis=0):
        these = np.flatnonzero((left == size) & (most == keep))
        places = rollouts[starts[these][:, None] + np.arange(size)]
        lowest = widest(reward[places], int(keep))[:, None]
        column = np.arange(size)
        chosen[places[(column < lowest) | (column >= size - keep + lowest)]] = True
    return chosen


def _variances(prompt: Codes, reward: Floats) -> tuple[Codes, Floats, Floats]:
    """Rollouts, mean and variance of rewards by prompt; rows are prompts that have any."""
    codes = np.unique(prompt, return_inverse=True)[1]
    counts = np.bincount(codes)
    means = np.bincount(codes, reward) / counts
    return counts, means, np.bincount(codes, np.square(reward - means[codes])) / counts


def _batch(prompt: Codes, reward: Floats) -> Batch:
    counts, means, variances = _variances(prompt, reward)
    return Batch(
        prompts=len(counts),
        rollouts=len(prompt),
        fewest=int(counts.min()),
        most=int(counts.max()),
        flat_prompts=int(_is_flat(prompt, reward).sum()),
        mean_reward=float(reward.mean()),
        mean_prompt_reward=float(means.mean()),
        mean_variance=float(variances.mean()),
    )


def _random_variance(prompt: Codes, reward: Floats, kept: Mask) -> float:
    """Mean over kept prompts of E(variance of k rewards drawn of m without replacement): S^2 (k - 1) / k."""
    counts, _, variances = _variances(prompt, reward)
    drawn = np.bincount(prompt[kept], minlength=len(counts))
    unbiased = variances * counts / np.maximum(counts - 1, 1)
    there = drawn > 0
    return float((unbiased[there] * (drawn[there] - 1) / drawn[there]).mean())
