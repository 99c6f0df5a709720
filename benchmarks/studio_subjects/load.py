"""The annotators, in a process of their own: each signs in, takes a task, saves drafts, hands in, takes the next.

Run with a file of JSON: `subject` (a class below), `address`, `annotators`, `think_s`, `warm_s`, `seconds`, `password`,
`materials`, `project`, `log`. Says "begin" and "end" around the seconds that count; then each request lies in `log`,
one line each, and what this process itself used is the last line that it says.
"""

import asyncio
import json
import random
import ssl
import sys
import time
import uuid
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx

SAVES = 5
TIMEOUT_S = 60.0
KEEP_S = 3.0
SIGN_IN_AT_ONCE = 4
WORDS = (
    "bell", "street", "garden", "walker", "lamp", "bird", "river", "bridge", "window", "market", "corner", "train",
    "morning", "engine", "whistle", "colour", "shadow", "voice", "door", "clock", "rain", "music", "wheel", "flower",
)  # fmt: skip


class Over(Exception):
    """The time that the annotators stay is over."""


@dataclass
class Record:
    """One request: what for, by whom, when, and what it must have left in the database.

    `wrote` is (kind, key, text), also of a request that failed; `ended_draft` the key of a draft that it takes away;
    `failure` is what went wrong, None for an accepted request.
    """

    op: str
    who: int
    begun_s: float = 0.0
    ended_s: float = 0.0
    failure: str | None = None
    wrote: tuple[str, str, str] | None = None
    ended_draft: str | None = None


@dataclass
class Annotator(ABC):
    """One person with a browser of their own; `act` does one task from taking it to handing it in."""

    number: int
    job: dict[str, Any]
    log: list[Record]
    client: httpx.AsyncClient
    dice: random.Random = field(init=False)
    until_s: float = 0.0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.number)

    @abstractmethod
    async def sign_in(self) -> None:
        """Through the door, as a browser does."""

    @abstractmethod
    async def act(self) -> None:
        """One task, with a pause before each request."""

    async def think(self) -> None:
        """A pause of the usual length, half as long to half as long again.

        Raises:
            Over: The time is.
        """
        await asyncio.sleep(self.job["think_s"] * self.dice.uniform(0.5, 1.5))
        if time.monotonic() > self.until_s:
            raise Over

    def text(self) -> str:
        """Some sentences that nobody else writes."""
        words = " ".join(self.dice.choices(WORDS, k=30))
        return f"{words} {uuid.uuid4().hex}"

    async def ask(self, record: Record, method: str, path: str, good: int = 200, **more: Any) -> Any:
        """One request; its answer is None where it failed."""
        record.begun_s = time.monotonic()
        self.log.append(record)
        answer: Any = None
        try:
            response = await self.client.request(method, path, **more)
            if response.status_code == good:
                answer = response.json() if "json" in response.headers.get("content-type", "") else response.text
            else:
                record.failure = str(response.status_code)
        except httpx.HTTPError as error:
            record.failure = type(error).__name__
        record.ended_s = time.monotonic()
        return answer


class Interplay(Annotator):
    """Takes a blind review, writes a question that saves itself, hands it in, answers and judges what it took."""

    async def sign_in(self) -> None:  # noqa: D102 - as above
        form = {"name": f"annotator-{self.number}", "password": self.job["password"], "next": "/"}
        await self.ask(Record("sign in", self.number), "POST", "/auth/sign-in", good=303, data=form)

    async def act(self) -> None:  # noqa: D102
        await self.think()
        record = Record("next task", self.number)
        task = await self.ask(record, "POST", "/bench/next", json={})
        if task:
            record.wrote = ("lease", task["slot"], str(self.number))
        await self._write()
        if task:
            await self._review(task["task"], task["slot"])

    async def _write(self) -> None:
        await self.think()
        opened = await self.ask(Record("open a question", self.number), "POST", "/bench/drafts", json={})
        if opened is None:
            return
        draft, version, text = opened["id"], opened["version"], ""
        content = self._content()
        editor = uuid.uuid4().hex
        for stroke in range(1, SAVES + 1):
            await self.think()
            text = self.text()
            content["prompt"] = f"Look at <image_1>, hear <audio_1>. {text}"
            body = {"expected_version": version, "editor": editor, "stroke": stroke, "content": content}
            record = Record("save", self.number, wrote=("draft", draft, text))
            saved = await self.ask(record, "PUT", f"/drafts/{draft}", json=body)
            version = saved["version"] if saved else version
        await self.think()
        record = Record("hand in a question", self.number)
        body = {"version": version, "key": str(uuid.uuid4())}
        item = await self.ask(record, "POST", f"/bench/drafts/{draft}/hand-in", json=body)
        if item:
            record.wrote = ("item", item["id"], text)

    def _content(self) -> dict[str, Any]:
        picture, sound = (self.dice.choice(self.job["materials"][kind]) for kind in ("image", "audio"))
        return {
            "task_type": "counting", "language": "en", "required": ["image", "audio"],
            "media": {"image_1": picture, "audio_1": sound}, "choices": self.dice.sample(WORDS, 4),
            "correct": [self.dice.randrange(4)],
        }  # fmt: skip

    async def _review(self, task: dict[str, Any], slot: str) -> None:
        for stage in ("partial", "full"):
            await self.think()
            body = {"assignment": task["assignment_id"], "stage": stage, "text": "A"}
            record = Record("answer", self.number, wrote=("answer", f"{task['assignment_id']}/{stage}", "A"))
            await self.ask(record, "POST", "/bench/answer", json=body)
        await self.think()
        record = Record("hand in", self.number, wrote=("handed", slot, str(self.number)))
        await self.ask(record, "POST", "/bench/verdict", json={"task": task, "key": str(uuid.uuid4())})


