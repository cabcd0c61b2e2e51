"""Large journal bodies, kept under their own hash."""

from typing import Protocol


class Blobs(Protocol):
    """Content-addressed bytes: put twice is put once."""

    def put(self, sha256: str, content: bytes) -> None:
        """Keep the content under its hash."""

    def get(self, sha256: str) -> bytes:
        """The content; raises NotFound when it is missing or is not what the hash says."""

    def remove(self, sha256: str) -> None:
        """Remove the content with all that was ever kept of it, if it is there."""
