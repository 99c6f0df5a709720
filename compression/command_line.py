"""What several commands of this package share: options, and words about splits."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from compression.matrix import MissingRule

PoolArgument = Annotated[str, typer.Argument(help="A file of scores, or a pool of the project.")]
# K-means takes seeds of 32 bits, and each split of a validation has the next.
SeedOption = Annotated[int, typer.Option("--seed", min=0, max=2**31, help="Of strata, draws, and splits if any.")]
MissingOption = Annotated[
    MissingRule, typer.Option("--missing", help="What to do where a model has no score for a question.")
]
FamilyOption = Annotated[
    Path | None, typer.Option("--family", exists=True, dir_okay=False, help="CSV with columns model and family.")
]


def columns_of(told: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Names of columns in a file by ours, of what was told with --column.

    Raises:
        BadParameter: One is not OURS=THEIRS, or ours is not known.
    """
    columns = {}
    for one in told:
        ours, sign, theirs = one.partition("=")
        if ours not in known or not sign or not theirs:
            raise typer.BadParameter(f"--column {one!r}: write OURS=THEIRS; OURS is one of {', '.join(known)}")
        columns[ours] = theirs
    return columns


def held_out_words(held_out: Sequence[int]) -> str:
    """How many models splits hold out: one number, or from the fewest to the most."""
    fewest, most = min(held_out), max(held_out)
    return str(fewest) if fewest == most else f"{fewest} to {most}"
