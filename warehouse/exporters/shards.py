"""How rows are spread over Parquet files and their row groups."""

from collections.abc import Sequence
from dataclasses import dataclass

MEGABYTE = 10**6


@dataclass(frozen=True)
class ShardLimits:
    """Bounds that the hub's viewer and streaming readers work well with."""

    group_rows: int = 100
    group_bytes: int = 100 * MEGABYTE
    shard_bytes: int = 500 * MEGABYTE


def plan_shards(row_bytes: Sequence[int], limits: ShardLimits) -> list[list[range]]:
    """For each file, its row groups as ranges of rows, in order; a row larger than a limit stands alone.

    Args:
        row_bytes: Bytes of each row.
        limits: What a row group and a file hold at most.
    """
    shards: list[list[range]] = []
    shard_bytes = 0
    for group in _groups(row_bytes, limits):
        group_bytes = sum(row_bytes[group.start : group.stop])
        if not shards or shard_bytes + group_bytes > limits.shard_bytes:
            shards.append([])
            shard_bytes = 0
        shards[-1].append(group)
        shard_bytes += group_bytes
    return shards


def _groups(row_bytes: Sequence[int], limits: ShardLimits) -> list[range]:
    groups: list[range] = []
    start = total = 0
    for place, size in enumerate(row_bytes):
        full = place - start == limits.group_rows or total + size > limits.group_bytes
        if full and place > start:
            groups.append(range(start, place))
            start, total = place, 0
        total += size
    if start < len(row_bytes):
        groups.append(range(start, len(row_bytes)))
    return groups
