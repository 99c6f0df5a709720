"""SQL over everything that a project holds, in a DuckDB that can change nothing and read nothing else."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import fsspec

from core.errors import InterplayError
from warehouse.analytics import analysis, snapshot
from warehouse.database import Database
from warehouse.fact_kinds import FACT_KINDS
from warehouse.facts import FactStore


class BadQuery(InterplayError):
    """SQL that DuckDB does not take, or that is more than a question."""


def run_query(database: Database, facts: FactStore, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of one SELECT over the facts, and over the tables as they are now.

    Raises:
        BadQuery: It is no single SELECT, DuckDB refuses it, or it reaches outside the project.
    """
    with TemporaryDirectory(prefix="interplay-sql-") as folder:
        snapshot(database, Path(folder))
        with analysis(facts, FACT_KINDS, Path(folder)) as connection:
            _confine(connection, facts, folder)
            try:
                statements = connection.extract_statements(query)
                if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                    raise BadQuery(
                        "only one SELECT is taken; write one statement that starts with SELECT, WITH or FROM"
                    )
                found = connection.execute(statements[0])
                return [column[0] for column in found.description or ()], found.fetchall()
            except duckdb.Error as error:
                raise BadQuery(f"DuckDB cannot answer this: {' '.join(str(error).split())}") from error


def _confine(connection: duckdb.DuckDBPyConnection, facts: FactStore, folder: str) -> None:
    """Leave nothing readable but the files behind the views, and let no query undo that."""
    file_system, root = fsspec.core.url_to_fs(facts.url)
    protocols = [file_system.protocol] if isinstance(file_system.protocol, str) else file_system.protocol
    places = [f"{folder}/", f"{root}/", *(f"{protocol}://{root}/" for protocol in protocols)]
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET allowed_directories = $places", {"places": places})
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
