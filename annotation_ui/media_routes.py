"""Media straight from the blob store: ranges, never a whole file in memory, nothing that a browser could run."""

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from annotation_ui.auth import Auth
from annotation_ui.media_links import MEDIA_PATH, MediaGrant, MediaLinks
from annotation_ui.permissions import Permission, Principal
from annotation_ui.silent_films import SilentFilms
from annotation_ui.studio import Studio
from annotation_ui.thumbnails import Thumbnails
from core.media.errors import MediaError
from evaluation.exam.sitting import shown_media
from warehouse.blobs import BlobStore, MissingBlob

CHUNK_BYTES = 256 * 1024
# What browsers show without running anything in it; all else (SVG, HTML, XML ...) is only offered for saving.
SHOWN_TYPES = frozenset(
    [
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/avif",
        "image/bmp",
        "audio/mpeg",
        "audio/wav",
        "audio/x-wav",
        "audio/flac",
        "audio/x-flac",
        "audio/ogg",
        "audio/opus",
        "audio/mp4",
        "audio/aac",
        "audio/webm",
        "video/mp4",
        "video/webm",
        "video/ogg",
        "video/quicktime",
        "video/x-matroska",
    ]
)
GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, max-age=600",
}


@dataclass(frozen=True)
class ByteRange:
    """Bytes from `start` to `end`, both included."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """How many bytes that is."""
        return self.end - self.start + 1


class UnsatisfiableRange(ValueError):
    """A well-formed range that lies outside the media (RFC 9110, 15.5.17)."""


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """The one range that is asked for; None for the whole, which is also the answer to what is malformed or manifold.

    Raises:
        UnsatisfiableRange: No byte of the media lies in it.
    """
    if header is None or not header.startswith("bytes=") or "," in header:
        return None
    first, dash, last = header.removeprefix("bytes=").strip().partition("-")
    if not dash or any(part and not (part.isascii() and part.isdigit()) for part in (first, last)):
        return None
    if first:
        start, end = int(first), min(int(last), size - 1) if last else size - 1
        if last and int(last) < start:
            return None
    elif last:
        start, end = max(size - int(last), 0), size - 1
    else:
        return None
    if start > end:
        raise UnsatisfiableRange(header)
    return ByteRange(start, end)


class MediaRoutes:
    """The route behind every signed media address."""

    def __init__(self, studio: Studio, auth: Auth) -> None:
        self._auth = auth
        self._cookie_name = studio.cookie_name
        self._links = MediaLinks(studio.key, studio.clock)
        self._blobs = studio.workspace.blobs
        self._thumbnails = Thumbnails(self._blobs, studio.thumbnail_folder)
        self._silent_films = SilentFilms(self._blobs, studio.thumbnail_folder)
        self._database = studio.workspace.database

    def routes(self) -> list[Route]:
        """For the studio's ASGI application."""
        return [Route(MEDIA_PATH + "/{token}", self.serve, methods=["GET", "HEAD"])]

    async def serve(self, request: Request) -> Response:
        """The media, or the part of it that is asked for."""
        return await run_in_threadpool(self._serve, request)

    def _serve(self, request: Request) -> Response:
        grant = self._links.grant(request.path_params["token"])
        if grant is None:
            return _refusal(403, "This address is no longer good; reload the page.")
        who = self._auth.principal(request.cookies.get(self._cookie_name))
        if who is None:
            return _refusal(401, "Sign in to see this.")
        if who.user_id != grant.user_id or not self._may_see(who, grant):
            return _refusal(403, "This address was made for somebody else.")
        try:
            if grant.variant == "small":
                return self._small(grant)
            if grant.variant == "silent":
                return self._silent(request, grant)
            return send_blob(request, self._blobs, grant.sha256, grant.media_type)
        except MissingBlob:
            return _refusal(404, "This media is not in the project's store.")
        except MediaError:
            return _refusal(404, "There is no picture of this media.")

    def _may_see(self, who: Principal, grant: MediaGrant) -> bool:
        """Whether the person still may: who sees no library sees the media of the exam question before them."""
        if who.may(Permission.SEE_LIBRARY) or who.may(Permission.SEE_ITEMS):
            return True
        if not who.may(Permission.TAKE_EXAM) or grant.variant == "small":
            return False
        with self._database.reading() as session:
            return grant.sha256 in shown_media(session, who.user_id)

    def _silent(self, request: Request, grant: MediaGrant) -> Response:
        file = self._silent_films.get(grant.sha256)
        if file is None:
            return send_blob(request, self._blobs, grant.sha256, grant.media_type)
        naming = _naming(grant.sha256, grant.media_type)
        return FileResponse(file, headers={**GUARDS, **naming}, media_type=naming["Content-Type"])

    def _small(self, grant: MediaGrant) -> Response:
        picture, media_type = self._thumbnails.get(grant.sha256, grant.media_type)
        return Response(picture, headers={**GUARDS, "Content-Disposition": "inline"}, media_type=media_type)


def send_blob(request: Request, blobs: BlobStore, sha256: str, media_type: str) -> Response:
    """Stored bytes, or the range of them that is asked for, with guards against whatever they hold.

    Raises:
        MissingBlob: They are not in the store.
    """
    size = _size(blobs, sha256)
    etag = f'"{sha256}"'
    headers = {**GUARDS, **_naming(sha256, media_type), "Accept-Ranges": "bytes", "ETag": etag}
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    wanted = request.headers.get("range")
    if request.headers.get("if-range", etag) != etag:
        wanted = None
    try:
        part = parse_range(wanted, size)
    except UnsatisfiableRange:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    sent = part or ByteRange(0, size - 1)
    headers["Content-Length"] = str(sent.length)
    if part is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.end}/{size}"
    status = 206 if part else 200
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_read(blobs, sha256, sent), status_code=status, headers=headers)


def _size(blobs: BlobStore, sha256: str) -> int:
    with blobs.open(sha256) as stream:
        return stream.seek(0, 2)


def _read(blobs: BlobStore, sha256: str, part: ByteRange) -> Iterator[bytes]:
    with blobs.open(sha256) as stream:
        stream.seek(part.start)
        left = part.length
        while left > 0 and (chunk := stream.read(min(CHUNK_BYTES, left))):
            left -= len(chunk)
            yield chunk


def _naming(sha256: str, media_type: str) -> dict[str, str]:
    shown = media_type in SHOWN_TYPES
    kind = "inline" if shown else "attachment"
    return {
        "Content-Type": media_type if shown else "application/octet-stream",
        "Content-Disposition": f'{kind}; filename="{sha256[:16]}"',
    }


def _refusal(status: int, text: str) -> Response:
    return Response(text, status_code=status, headers={**GUARDS, "Cache-Control": "no-store"}, media_type="text/plain")
