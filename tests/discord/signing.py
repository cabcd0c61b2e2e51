"""Signing: what Discord does with every interaction before it sends it."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class Signer:
    """A key pair of an application; the same seed is the same pair."""

    def __init__(self, seed: bytes = b"opencrab's own fake of Discord: 1") -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed[:32])

    @property
    def public_key(self) -> str:
        """What the application's first page shows, in hexadecimal."""
        return self._private.public_key().public_bytes_raw().hex()

    def headers(self, timestamp: str, body: bytes) -> dict[str, str]:
        """The headers that an interaction travels with."""
        return {
            "content-type": "application/json",
            "user-agent": "Discord-Interactions/1.0 (+https://discord.com)",
            "x-signature-ed25519": self._private.sign(timestamp.encode() + body).hex(),
            "x-signature-timestamp": timestamp,
        }
