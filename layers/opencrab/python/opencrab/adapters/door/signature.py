"""Ed25519: whether bytes were signed by the owner of one of several public keys."""

from collections.abc import Iterable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from opencrab.domain.errors import Invalid

KEY_BYTES = 32


class PublicKeys:
    """Several keys, since an application's key can change while answers to the old one arrive."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Read keys as hex; raises Invalid for what is none, and when there is none."""
        self._keys = [_key(text) for text in keys]
        if not self._keys:
            raise Invalid("there is no public key", cure="copy the one of your application")

    def verify(self, signature: bytes, message: bytes) -> bool:
        """Whether one of the keys made this signature of this message."""
        return any(_is_by(key, signature, message) for key in self._keys)


def _key(text: str) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text.strip()))
    except ValueError:
        raise Invalid(
            f"{text!r} is no public key of Ed25519",
            cure=f"give {2 * KEY_BYTES} hexadecimal digits, as Discord shows them",
        ) from None


def _is_by(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
