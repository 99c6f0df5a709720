"""The pages outside the studio's door: signing in and out, and one-time links. Plain forms that need no script."""

from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from annotation_ui.accounts import MIN_PASSWORD_LENGTH
from annotation_ui.auth import LINK_PATH, SESSION_LIFE, Auth, DeadLink, SignedIn
from annotation_ui.html import icon_address, render, stylesheet
from annotation_ui.studio import Studio
from annotation_ui.told import Told
from annotation_ui.words import LANGUAGES, N_, Words, closest_language, words_in

SIGN_IN_PATH = "/auth/sign-in"
SIGN_OUT_PATH = "/auth/sign-out"
OIDC_PATH = "/auth/oidc"
LANGUAGE_COOKIE = "interplay_language"
_YEAR_S = 365 * 24 * 3600
_GUARDS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class ForeignForm(Told):
    """A form that another site sent."""

    text = N_("This form was not sent from this studio. Open the page again and retry.")


class AuthRoutes:
    """Sign-in, sign-out and one-time links over HTTP; only here is the session cookie set, out of scripts' reach."""

    def __init__(self, studio: Studio, auth: Auth) -> None:
        self._auth = auth
        self._studio_url = studio.url
        oidc = studio.workspace.project.settings.oidc
        self._service = oidc.shown_label if oidc else None
        self._cookie_name = studio.cookie_name
        self._project_name = studio.workspace.project.root.name

    def routes(self) -> list[Route]:
        """For the studio's ASGI application."""
        return [
            Route(SIGN_IN_PATH, self.show_sign_in, methods=["GET"]),
            Route(SIGN_IN_PATH, self.sign_in, methods=["POST"]),
            Route(SIGN_OUT_PATH, self.sign_out, methods=["POST"]),
            Route(LINK_PATH + "/{link}", self.show_link, methods=["GET"]),
            Route(LINK_PATH + "/{link}", self.use_link, methods=["POST"]),
        ]

    async def show_sign_in(self, request: Request) -> Response:
        """The sign-in form; who is signed in already goes on."""
        if await run_in_threadpool(self._auth.principal, request.cookies.get(self._cookie_name)):
            return RedirectResponse(local_path(request.query_params.get("next")), status_code=303)
        return self._sign_in_page(request, None, local_path(request.query_params.get("next")))

    async def sign_in(self, request: Request) -> Response:
        """Check a name and a password, and set the cookie."""
        form = await request.form()
        name, password = str(form.get("name", "")).strip(), str(form.get("password", ""))
        onward = local_path(str(form.get("next", "")))
        try:
            check_origin(request, self._studio_url)
            signed_in = await run_in_threadpool(self._auth.sign_in, name, password)
        except Told as problem:
            return self._sign_in_page(request, problem, onward, name)
        return self.welcome(request, signed_in, onward)

    async def sign_out(self, request: Request) -> Response:
        """End the session here and in the database."""
        try:
            check_origin(request, self._studio_url)
        except Told as problem:
            return self.refuse(request, problem)
        await run_in_threadpool(self._auth.sign_out, request.cookies.get(self._cookie_name))
        response = RedirectResponse(SIGN_IN_PATH, status_code=303)
        response.delete_cookie(self._cookie_name, httponly=True, samesite="lax")
        return response

    async def show_link(self, request: Request) -> Response:
        """The form behind a one-time link."""
        try:
            owner = await run_in_threadpool(self._auth.link_owner, request.path_params["link"])
        except DeadLink as problem:
            return self.refuse(request, problem)
        return self._link_page(request, owner.name if owner else None)

    async def use_link(self, request: Request) -> Response:
        """Use a one-time link up, and sign its owner in."""
        form = await request.form()
        link, name = request.path_params["link"], str(form.get("name", "")).strip()
        password = str(form.get("password", ""))
        try:
            owner = await run_in_threadpool(self._auth.link_owner, link)
        except DeadLink as problem:
            return self.refuse(request, problem)
        try:
            check_origin(request, self._studio_url)
            if password != str(form.get("repeated", "")):
                raise PasswordsDiffer
            display_name = str(form.get("display_name", ""))
            signed_in = await run_in_threadpool(self._auth.set_up, link, password, name, display_name)
        except DeadLink as problem:
            return self.refuse(request, problem)
        except Told as problem:
            return self._link_page(request, owner.name if owner else None, problem, typed=name)
        return self.welcome(request, signed_in, "/")

    def refuse(self, request: Request, problem: Told, onward: str = "/") -> Response:
        """The sign-in form with words for why somebody is not in."""
        return self._sign_in_page(request, problem, onward)

    def tell(self, request: Request, problem: Told) -> Response:
        """Words for why the account of somebody who is signed in was not linked, and the way back."""
        return self._page(request, "not_linked.html", problem)

    def _sign_in_page(self, request: Request, problem: Told | None, onward: str, name: str = "") -> Response:
        address = f"{OIDC_PATH}?{urlencode({'next': onward})}" if self._service else None
        return self._page(
            request, "sign_in.html", problem, next=onward, name=name, service=self._service, service_address=address
        )

    def _link_page(self, request: Request, owner: str | None, problem: Told | None = None, typed: str = "") -> Response:
        return self._page(
            request, "link.html", problem, owner=owner, typed=typed, least=MIN_PASSWORD_LENGTH,
            link=request.path_params["link"],
        )  # fmt: skip

    def welcome(self, request: Request, signed_in: SignedIn, onward: str) -> Response:
        """Into the studio, with the cookie of a new session."""
        response = RedirectResponse(onward, status_code=303)
        response.set_cookie(
            self._cookie_name,
            signed_in.token,
            max_age=int(SESSION_LIFE.total_seconds()),
            httponly=True,
            samesite="lax",
            # A proxy that speaks TLS is known by the setting: any client can send the headers that proxies send.
            secure="https" in {request.url.scheme, urlsplit(self._studio_url or "").scheme},
        )
        return response

    def _page(self, request: Request, template: str, problem: Told | None = None, **values: object) -> Response:
        t = _reader(request)
        others = [(code, name, _with_language(request, code)) for code, name in LANGUAGES.items() if code != t.language]
        text = render(
            template, t, icon=icon_address(), style=stylesheet(), project=self._project_name, others=others,
            problem=t(problem.text, **problem.values) if problem else None, **values,
        )  # fmt: skip
        response = HTMLResponse(text, status_code=400 if problem else 200, headers=_GUARDS)
        if "lang" in request.query_params:
            response.set_cookie(LANGUAGE_COOKIE, t.language, max_age=_YEAR_S, samesite="lax")
        return response


