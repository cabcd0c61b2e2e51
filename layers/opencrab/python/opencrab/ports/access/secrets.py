"""Secrets: keys of providers, asked for by name when they are needed."""

from typing import Protocol


class Secrets(Protocol):
    """Named secrets of one place; no value ever appears in an error or a log."""

    def get(self, name: str) -> str | None:
        """The secret of this name; None when there is none.

        Raises Unavailable when the place was never read, naming it and the cure.
        """

    def put(self, name: str, value: str) -> None:
        """Keep a secret; whoever asks here afterwards gets it. Raises Unavailable with the cure."""

    def forget(self) -> None:
        """Read the place again before the next answer, since somebody changed it."""
