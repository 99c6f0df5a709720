"""A sign-in service on loopback, as the standard says, that tests can make misbehave."""

import base64
import contextlib
import hashlib
import secrets
import socket
import threading
import time
from urllib.parse import unquote_plus, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.routing import Route

KEY = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
CLIENT_ID, CLIENT_SECRET = "studio", "a secret of the client"


class Provider:
    """Signs `person` in without asking. `spoil` overrides claims of the ID token; see the other switches."""

    def __init__(self):
        self.person = {"sub": "u-1", "name": "Mei Lin", "email": "mei@uni.test", "email_verified": True}
        self.spoil, self.denies, self.signs_with, self.header, self.issuer_told = {}, None, None, {}, None
        self.codes, self.asked, self.tokens, self.thin = {}, [], 0, False
        self.key, self.is_down = KEY, False
        self.algorithms = ["RS256"]
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.issuer = f"http://127.0.0.1:{self._listening.getsockname()[1]}/realm"
        self._server = uvicorn.Server(uvicorn.Config(self._app(), log_level="error"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]}, daemon=True)

    def start(self):
        self._thread.start()
        return self

    def stop(self):
        self._server.should_exit = True
        self._thread.join(10)
        self._listening.close()

    def _app(self):
        return Starlette(
            routes=[
                Route("/realm/.well-known/openid-configuration", self._metadata),
                Route("/realm/authorize", self._authorize),
                Route("/realm/token", self._token, methods=["POST"]),
                Route("/realm/userinfo", self._userinfo),
                Route("/realm/keys", lambda request: JSONResponse(KeySet([self.key]).as_dict(private=False))),
            ]
        )

    def _metadata(self, request):
        if self.is_down:
            return PlainTextResponse("out of order", status_code=503)
        return JSONResponse(
            {
                "issuer": self.issuer_told or self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
                "id_token_signing_alg_values_supported": self.algorithms,
                "code_challenge_methods_supported": ["S256"],
            }
        )

    def _authorize(self, request):
        asked = dict(request.query_params)
        self.asked.append(asked)
        if self.denies:
            answer = {"error": self.denies, "error_description": "<script>alert(1)</script>", "state": asked["state"]}
        else:
            code = secrets.token_urlsafe(16)
            self.codes[code] = asked
            answer = {"code": code, "state": asked["state"]}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", status_code=302)

    async def _token(self, request):
        if self.is_down:
            return PlainTextResponse("<html>out of order</html>", status_code=503)
        form = await request.form()
        given = base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        asked = self.codes.pop(form["code"], None)
        verifier = (
            base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        )
        fits = asked is not None and (verifier, form["redirect_uri"], asked["code_challenge_method"]) == (
            asked["code_challenge"], asked["redirect_uri"], "S256",
        )  # fmt: skip
        if not fits or unquote_plus(given) != f"{CLIENT_ID}:{CLIENT_SECRET}":
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        self.tokens += 1
        now = int(time.time())
        person = {"sub": self.person["sub"]} if self.thin else self.person
        claims = {
            "iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **person,
        } | self.spoil  # fmt: skip
        claims = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": "RS256", "kid": "one"} | self.header
        header = {name: value for name, value in header.items() if value is not None}
        token = jwt.encode(header, claims, self.signs_with or self.key, algorithms=[header["alg"]])
        return JSONResponse({"access_token": "for-user-info", "token_type": "Bearer", "id_token": token})

    def _userinfo(self, request):
        return JSONResponse(self.person)


@contextlib.contextmanager
def running():
    """A service that answers until the end of the block."""
    provider = Provider().start()
    try:
        yield provider
    finally:
        provider.stop()
