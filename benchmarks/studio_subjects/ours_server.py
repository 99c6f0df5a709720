"""The studio as `interplay up` serves it, and beside it what its pages call when they are clicked, as plain routes.

Handing in, taking a task and judging have no routes of their own: a page calls these services in the server's process.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlmodel import Session
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from annotation_ui import server
from annotation_ui.auth import Auth
from annotation_ui.drafting.drafts import open_draft
from annotation_ui.drafting.handing_in import hand_in
from annotation_ui.permissions import Principal
from annotation_ui.reviewing import desk
from annotation_ui.studio import Studio, open_studio
from annotation_ui.told import Told
from annotation_ui.words import words_in
from qc.review.blind import Stage
from qc.review.queue import Task
from qc.review.waiting import REVIEW
from warehouse.tables import Assignment, Decision

Answer = dict[str, Any] | None


class Services:
    """Each route is one click: who is there, one transaction, the answer."""

    def __init__(self, studio: Studio, auth: Auth) -> None:
        self._studio = studio
        self._auth = auth

    def routes(self) -> list[Route]:
        """All under /bench."""
        found = {
            "next": self._next,
            "answer": self._answer,
            "verdict": self._verdict,
            "drafts": self._open,
            "drafts/{id}/hand-in": self._hand_in,
        }
        return [Route(f"/bench/{path}", self._route(work), methods=["POST"]) for path, work in found.items()]

    def _route(self, work: Callable[[Session, Principal, dict[str, Any]], Answer]) -> Any:
        async def answer(request: Request) -> Response:
            given = await request.json() | request.path_params
            return await run_in_threadpool(self._answered, request, given, work)

        return answer

    def _answered(self, request: Request, given: dict[str, Any], work: Any) -> Response:
        who = self._auth.principal(request.cookies.get(self._studio.cookie_name))
        if who is None:
            return JSONResponse({}, status_code=401)
        try:
            with self._studio.workspace.database.session() as session:
                return JSONResponse(work(session, who, given))
        except Told as problem:
            return JSONResponse({"error": type(problem).__name__}, status_code=409)

    def _next(self, session: Session, who: Principal, _given: dict[str, Any]) -> Answer:
        task = desk.take(session, who, REVIEW)
        if task is None:
            return None
        slot = session.get_one(Assignment, task.assignment_id).task_id
        return {"task": task.model_dump(mode="json"), "slot": slot}

    def _answer(self, session: Session, who: Principal, given: dict[str, Any]) -> Answer:
        desk.answer(session, who, given["assignment"], Stage(given["stage"]), given["text"])
        return {}

    def _verdict(self, session: Session, who: Principal, given: dict[str, Any]) -> Answer:
        task = Task.model_validate(given["task"])
        desk.hand_in(session, who, given["key"], task, desk.Judged(Decision.PASS))
        return {}

    def _open(self, session: Session, who: Principal, _given: dict[str, Any]) -> Answer:
        draft = open_draft(session, who)
        return {"id": draft.id, "version": draft.version}

    def _hand_in(self, session: Session, who: Principal, given: dict[str, Any]) -> Answer:
        return {"id": hand_in(session, who, given["id"], given["version"], given["key"], words_in("en")).id}


def with_services(make_app: Callable[..., ASGIApp]) -> Callable[..., ASGIApp]:
    """The studio's application with the services beside it."""

    def make(studio: Studio, auth: Auth, on_ready: Callable[[], None]) -> ASGIApp:
        pages, services = make_app(studio, auth, on_ready), Starlette(routes=Services(studio, auth).routes())

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            is_service = scope["type"] == "http" and scope["path"].startswith("/bench/")
            await (services if is_service else pages)(scope, receive, send)

        return app

    return make


def main() -> None:
    """Serve the project that is named until a signal comes."""
    server.make_app = with_services(server.make_app)
    with open_studio(Path(sys.argv[1])) as studio:
        listening = server.listen("127.0.0.1", int(sys.argv[2]))
        server.serve(studio, listening, lambda address, _link: print(f"ready {address}", flush=True))


if __name__ == "__main__":
    main()
