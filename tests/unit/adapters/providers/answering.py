"""Connections without a network: every request is answered alike, or fails."""

from collections.abc import Iterable
from dataclasses import dataclass

import httpcore


@dataclass
class Answering:
    """Connections over which every request is answered alike, or fails."""

    body: Iterable[bytes] = ()
    error: Exception | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        if self.error is not None:
            raise self.error
        return httpcore.Response(200, headers=self.headers, content=self.body)

    def close(self) -> None:
        """Nothing is open."""
