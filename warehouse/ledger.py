"""What is already done: every long command asks here first, so that a second call does only what is missing."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import duckdb
import pyarrow as pa

from warehouse.analytics import analysis, load_sql
from warehouse.facts import FactStore

# In these states a response would come out the same if it were asked again; as `api_error` or `unparsed` it would not.
SETTLED = ("ok", "refusal", "truncated", "empty", "blocked", "abstained", "timed_out")


def settled_answers(facts: FactStore, request_keys: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Those of the requests (by request key) whose answer is settled, with its columns of the `response` fact."""
    with _responses(facts, "request_key", request_keys) as connection:
        query = load_sql("warehouse.queries", "settled_answers.sql")
        rows = connection.sql(query, params=[list(SETTLED)]).to_arrow_table().to_pylist()
    return {row.pop("request_key"): row for row in rows}


def settled_keys(facts: FactStore, keys: Iterable[str], column: Literal["key", "request_key"] = "key") -> set[str]:
    """Those of the keys whose response is settled: of units, or with `column` of requests. Loads no answers."""
    with _responses(facts, column, keys) as connection:
        query = f"SELECT DISTINCT {column} FROM response WHERE list_contains(?, state)"  # noqa: S608 - one of two names
        rows = connection.execute(query, [list(SETTLED)]).fetchall()
    return {row[0] for row in rows}


def stored_answers(facts: FactStore, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
    """`state`, `answer` and `error` of the responses to units, by their keys and in the order of these."""
    with _responses(facts, "key", keys) as connection:
        query = "SELECT key, state, answer, error FROM response ORDER BY key"
        rows = connection.sql(query).to_arrow_table().to_pylist()
    return {row.pop("key"): row for row in rows}


@contextmanager
def _responses(facts: FactStore, column: str, values: Iterable[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose view `response` holds only rows with one of the values."""
    with analysis(facts, []) as connection:
        connection.register("wanted", pa.table({column: pa.array(sorted(set(values)), pa.string())}))
        facts.register(connection, "response", among=column)
        yield connection
