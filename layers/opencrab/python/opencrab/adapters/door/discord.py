"""Discord for the door, without an HTTP library: was it signed there, and the answer at once."""

import json
from collections.abc import Iterable, Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from opencrab import __version__
from opencrab.adapters.door.http import PlainHttp
from opencrab.domain.errors import Invalid, Unavailable

USER_AGENT = f"DiscordBot (https://github.com/opencrab/opencrab, {__version__})"
ALREADY_ACKNOWLEDGED = 40_060

_HEADERS = {"Content-Type": "application/json", "User-Agent": USER_AGENT}
_DONE = (200, 204)


class PlainDiscordCallback:
    """The acknowledgement of interactions: POST /interactions/{id}/{token}/callback."""

    def __init__(self, http: PlainHttp, *, seconds: float) -> None:
        self._http = http
        self._seconds = seconds

    def acknowledge(self, interaction_id: str, token: str, answer: Mapping[str, object]) -> None:
        """Acknowledge an interaction; repeats are allowed.

        Raise Unavailable if Discord rejects it.
        """
        path = f"/interactions/{interaction_id}/{token}/callback"
        body = json.dumps(answer).encode()
        answered = self._http.post(path, body, _HEADERS, seconds=self._seconds)
        if answered.status in _DONE:
            return
        code = _code(answered.content)
        if code != ALREADY_ACKNOWLEDGED:
            raise Unavailable(
                f"Discord rejected the acknowledgement: HTTP {answered.status}, code {code}",
                cure="no action is needed: the acknowledgement is sent in the HTTP response "
                "instead",
            )


def _code(content: bytes) -> object:
    try:
        told = json.loads(content)
    except ValueError:
        return None
    return told.get("code") if isinstance(told, dict) else None


KEY_BYTES = 32


class DiscordPublicKeys:
    """The application's public keys; several, so that a key can be rotated."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Parse hexadecimal Ed25519 keys; raise Invalid for a malformed key or for none at all."""
        self._keys = [_key(text) for text in keys]
        if not self._keys:
            raise Invalid(
                "there is no public key of the Discord application",
                cure="copy it from the application's page in the Discord developer portal",
            )

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Check whether one of the keys made this signature of this message."""
        return any(_is_by(key, signature, message) for key in self._keys)


def _key(text: str) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text.strip()))
    except ValueError:
        raise Invalid(
            f"{text!r} is not a valid Ed25519 public key",
            cure=f"use {2 * KEY_BYTES} hexadecimal digits, as Discord shows them",
        ) from None


def _is_by(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
