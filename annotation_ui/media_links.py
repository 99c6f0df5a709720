"""Short-lived signed addresses of media: each is good for one person, one piece of media, a few minutes."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from itsdangerous import BadData, URLSafeSerializer

from core.content import MediaRef
from core.ids import Clock, utc_now

MEDIA_PATH = "/files"
WINDOW = timedelta(minutes=10)
Variant = Literal["whole", "small", "silent"]


@dataclass(frozen=True)
class MediaGrant:
    """What a signed address allows: `small` is a picture of the media for lists, `silent` a film without its sound."""

    sha256: str
    media_type: str
    user_id: str
    variant: Variant
    expires_s: int


class MediaLinks:
    """Signs and reads media addresses.

    The expiry is that of a whole window, so that reruns within it draw the same address and a player goes on playing:
    an address lives for one to two windows.
    """

    def __init__(self, key: bytes, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._serializer = URLSafeSerializer(
            key, salt="interplay.media", signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256}
        )

    def url(self, media: MediaRef, user_id: str, variant: Variant = "whole") -> str:
        """The address of one piece of media for one person."""
        window_s = int(WINDOW.total_seconds())
        expires_s = (int(self._clock().timestamp()) // window_s + 2) * window_s
        token = self._serializer.dumps([media.sha256, media.media_type, user_id, variant, expires_s])
        return f"{MEDIA_PATH}/{token.decode() if isinstance(token, bytes) else token}"

    def grant(self, token: str) -> MediaGrant | None:
        """What a token allows; None when it is not ours or its time is over."""
        try:
            sha256, media_type, user_id, variant, expires_s = self._serializer.loads(token)
        except (BadData, ValueError, TypeError):
            return None
        if expires_s <= self._clock().timestamp():
            return None
        return MediaGrant(sha256, media_type, user_id, variant, expires_s)
