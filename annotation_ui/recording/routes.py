"""Takes over HTTP: the recorder in the browser sends them here, and pages hear and see them from here.

`POST /recordings?script=ID&contributor=ID&device=NAME` with a WAV file answers 201 `{id, sha256}` once the take is on
disk and in the tables. `GET /recordings/ID/sound` and `/picture` give a take to who may see it. All refusals of a POST
hold `{error}` in the reader's language.
"""

from collections.abc import Callable
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from annotation_ui.auth import Auth
from annotation_ui.auth_routes import check_origin
from annotation_ui.media_routes import GUARDS, send_blob
from annotation_ui.permissions import AccountInactive, Principal
from annotation_ui.recording.pictures import TakePictures
from annotation_ui.recording.speakers import UnknownSpeaker
from annotation_ui.recording.takes import (
    MOST_TAKE_BYTES,
    MOST_TAKE_S,
    NoSound,
    Sent,
    TakeTooLong,
    UnknownTake,
    receive,
    visible_take,
)
from annotation_ui.studio import Studio
from annotation_ui.told import Told
from annotation_ui.words import N_, Words, closest_language, words_in
from core.content import Modality
from core.media.errors import MediaError
from core.media.formats import recognise
from curation.recordings.findings import findings_of
from curation.recordings.takes import Take
from warehouse.blobs import DamagedBlob, MissingBlob

RECORDINGS_PATH = "/recordings"
_NO_STORE = {**GUARDS, "Cache-Control": "no-store"}
_STATUS: dict[type[Told], int] = {UnknownTake: 404, UnknownSpeaker: 404, TakeTooLong: 413, NoSound: 415}


class SignedOut(Told):
    """A take from somebody whose session is over."""

    text = N_("You are signed out. Sign in again in another tab, then send the take again: it is still here.")


class RecordingRoutes:
    """Receives takes and serves them."""

    def __init__(self, studio: Studio, auth: Auth) -> None:
        self._studio = studio
        self._auth = auth
        self._pictures = TakePictures(studio.workspace.originals, studio.thumbnail_folder)

    def routes(self) -> list[Route]:
        """For the studio's ASGI application."""
        return [
            Route(RECORDINGS_PATH, self.receive, methods=["POST"]),
            Route(RECORDINGS_PATH + "/{id}/sound", self.sound, methods=["GET", "HEAD"]),
            Route(RECORDINGS_PATH + "/{id}/picture", self.picture, methods=["GET"]),
        ]

    async def receive(self, request: Request) -> Response:
        """Store a take."""
        who, t = await run_in_threadpool(self._asking, request)
        try:
            check_origin(request, self._studio.url)
            if who is None:
                raise SignedOut
            body = await _body(request)
            return await run_in_threadpool(self._receive, who, request, body)
        except Told as problem:
            status = 401 if who is None or isinstance(problem, AccountInactive) else _STATUS.get(type(problem), 403)
            told = {"error": t(problem.text, **problem.values)}
            return JSONResponse(told, status_code=status, headers=_NO_STORE)

    async def sound(self, request: Request) -> Response:
        """The bytes of a take, or the range of them that is asked for."""
        return await run_in_threadpool(self._shown, request, partial(self._sound, request))

    async def picture(self, request: Request) -> Response:
        """The take drawn as waveform and spectrogram."""
        return await run_in_threadpool(self._shown, request, self._picture)

    def _asking(self, request: Request) -> tuple[Principal | None, Words]:
        who = self._auth.principal(request.cookies.get(self._studio.cookie_name))
        asked = closest_language(request.headers.get("accept-language"))
        return who, words_in(who.language if who and who.language else asked)

    def _receive(self, who: Principal, request: Request, data: bytes) -> Response:
        asked = request.query_params
        sent = Sent(asked.get("contributor", ""), asked.get("script", ""), asked.get("device", ""), data)
        recording = receive(self._studio.workspace, who, sent, self._studio.clock)
        return JSONResponse({"id": recording.id, "sha256": recording.sha256}, status_code=201, headers=_NO_STORE)

    def _shown(self, request: Request, show: Callable[[Take], Response]) -> Response:
        who, t = self._asking(request)
        if who is None:
            return _refusal(401, "Sign in to hear this.")
        try:
            with self._studio.workspace.database.reading() as session:
                take = visible_take(session, who, request.path_params["id"])
            return show(take)
        except UnknownTake as problem:
            return _refusal(404, t(problem.text))
        except (MissingBlob, DamagedBlob, MediaError):
            return _refusal(404, "The sound of this take is not in the project's store.")

    def _sound(self, request: Request, take: Take) -> Response:
        originals, sha256 = self._studio.workspace.originals, take.recording.sha256
        with originals.open(sha256) as stream:
            media_type = recognise(stream, sha256).types.get(Modality.AUDIO, "")  # type: ignore[arg-type]
        answer = send_blob(request, originals, sha256, media_type)
        answer.headers["Cache-Control"] = "no-store"  # whoever withdraws it is heard no more
        return answer

    def _picture(self, take: Take) -> Response:
        measures = {one.name: one.measure or 0.0 for one in findings_of(take.recording.checks)}
        drawn = self._pictures.get(
            take.recording.sha256, measures.get("leading_silence", 0.0), measures.get("trailing_silence", 0.0)
        )
        return Response(drawn, headers={**_NO_STORE, "Content-Disposition": "inline"}, media_type="image/png")


async def _body(request: Request) -> bytes:
    """The body, never more of it in memory than a take may have."""
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > MOST_TAKE_BYTES:
            raise TakeTooLong(minutes=MOST_TAKE_S // 60)
    return bytes(body)


def _refusal(status: int, text: str) -> Response:
    return Response(text, status_code=status, headers=_NO_STORE, media_type="text/plain")
