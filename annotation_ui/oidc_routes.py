"""The way to the sign-in service and back, over HTTP; what it opens is a session of the studio's own."""

import hashlib

from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from annotation_ui.auth import Auth
from annotation_ui.auth_routes import OIDC_PATH, AuthRoutes, ForeignForm, check_origin, local_path
from annotation_ui.oidc import CALLBACK_PATH, Identity, SignInService, SignInStale
from annotation_ui.outsiders import enter, link_own
from annotation_ui.permissions import Principal
from annotation_ui.studio import Studio
from annotation_ui.told import Told
from core.settings import Oidc

LINK_OWN_PATH = f"{OIDC_PATH}/link"
# How long somebody may take there: long enough to find a second factor.
FLOW_LIFE_S = 15 * 60
_NEXT, _FOR = "next", "for"


class OidcRoutes:
    """There, back, and the linking of one's own account; none of them where the project names no service."""

    def __init__(self, studio: Studio, auth: Auth, door: AuthRoutes) -> None:
        self._studio = studio
        self._auth = auth
        self._door = door

    def routes(self) -> list[Route]:
        """For the studio's ASGI application."""
        settings = self._studio.workspace.project.settings
        if settings.oidc is None or settings.studio_url is None:
            return []
        self._oidc: Oidc = settings.oidc
        self._service = SignInService(settings.oidc, settings.studio_url)
        # Only what one way there and back needs, only for this path, and only in the browser that began it.
        kept = Middleware(
            SessionMiddleware,
            secret_key=hashlib.sha256(b"oidc" + self._studio.key).hexdigest(),
            session_cookie=f"{self._studio.cookie_name}_oidc",
            max_age=FLOW_LIFE_S,
            path=OIDC_PATH,
            https_only=settings.studio_url.startswith("https:"),
        )
        ways = (
            (OIDC_PATH, self.begin, "GET"),
            (LINK_OWN_PATH, self.begin_link, "POST"),
            (CALLBACK_PATH, self.come_back, "GET"),
        )
        return [Route(path, way, methods=[method], middleware=[kept]) for path, way, method in ways]

    async def begin(self, request: Request) -> Response:
        """Off to the service, to sign in."""
        request.session.clear()
        request.session[_NEXT] = local_path(request.query_params.get("next"))
        try:
            return await self._service.begin(request)
        except Told as problem:
            return self._door.refuse(request, problem, request.session[_NEXT])

    async def begin_link(self, request: Request) -> Response:
        """Off to the service, to link one's own account: by a form only, so that no other site can start it."""
        try:
            check_origin(request, self._studio.url)
            who = await self._visitor(request)
            if who is None:
                raise SignInStale
            request.session.clear()
            request.session[_FOR] = who.user_id
            return await self._service.begin(request)
        except ForeignForm as problem:
            return self._door.refuse(request, problem)
        except Told as problem:
            return self._door.tell(request, problem)

    async def come_back(self, request: Request) -> Response:
        """Back from the service: a session, a link, or words for why not."""
        onward, for_whom = request.session.get(_NEXT), request.session.get(_FOR)
        try:
            identity = await self._service.finish(request)
            if for_whom is not None:
                return await self._link(request, identity, for_whom)
            signed_in = await run_in_threadpool(
                enter, self._studio.workspace.database, self._auth, self._oidc, identity, self._studio.clock
            )
        except Told as problem:
            told = self._door.tell if for_whom is not None else self._door.refuse
            return told(request, problem)
        finally:
            request.session.clear()
        return self._door.welcome(request, signed_in, local_path(onward))

    async def _link(self, request: Request, identity: Identity, for_whom: str) -> Response:
        who = await self._visitor(request)
        if who is None or who.user_id != for_whom:
            raise SignInStale

        def store() -> None:
            with self._studio.workspace.database.session() as session:
                link_own(session, who, self._oidc, identity, self._studio.clock)

        await run_in_threadpool(store)
        return RedirectResponse("/account", status_code=303)

    async def _visitor(self, request: Request) -> Principal | None:
        return await run_in_threadpool(self._auth.principal, request.cookies.get(self._studio.cookie_name))
