"""OpenID Connect, by Authlib: sends people to the sign-in service, and learns who came back.

The authorization code flow with PKCE, state and nonce. The ID token counts only when it is signed by a key of the
service, names this studio as its audience and the service as its issuer, and carries the nonce of this very browser.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from annotation_ui.told import Told
from annotation_ui.words import N_
from core.errors import MissingExtra
from core.settings import Oidc

CALLBACK_PATH = "/auth/oidc/callback"
LEEWAY_S = 120
TIMEOUT_S = 10
LONGEST_ID = 512
# Signatures that only the service can make: with HS256 the client's own secret would do, with "none" nothing.
_SIGNATURES = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
_log = logging.getLogger(__name__)


class ServiceDown(Told):
    """A sign-in service that does not answer."""

    text = N_("{service} cannot be reached just now. Try again in a minute, or sign in with a name and a password.")


class ServiceRefused(Told):
    """Somebody who was turned away there, or turned back."""

    text = N_("{service} did not let you in, or you cancelled. Try again, or sign in with a name and a password.")


class SignInStale(Told):
    """An answer to a question that this browser did not ask, or asked too long ago."""

    text = N_("This sign-in took too long, was used before or was begun in another window. Start it again here.")


class ClocksDiffer(Told):
    """A fresh token that seems to be from another time."""

    text = N_("The clocks of this studio and of {service} differ, so nobody can be let in. Tell a maintainer.")


class AnswerNotTrusted(Told):
    """An answer of the service that does not prove who somebody is."""

    text = N_("{service} sent an answer that does not prove who you are. Try again; if it stays so, tell a maintainer.")


@dataclass(frozen=True)
class Identity:
    """Somebody as the service knows them; `email` is None unless the service says that it checked it."""

    issuer: str
    subject: str
    email: str | None
    name: str

    @property
    def external_id(self) -> str:
        """What an account here is linked to; an issuer has no fragment, so no two are alike."""
        return f"{self.issuer}#{self.subject}"


class SignInService:
    """The service that `[oidc]` names, with this studio as its client."""

    def __init__(self, oidc: Oidc, studio_url: str) -> None:
        self._oidc = oidc
        self._callback = f"{studio_url}{CALLBACK_PATH}"
        self.label = oidc.shown_label
        self._client = _client(oidc)

    async def begin(self, request: Request) -> Response:
        """The redirect to the service; what the answer must fit is kept in `request.session`.

        Raises:
            ServiceDown, AnswerNotTrusted: As they say.
        """
        with self._told():
            await self._prepare()
            response: Response = await self._client.authorize_redirect(request, self._callback)
        return response

    async def finish(self, request: Request) -> Identity:
        """Who came back.

        Raises:
            ServiceDown, ServiceRefused, SignInStale, ClocksDiffer, AnswerNotTrusted: As they say.
        """
        with self._told():
            metadata = await self._prepare()
            token = await self._client.authorize_access_token(request, claims_options=self._claims(), leeway=LEEWAY_S)
            claims = token.get("userinfo")
            if claims is None:
                raise ValueError("no ID token")
            if "email" not in claims and "userinfo_endpoint" in metadata:
                claims = await self._with_more(claims, token)
        return self._identity(claims)

    async def _prepare(self) -> dict[str, Any]:
        metadata: dict[str, Any] = await self._client.load_server_metadata()
        if metadata.get("issuer") != self._oidc.issuer:
            found = metadata.get("issuer")
            metadata.clear()  # It is read once only, and may be set right while the studio runs.
            raise ValueError(f"it calls itself {found!r}")
        offered = metadata.get("id_token_signing_alg_values_supported") or []
        metadata["id_token_signing_alg_values_supported"] = [one for one in offered if one in _SIGNATURES] or ["RS256"]
        ways = metadata.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        with_secret = "client_secret_basic" if "client_secret_basic" in ways else "client_secret_post"
        metadata["token_endpoint_auth_method"] = with_secret if self._oidc.client_secret else "none"
        return metadata

    def _claims(self) -> dict[str, dict[str, Any]]:
        return {
            "iss": {"essential": True, "value": self._oidc.issuer},
            "aud": {"essential": True, "value": self._oidc.client_id},
            "sub": {"essential": True},
        }

    async def _with_more(self, claims: dict[str, Any], token: dict[str, Any]) -> dict[str, Any]:
        """Some services put the e-mail only where the access token leads."""
        more = await self._client.userinfo(token=token)
        if more.get("sub") != claims["sub"]:
            raise ValueError("its user info is about somebody else")
        return {**more, **claims}

    def _identity(self, claims: dict[str, Any]) -> Identity:
        subject, email = str(claims["sub"]), claims.get("email")
        is_checked = claims.get("email_verified") in (True, "true")
        found = Identity(
            issuer=self._oidc.issuer,
            subject=subject,
            email=email if is_checked and isinstance(email, str) else None,
            name=str(claims.get("name") or claims.get("preferred_username") or ""),
        )
        if len(found.external_id) > LONGEST_ID:
            raise AnswerNotTrusted(service=self.label)
        return found

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What can go wrong between two servers, in the reader's words; the log has the rest."""
        import httpx2
        from authlib.integrations.base_client.errors import MismatchingStateError, OAuthError
        from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError

        try:
            yield
        except MismatchingStateError as error:
            raise SignInStale from error
        except OAuthError as error:
            _log.warning("signing in through %s failed: %s", self._oidc.issuer, error.error)
            raise self._refusal(error.error) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            _log.warning("%s cannot be reached: %r", self._oidc.issuer, error)
            raise ServiceDown(service=self.label) from error
        except JoseError as error:
            _log.warning("%s sent a bad token: %r", self._oidc.issuer, error)
            of_time = isinstance(error, InvalidClaimError) and getattr(error, "claim", None) in {"iat", "nbf"}
            if of_time or isinstance(error, ExpiredTokenError):
                raise ClocksDiffer(service=self.label) from error
            raise AnswerNotTrusted(service=self.label) from error
        except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
            # Authlib takes the service's documents as they come: any of these says that one has another shape.
            _log.warning("%s sent what cannot be read: %r", self._oidc.issuer, error)
            raise AnswerNotTrusted(service=self.label) from error

    def _refusal(self, error: str) -> Told:
        if error == "access_denied":
            return ServiceRefused(service=self.label)
        if error in {"server_error", "temporarily_unavailable"}:
            return ServiceDown(service=self.label)
        return SignInStale() if error == "invalid_grant" else AnswerNotTrusted(service=self.label)


def _client(oidc: Oidc) -> Any:
    try:
        from authlib.integrations.starlette_client import OAuth
    except ModuleNotFoundError as error:
        raise MissingExtra("Signing in by OpenID Connect", "studio") from error
    return OAuth().register(
        "oidc",
        client_id=oidc.client_id,
        client_secret=oidc.client_secret.get_secret_value() if oidc.client_secret else None,
        server_metadata_url=f"{oidc.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256", "timeout": TIMEOUT_S},
    )
