"""`compress estimate`: what a subset says of models that answered its questions alone."""

from dataclasses import dataclass

import numpy as np

from compression.importers.base import BadPool
from compression.matrix import ScoreMatrix
from compression.subset import Manifest, ModelEstimate, SubsetSample, estimate


@dataclass(frozen=True)
class Estimates:
    """Estimates, and models that have none.

    Attributes:
        models: Those that answered every question of the subset.
        incomplete: Others, with how many of its questions they have no score for.
        beside: Questions of the scores that are not in the subset: they are not used.
    """

    models: tuple[ModelEstimate, ...]
    incomplete: tuple[tuple[str, int], ...]
    beside: int


def estimate_models(manifest: Manifest, sample: SubsetSample, scores: ScoreMatrix) -> Estimates:
    """Estimates for all models of some scores; gaps (NaN) are never filled.

    Raises:
        BadPool: The scores hold none of the subset's questions.
    """
    names = [scores.benchmarks[code] for code in scores.benchmark_of]
    place_of = {key: place for place, key in enumerate(zip(names, scores.question_ids.tolist(), strict=True))}
    wanted = sample.questions(manifest)
    places = [place_of.get(key, -1) for key in wanted]
    if max(places) < 0:
        benchmark, question = wanted[0]
        raise BadPool(
            f"{scores.pool} has no score for any question of {manifest.name!r}; one of them is {question!r} of "
            f"{benchmark!r}; write both as they are there"
        )
    # A question that nobody answered lies beyond the last row.
    padded = np.vstack([scores.scores.astype(np.float64), np.full((1, len(scores.models)), np.nan)])
    answers = padded[places]
    gaps = np.isnan(answers).sum(axis=0)
    complete = np.flatnonzero(gaps == 0)
    models = [scores.models[place] for place in complete]
    found = estimate(manifest, sample, models, answers[:, complete]) if models else ()
    incomplete = tuple((scores.models[place], int(gaps[place])) for place in np.flatnonzero(gaps))
    return Estimates(found, incomplete, len(scores) - sum(place >= 0 for place in places))
