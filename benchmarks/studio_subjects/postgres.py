"""A PostgreSQL server of one's own, with the settings that it comes with but for room for many connections."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

# Label Studio opens a connection for every request that is under way.
CONNECTIONS = 400


@dataclass(frozen=True)
class Postgres:
    """A running server; `folder` holds its socket."""

    folder: Path
    process_id: int

    def url(self, name: str) -> str:
        """Of one database."""
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def copy(self, template: str, name: str) -> None:
        """A database anew, like the template."""
        self.drop(name)
        self._say(f"CREATE DATABASE {name} TEMPLATE {template}")

    def drop(self, name: str) -> None:
        """Away with a database, whoever uses it."""
        self._say(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _say(self, statement: str) -> None:
        with psycopg.connect(host=str(self.folder), user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]


def binaries() -> Path | None:
    """Where the newest PostgreSQL of this machine lies."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda file: int(file.parts[4]))
    if found:
        return found[-1].parent
    program = shutil.which("initdb")
    return Path(program).resolve().parent if program else None


@contextmanager
def running(programs: Path) -> Iterator[Postgres]:
    """A server in a temporary folder, for as long as the body runs; it commits to the disk, as it does by default."""
    folder = Path(tempfile.mkdtemp(prefix="interplay-pg-"))  # a socket's path must be short
    # initdb refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)

    def run(command: str, *arguments: str) -> None:
        line = [str(programs / command), "-D", str(folder / "data"), *arguments]
        # A pipe would stay open in the server that pg_ctl leaves behind.
        with (folder / "told.txt").open("ab") as told:
            subprocess.run(line, stdout=told, stderr=told, cwd="/", user=user, check=True, timeout=120)

    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c max_connections={CONNECTIONS}"
    try:
        run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield Postgres(folder, int((folder / "data" / "postmaster.pid").read_text().split()[0]))
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
