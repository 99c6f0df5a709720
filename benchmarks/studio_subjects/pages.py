"""Visitors who open pages over Streamlit's socket, each in a thread: from the address to the last element.

Run with the file of JSON that `load.py` takes, and says the same; `look_s` is how long somebody looks at a page.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
from borrowed import borrowed
from load import SIGN_IN_AT_ONCE, Record
from websockets.exceptions import WebSocketException

_DOOR = threading.Semaphore(SIGN_IN_AT_ONCE)
PAGES = ("home", "author", "review", "materials", "items")


class Visitor(threading.Thread):
    """Signs in, then opens one page after another; the next one only when the last was looked at."""

    def __init__(self, number: int, job: dict[str, Any], client: ModuleType, log: list[Record]) -> None:
        super().__init__(daemon=True)
        self._number, self._job, self._client, self._log = number, job, client, log
        self._dice = random.Random(number)
        self._failed = (client.PageFailed, WebSocketException, httpx.HTTPError, OSError, TimeoutError)
        self.is_in = threading.Event()
        self.until_s = 0.0

    def run(self) -> None:
        """Until the time is over."""
        with self._client.Visitor(self._job["address"]) as browser:
            who = f"annotator-{self._number}"
            with _DOOR:
                self._timed("sign in", lambda: browser.sign_in(who, self._job["password"]))
                browser.xsrf()  # asked for later, it would meet a connection that the server has closed
            self.is_in.set()
            with self._client.Tab(browser) as tab:
                time.sleep(self._dice.uniform(0, self._job["look_s"]))
                while not self.until_s or time.monotonic() < self.until_s:
                    page = self._dice.choice(PAGES)
                    self._timed(page, lambda page=page: tab.open(page))  # type: ignore[misc]
                    time.sleep(self._job["look_s"] * self._dice.uniform(0.5, 1.5))

    def _timed(self, op: str, do: Callable[[], object]) -> None:
        record = Record(op, self._number, time.monotonic())
        try:
            do()
        except self._failed as error:
            record.failure = type(error).__name__
        record.ended_s = time.monotonic()
        self._log.append(record)


def main() -> None:
    """Let them all look round."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    log: list[Record] = []
    client = borrowed("streamlit_client.py")  # a browser without a screen
    visitors = [Visitor(number, job, client, log) for number in range(job["annotators"])]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.is_in.wait()
    begin_s = time.monotonic() + job["look_s"]
    end_s = begin_s + job["seconds"]
    for visitor in visitors:
        visitor.until_s = end_s
    time.sleep(begin_s - time.monotonic())
    print("begin", flush=True)
    used_s = time.process_time()
    time.sleep(end_s - time.monotonic())
    used_s = time.process_time() - used_s
    print("end", flush=True)
    Path(job["log"]).write_text("\n".join(json.dumps(asdict(one)) for one in list(log)), encoding="utf-8")
    print(json.dumps({"begin_s": begin_s, "end_s": end_s, "cpu_share": used_s / job["seconds"]}), flush=True)


if __name__ == "__main__":
    main()