class PasswordsDiffer(Told):
    """A new password that was typed in two ways."""

    text = N_("The two passwords are not the same. Type the same one twice.")


def _reader(request: Request) -> Words:
    named = request.query_params.get("lang") or request.cookies.get(LANGUAGE_COOKIE)
    return words_in(closest_language(named or request.headers.get("accept-language")))


def _with_language(request: Request, code: str) -> str:
    kept = {"next": request.query_params["next"]} if "next" in request.query_params else {}
    return f"{request.url.path}?{urlencode({**kept, 'lang': code})}"


def local_path(path: str | None) -> str:
    """A path within the studio; whatever leads elsewhere becomes the start page."""
    if not path or not path.startswith("/") or path[1:2] in {"/", "\\"} or "\\" in path:
        return "/"
    return path if not any(ord(character) < 0x20 for character in path) else "/"


def check_origin(request: HTTPConnection, studio_url: str | None = None) -> None:
    """Browsers name the site that a form comes from; a lax cookie alone does not stop a foreign sign-in form.

    A proxy may call this server by another host than the one that browsers know: the studio's URL is its own, too.

    Raises:
        ForeignForm: It is another site.
    """
    origin = request.headers.get("origin")
    own = {request.headers.get("host"), urlsplit(studio_url or "").netloc or None}
    if origin is not None and urlsplit(origin).netloc not in own:
        raise ForeignForm
