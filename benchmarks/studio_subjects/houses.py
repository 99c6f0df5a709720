"""What is measured: a studio of each kind on each database, made once and copied for every go."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import httpx
from sqlalchemy import create_engine, text
from studio_subjects.postgres import Postgres

HERE = Path(__file__).resolve().parent
PASSWORD = "correct horse battery"  # noqa: S105 - of people who are made up
READY_S = 600.0
ANNOTATION = """<View>
  <Image name="image" value="$image"/><Audio name="audio" value="$audio"/><Header value="$question"/>
  <Choices name="answer" toName="image"><Choice value="A"/><Choice value="B"/><Choice value="C"/></Choices>
  <TextArea name="comment" toName="image"/>
</View>"""

# What lies in a database: by kind and key the texts that it holds.
Stored = dict[tuple[str, str], set[str]]


class NotReady(RuntimeError):
    """A server that ended, or did not answer in time."""


@dataclass(frozen=True)
class Running:
    """A server that answers; `job` is what the annotators must know of it."""

    address: str
    process_id: int
    job: dict[str, Any]


class House(ABC):
    """One subject: a program on one kind of database.

    Args:
        folder: Where its template and its copies lie.
        postgres: The server of its database; None for SQLite.
        people: How many can sign in.
        tasks: How many wait to be done.
    """

    program: ClassVar[str]
    kind: ClassVar[str]
    health: ClassVar[str]

    def __init__(self, folder: Path, postgres: Postgres | None, people: int, tasks: int) -> None:
        self.postgres = postgres
        self.people = people
        self.tasks = tasks
        self.name = f"{self.program}, {'PostgreSQL' if postgres else 'SQLite'}"
        self.folder = folder / f"{self.kind}-{'postgresql' if postgres else 'sqlite'}"
        self.folder.mkdir(parents=True)
        self.template, self.copy = self.folder / "template", self.folder / "copy"
        self._job: dict[str, Any] = {}

    @abstractmethod
    def prepare(self) -> None:
        """Make the template."""

    @abstractmethod
    def stored(self) -> Stored:
        """What the copy's database holds."""

    @contextmanager
    def serving(self) -> Iterator[Running]:
        """The server on a fresh copy; it ends by SIGKILL, so that what was only in its memory is gone."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.template, self.copy)
        if self.postgres:
            self.postgres.copy(f"{self.kind}_template", self.kind)
            self._point_at(self.copy, self.kind)
        with self._running(self.copy, self.kind) as running:
            yield running

    @contextmanager
    def _running(self, folder: Path, database: str) -> Iterator[Running]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with (folder / "server.log").open("wb") as log:
            process = subprocess.Popen(
                self._command(folder, port), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env=environment | self._environment(folder, database),
            )  # fmt: skip
        address = f"http://127.0.0.1:{port}"
        try:
            self._wait(process, address + self.health, folder / "server.log")
            yield Running(address, process.pid, {"subject": self.kind, "password": PASSWORD} | self._job)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _wait(self, process: "subprocess.Popen[bytes]", health: str, log: Path) -> None:
        give_up_s = time.monotonic() + READY_S
        while time.monotonic() < give_up_s:
            if process.poll() is not None:
                raise NotReady(f"{self.name} ended at once; its last words: {log.read_text('utf-8')[-600:]}")
            try:
                if httpx.get(health, timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        raise NotReady(f"{self.name} did not answer in {READY_S:.0f} s")

    @abstractmethod
    def _point_at(self, folder: Path, database: str) -> None:
        """Tell the folder's settings of the database, where they name it."""

    @abstractmethod
    def _command(self, folder: Path, port: int) -> list[str]:
        """What serves a folder."""

    @abstractmethod
    def _environment(self, folder: Path, database: str) -> dict[str, str]:
        """Variables of the server's process."""

    @property
    @abstractmethod
    def _sqlite(self) -> Path:
        """The copy's database file."""

    def _rows(self, query: str) -> list[Any]:
        engine = create_engine(self.postgres.url(self.kind) if self.postgres else f"sqlite:///{self._sqlite}")
        try:
            with engine.connect() as connection:
                return list(connection.execute(text(query)))
        finally:
            engine.dispose()


