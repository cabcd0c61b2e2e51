"""Secrets: keys of providers, asked for by name when they are needed."""

from typing import Protocol


class Secrets(Protocol):
    """Named secrets of one place; no value ever appears in an error or a log."""

    def get(self, name: str) -> str | None:
        """Return the secret of this name, or None.

        Raises Unavailable if the store could never be read; the message names it, with the cure.
        """

    def put(self, name: str, value: str) -> None:
        """Store a secret; later calls of `get` here return it.

        Raises Unavailable with the cure.
        """

    def forget(self) -> None:
        """Drop cached secrets: the next `get` reads the store again."""
