"""Large journal bodies, kept under their own hash."""

from typing import Protocol


class Blobs(Protocol):
    """Content-addressed bytes: storing the same content twice stores it once."""

    def put(self, sha256: str, content: bytes) -> None:
        """Store the content under its hash."""

    def get(self, sha256: str) -> bytes:
        """Return the content; raises NotFound if it is missing or does not match its hash."""

    def remove(self, sha256: str) -> None:
        """Remove the content and all its old versions, if it exists."""