class Ours(House):
    """The studio of a project."""

    program, kind, health = "Interplay", "interplay", "/_stcore/health"

    def prepare(self) -> None:
        """People, media, and items that passed two rounds, through the project's own services."""
        from studio_subjects.ours_fill import fill

        if self.postgres:
            self.postgres.copy("template1", f"{self.kind}_template")
            url = self.postgres.url(f"{self.kind}_template")
        else:
            url = None
        self._job["materials"] = fill(self.template, url, self.people, self.tasks, PASSWORD)

    def stored(self) -> Stored:
        """Drafts, handed in items, leases, answers, verdicts."""
        found: Stored = defaultdict(set)
        numbers = {id_: name.rpartition("-")[2] for id_, name in self._rows('SELECT id, name FROM "user"')}
        for id_, content in self._rows("SELECT id, content FROM item_draft"):
            found["draft", id_].add(_after_media(_parsed(content).get("prompt", "")))
        for id_, question in self._rows("SELECT item_id, question FROM item_revision"):
            found["item", id_].add(_after_media(_parsed(question)["prompt"][-1].get("text", "")))
        for slot, user, state in self._rows("SELECT task_id, user_id, state FROM assignment"):
            found["lease", slot].add(numbers[user])
            if state.lower() == "done":
                found["handed", slot].add(numbers[user])
        for id_, partial, full in self._rows("SELECT assignment_id, partial_answer, full_answer FROM review"):
            found["answer", f"{id_}/partial"].add(partial)
            found["answer", f"{id_}/full"].add(full)
        return found

    def _point_at(self, folder: Path, database: str) -> None:
        assert self.postgres
        file = folder / "interplay.toml"
        old, new = self.postgres.url(f"{self.kind}_template"), self.postgres.url(database)
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    def _command(self, folder: Path, port: int) -> list[str]:
        return [sys.executable, str(HERE / "ours_server.py"), str(folder), str(port)]

    def _environment(self, folder: Path, database: str) -> dict[str, str]:
        return {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1])}

    @property
    def _sqlite(self) -> Path:
        return self.copy / "interplay.db"


class Theirs(House):
    """Label Studio as `label-studio start` serves it, in an environment of its own."""

    program, kind, health = "Label Studio", "label_studio", "/health"

    def __init__(self, python: Path, folder: Path, postgres: Postgres | None, people: int, tasks: int) -> None:
        super().__init__(folder, postgres, people, tasks)
        self._python = python

    def prepare(self) -> None:
        """Migrations (minutes), people, one project with its tasks."""
        self.template.mkdir()
        if self.postgres:
            self.postgres.copy("template1", f"{self.kind}_template")
        with self._running(self.template, f"{self.kind}_template") as running:
            self._job["project"] = self._import(running.address)
        command = [str(self._python), str(HERE / "label_studio_people.py"), str(self.people), PASSWORD]
        variables = os.environ | self._environment(self.template, f"{self.kind}_template")
        subprocess.run(command, check=True, env=variables, capture_output=True)
        if not self.postgres:
            # It stays so; without it writers and readers shut each other out.
            engine = create_engine(f"sqlite:///{self.template / 'label_studio.sqlite3'}")
            with engine.connect() as connection:
                connection.execute(text("PRAGMA journal_mode = WAL"))
            engine.dispose()

    def stored(self) -> Stored:
        """Drafts, annotations, and locks."""
        found: Stored = defaultdict(set)
        people = self._rows("SELECT id, email FROM htx_user WHERE email LIKE 'annotator-%'")
        numbers = {id_: email.partition("@")[0].rpartition("-")[2] for id_, email in people}
        for id_, result in self._rows("SELECT id, result FROM tasks_annotationdraft"):
            found["draft", str(id_)].add(_comment(_parsed(result)))
        for task, result, user in self._rows("SELECT task_id, result, completed_by_id FROM task_completion"):
            found["handed", str(task)].add(_comment(_parsed(result)))
            found["lease", str(task)].add(numbers[user])  # what is handed in is let go of
        for task, user in self._rows("SELECT task_id, user_id FROM tasks_tasklock"):
            found["lease", str(task)].add(numbers[user])
        return found

    def _point_at(self, folder: Path, database: str) -> None:
        pass  # variables of the process do

    def _import(self, address: str) -> int:
        headers = {"Authorization": f"Token {_TOKEN}"}
        with httpx.Client(base_url=address, headers=headers, timeout=600) as owner:
            made = owner.post("/api/projects/", json={"title": "Load", "label_config": ANNOTATION})
            made.raise_for_status()
            project = int(made.json()["id"])
            tasks = [
                {"image": f"/static/{n}.png", "audio": f"/static/{n}.wav", "question": f"How many in number {n}?"}
                for n in range(self.tasks)
            ]
            owner.post(f"/api/projects/{project}/import", json=tasks).raise_for_status()
            return project

    def _command(self, folder: Path, port: int) -> list[str]:
        program = str(self._python.with_name("label-studio"))
        return [program, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]

    def _environment(self, folder: Path, database: str) -> dict[str, str]:
        asked = {
            "LABEL_STUDIO_BASE_DATA_DIR": str(folder), "LABEL_STUDIO_USERNAME": "owner@example.com",
            "LABEL_STUDIO_PASSWORD": PASSWORD, "LABEL_STUDIO_USER_TOKEN": _TOKEN,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
            "COLLECT_ANALYTICS": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "LATEST_VERSION_CHECK": "false",
        }  # fmt: skip
        if self.postgres:
            asked |= {
                "DJANGO_DB": "default", "POSTGRE_HOST": str(self.postgres.folder), "POSTGRE_USER": "postgres",
                "POSTGRE_NAME": database,
            }  # fmt: skip
        return asked

    @property
    def _sqlite(self) -> Path:
        return self.copy / "label_studio.sqlite3"


_TOKEN = "0123456789abcdef0123456789abcdef01234567"  # noqa: S105 - of a server that lives for minutes


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _after_media(prompt: str) -> str:
    return prompt.rpartition(". ")[2].strip()


def _comment(result: list[dict[str, Any]]) -> str:
    return next((one["value"]["text"][0] for one in result if one["type"] == "textarea"), "")
