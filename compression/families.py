"""Which models belong together, so that none of a family is a source while another is held out."""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from compression.importers.base import BadPool
from compression.matrix import Codes, Floats, ScoreMatrix
from core.errors import UnknownName

# Checkpoints and prompt variants of one model lie above it, and hardly any two models of different makers: seen on
# public matrices of 15 to 206 models.
ALIKE = 0.4


def families_of(matrix: ScoreMatrix, told: Mapping[str, str] | None = None) -> Codes:
    """(models,) number of each model's family, by the first of: what is `told`, the pool's own column, its scores.

    By scores, near-duplicates are one family: groups of models any two of which have residuals, scores less the
    question's and the model's mean, that correlate by at least 0.4.

    Raises:
        UnknownName: Something is told of a model that is not in the pool.
    """
    for model in told or {}:
        if model not in (*matrix.models, *matrix.missing.dropped_models):
            raise UnknownName("model of the pool", model, matrix.models)
    names = [(told or {}).get(model, family) for model, family in zip(matrix.models, matrix.families, strict=True)]
    if any(name is not None for name in names):
        # Whoever has no family is one of its own.
        labels = [name if name is not None else f"\0{model}" for name, model in zip(names, matrix.models, strict=True)]
        return np.unique(np.array(labels, dtype=object), return_inverse=True)[1].astype(np.int64)
    return near_duplicates(matrix)


def near_duplicates(matrix: ScoreMatrix) -> Codes:
    """(models,) number of each model's group of near-duplicates (see `families_of`)."""
    if len(matrix.models) == 1:
        return np.zeros(1, dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    apart = np.clip(1 - residual_correlations(matrix), 0, 2)
    # Complete linkage: a chain of models, each a little like the next, is no family.
    tree = linkage(squareform(apart, checks=False), method="complete")
    return (fcluster(tree, 1 - ALIKE, criterion="distance") - 1).astype(np.int64)


def residual_correlations(matrix: ScoreMatrix) -> Floats:
    """(models, models) correlations of what is left of scores without the question's and the model's mean.

    0 where a model has no residual at all. Two models are each other's mirror by construction, and say nothing.
    """
    scores = matrix.scores.astype(np.float64)
    left = scores - scores.mean(axis=0)
    left -= left.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(left, axis=0)
    left /= np.where(norms > 1e-9, norms, np.inf)
    return left.T @ left


def told_families(matrix: ScoreMatrix, families: Codes) -> tuple[tuple[str, ...], ...]:
    """Names of the models of each family of two or more."""
    groups = [np.flatnonzero(families == family) for family in np.unique(families)]
    return tuple(tuple(matrix.models[place] for place in group) for group in groups if len(group) > 1)


def read_families(file: Path) -> dict[str, str]:
    """Families by model, from a CSV file with columns model and family; models with an empty family are left out.

    Raises:
        BadPool: It cannot be read so, or names two families of one model.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
        told = {(row["model"].strip(), row["family"].strip()) for row in rows if row["family"].strip()}
    except (KeyError, AttributeError) as error:
        raise BadPool(f"{file} is no CSV file with columns model and family; write both in each row") from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadPool(f"{file} is no CSV file with columns model and family ({error})") from error
    families = dict(sorted(told))
    if len(families) < len(told):
        twice = next(model for model, family in sorted(told) if families[model] != family)
        raise BadPool(f"{file} names several families of {twice}; keep one")
    return families
