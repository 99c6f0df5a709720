"""Drafts over HTTP: the editor in the browser saves here, whatever becomes of the page around it.

A save answers once the words are in the database. `PUT /drafts/ID` takes `{expected_version, editor, stroke, content}`.
It gives 200 `{version, saved_at, is_ready, notes}`; 409 `{version, saved_by, saved_at, theirs, aside_id}` where another
editor saved since (both are kept); 401 and 403 for who may not; 404, 410, 413 and 422 for what cannot be saved. All
refusals hold `{error}` in the reader's language.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlmodel import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from annotation_ui.auth import Auth
from annotation_ui.auth_routes import check_origin
from annotation_ui.drafting.checks import check_draft
from annotation_ui.drafting.content import BadContent, DraftContent
from annotation_ui.drafting.drafts import Conflict, DraftClosed, Save, UnknownDraft, get_draft, save_draft
from annotation_ui.people import display_names
from annotation_ui.permissions import Principal
from annotation_ui.studio import Studio
from annotation_ui.told import Told
from annotation_ui.words import N_, Words, closest_language, words_in
from warehouse.tables import Item, ItemDraft

DRAFTS_PATH = "/drafts"
MOST_BYTES = 512 * 1024
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class SignInAgain(Told):
    """A save from somebody whose session is over."""

    text = N_("You are signed out. Sign in again in another tab; what you wrote is kept here.")


class TooLong(Told):
    """More than a question can be."""

    text = N_("This draft is too long to be saved. Take some text out.")


class BadRequest(Told):
    """A request that no editor sends."""

    text = N_("The studio did not understand this save. Reload the page.")


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    expected_version: int = Field(ge=0, le=2**31)
    editor: str = Field(default="", max_length=64)
    stroke: int = Field(default=0, ge=0, le=2**31)
    content: dict[str, Any]


class DraftRoutes:
    """Reads and saves drafts for the editor."""

    def __init__(self, studio: Studio, auth: Auth) -> None:
        self._studio = studio
        self._auth = auth

    def routes(self) -> list[Route]:
        """For the studio's ASGI application."""
        return [
            Route(DRAFTS_PATH + "/{id}", self.read, methods=["GET"]),
            Route(DRAFTS_PATH + "/{id}", self.save, methods=["PUT"]),
        ]

    async def read(self, request: Request) -> Response:
        """The draft as it stands."""
        return await run_in_threadpool(self._answered, request, self._read)

    async def save(self, request: Request) -> Response:
        """Store what the editor has."""
        try:
            body = await _body(request)
        except Told as problem:
            return _refused(problem, words_in(closest_language(request.headers.get("accept-language"))))
        return await run_in_threadpool(self._answered, request, partial(self._save, body))

    def _answered(self, request: Request, answer: Callable[[str, Principal, Words], Response]) -> Response:
        who = self._auth.principal(request.cookies.get(self._studio.cookie_name))
        asked = closest_language(request.headers.get("accept-language"))
        t = words_in(who.language if who and who.language else asked)
        try:
            check_origin(request, self._studio.url)
            if who is None:
                raise SignInAgain
            return answer(request.path_params["id"], who, t)
        except Told as problem:
            return _refused(problem, t)

    def _read(self, draft_id: str, who: Principal, t: Words) -> Response:
        with self._studio.workspace.database.reading() as session:
            draft = get_draft(session, who, draft_id, is_open=True)
            return _json(200, self._stored(session, draft, t) | {"content": draft.content})

    def _save(self, body: bytes, draft_id: str, who: Principal, t: Words) -> Response:
        sent = _parsed(body)
        save = Save(sent.expected_version, DraftContent.parse(sent.content), sent.editor, sent.stroke)
        database = self._studio.workspace.database
        with database.session() as session:
            done = save_draft(session, who, draft_id, save, self._studio.clock)
        with database.reading() as session:
            if isinstance(done, Conflict):
                return _json(409, _conflict(session, done, t))
            return _json(200, self._stored(session, get_draft(session, who, draft_id), t))

    def _stored(self, session: Session, draft: ItemDraft, t: Words) -> dict[str, Any]:
        item = session.get(Item, draft.item_id) if draft.item_id else None
        checked = check_draft(session, draft.author, DraftContent.parse(draft.content), item, t)
        notes = [vars(note) for note in checked.notes]
        return {
            "version": draft.version,
            "saved_at": draft.saved_at.isoformat(),
            "is_ready": checked.is_ready,
            "notes": notes,
        }


async def _body(request: Request) -> bytes:
    """The body, never more of it in memory than may be sent."""
    body = b""
    async for block in request.stream():
        body += block
        if len(body) > MOST_BYTES:
            raise TooLong
    return body


def _parsed(body: bytes) -> _Sent:
    try:
        return _Sent.model_validate(json.loads(body))
    except (ValueError, ValidationError, RecursionError) as error:
        raise BadRequest from error


def _conflict(session: Session, conflict: Conflict, t: Words) -> dict[str, Any]:
    names = display_names(session, [conflict.saved_by])
    return {
        "version": conflict.version,
        "saved_by": names[conflict.saved_by],
        "saved_at": conflict.saved_at.isoformat(),
        "theirs": conflict.theirs.as_json(),
        "aside_id": conflict.aside_id,
        "error": t(
            "{name} saved this draft since you began. Both versions are kept; choose which to go on with.",
            name=names[conflict.saved_by],
        ),
    }


_STATUS: dict[type[Told], int] = {
    SignInAgain: 401,
    UnknownDraft: 404,
    DraftClosed: 410,
    TooLong: 413,
    BadContent: 422,
    BadRequest: 422,
}


def _refused(problem: Told, t: Words) -> Response:
    return _json(_STATUS.get(type(problem), 403), {"error": t(problem.text, **problem.values)})


def _json(status: int, value: dict[str, Any]) -> Response:
    return JSONResponse(value, status_code=status, headers=_HEADERS)
