"""What is already done: every long command asks here first, so that a second call does only what is missing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

# In these states a response would come out the same if it were asked again; as `api_error` or `unparsed` it would not.
SETTLED = ("ok", "refusal", "truncated", "empty", "blocked")


@dataclass(frozen=True)
class SettledAnswer:
    """An answer that stands: the keys of the units that have it, and its columns of the `response` fact."""

    unit_keys: frozenset[str]
    columns: dict[str, Any]


def settled_answers(facts: FactStore, request_keys: Iterable[str]) -> dict[str, SettledAnswer]:
    """Those of the requests (by request key) whose answer is settled."""
    wanted = pa.table({"request_key": pa.array(sorted(set(request_keys)), pa.string())})
    with analysis(facts, ["response"]) as connection:
        connection.register("wanted", wanted)
        query = load_sql("warehouse.queries", "settled_answers.sql")
        rows = connection.sql(query, params=[list(SETTLED)]).to_arrow_table().to_pylist()
    return {row.pop("request_key"): SettledAnswer(frozenset(row.pop("keys")), row) for row in rows}


def settled_keys(facts: FactStore, keys: Iterable[str], column: Literal["key", "request_key"] = "key") -> set[str]:
    """Those of the keys whose response is settled: of units, or with `column` of requests. Loads no answers."""
    wanted = pa.table({column: pa.array(sorted(set(keys)), pa.string())})
    with analysis(facts, ["response"]) as connection:
        connection.register("wanted", wanted)
        rows = connection.execute(
            f"SELECT DISTINCT {column} FROM response SEMI JOIN wanted USING ({column}) "  # noqa: S608 - one of two names
            "WHERE list_contains(?, state)",
            [list(SETTLED)],
        ).fetchall()
    return {row[0] for row in rows}