class LabelStudio(Annotator):
    """The label stream: next task, a draft that saves itself, the annotation."""

    async def sign_in(self) -> None:  # noqa: D102
        await self.ask(Record("open the door", self.number), "GET", "/user/login/")
        form = {
            "email": f"annotator-{self.number}@example.com", "password": self.job["password"],
            "csrfmiddlewaretoken": self.client.cookies.get("csrftoken", ""),
        }  # fmt: skip
        await self.ask(Record("sign in", self.number), "POST", "/user/login/", good=302, data=form)

    async def act(self) -> None:  # noqa: D102
        await self.think()
        record = Record("next task", self.number)
        task = await self.ask(record, "GET", f"/api/projects/{self.job['project']}/next")
        if task is None:
            return
        key, draft, text = str(task["id"]), None, ""
        record.wrote = ("lease", key, str(self.number))
        for _ in range(SAVES):
            await self.think()
            text = self.text()
            draft = await self._save(key, draft, text)
        await self.think()
        record = Record("hand in", self.number, wrote=("handed", key, text), ended_draft=draft)
        body = {"result": _result(text), "lead_time": 10, "draft_id": int(draft) if draft else None}
        await self.ask(record, "POST", f"/api/tasks/{key}/annotations/", good=201, json=body)

    async def _save(self, task: str, draft: str | None, text: str) -> str | None:
        body = {"result": _result(text), "lead_time": 5}
        record = Record("save", self.number)
        if draft is None:
            saved = await self.ask(record, "POST", f"/api/tasks/{task}/drafts", good=201, json=body)
            if saved is None:
                return None
            record.wrote = ("draft", str(saved["id"]), text)
            return str(saved["id"])
        record.wrote = ("draft", draft, text)
        await self.ask(record, "PATCH", f"/api/drafts/{draft}/", json=body)
        return draft


def _result(text: str) -> list[dict[str, Any]]:
    where = {"to_name": "image", "origin": "manual"}
    return [
        where | {"id": "c", "from_name": "answer", "type": "choices", "value": {"choices": ["A"]}},
        where | {"id": "t", "from_name": "comment", "type": "textarea", "value": {"text": [text]}},
    ]


async def _sign_in(annotator: Annotator, door: asyncio.Semaphore) -> None:
    async with door:
        await annotator.sign_in()


async def _stay(annotator: Annotator, until_s: float) -> None:
    annotator.until_s = until_s
    # Not all in one moment, nor all at the same step.
    await asyncio.sleep(annotator.dice.uniform(0, annotator.job["warm_s"]))
    with suppress(Over):
        while True:
            await annotator.act()


def _annotators(job: dict[str, Any], log: list[Record]) -> list[Annotator]:
    kinds: dict[str, type[Annotator]] = {"interplay": Interplay, "label_studio": LabelStudio}
    tls = ssl.create_default_context()  # made once: it is slow, and nobody uses it
    # One connection for each person, as a browser holds it; given up before the server does, which httpx cannot mend.
    limits = httpx.Limits(max_connections=1, keepalive_expiry=KEEP_S)
    return [
        kinds[job["subject"]](
            number, job, log, httpx.AsyncClient(base_url=job["address"], timeout=TIMEOUT_S, limits=limits, verify=tls)
        )
        for number in range(job["annotators"])
    ]


async def main() -> None:
    """Let them all work, and write down what they met."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    log: list[Record] = []
    annotators = _annotators(job, log)
    door = asyncio.Semaphore(SIGN_IN_AT_ONCE)
    await asyncio.gather(*(_sign_in(one, door) for one in annotators))
    begin_s = time.monotonic() + job["warm_s"]
    end_s = begin_s + job["seconds"]
    staying = asyncio.gather(*(_stay(one, end_s) for one in annotators))
    await asyncio.sleep(begin_s - time.monotonic())
    print("begin", flush=True)
    used_s = time.process_time()
    await asyncio.sleep(end_s - time.monotonic())
    used_s = time.process_time() - used_s
    print("end", flush=True)
    await staying
    Path(job["log"]).write_text("\n".join(json.dumps(asdict(one)) for one in log), encoding="utf-8")
    print(json.dumps({"begin_s": begin_s, "end_s": end_s, "cpu_share": used_s / job["seconds"]}))


if __name__ == "__main__":
    asyncio.run(main())
