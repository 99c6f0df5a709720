"""What is already done: every long command asks here first, so that a second call does only what is missing."""

from collections.abc import Iterable

from warehouse.analytics import analysis
from warehouse.facts import FactStore

# A response in one of these states would come out the same if it were asked again; an api_error would not.
SETTLED = ("ok", "refusal", "truncated", "empty", "blocked")


def settled_responses(facts: FactStore, keys: Iterable[str]) -> set[str]:
    """Those of the response keys whose answer is settled."""
    with analysis(facts, ["response"]) as connection:
        connection.execute("CREATE TEMP TABLE wanted (key TEXT)")
        wanted = [(key,) for key in set(keys)]
        if wanted:
            connection.executemany("INSERT INTO wanted VALUES (?)", wanted)
        rows = connection.execute(
            "SELECT key FROM response SEMI JOIN wanted USING (key) WHERE list_contains(?, state)", [list(SETTLED)]
        ).fetchall()
    return {row[0] for row in rows}


def graded_responses(facts: FactStore, grader: str) -> set[str]:
    """Keys of responses that this grader (`name@version`) has graded."""
    with analysis(facts, ["grade"]) as connection:
        rows = connection.execute("SELECT response_key FROM grade WHERE grader = ?", [grader]).fetchall()
    return {row[0] for row in rows}
