"""Pushing: how something is said to a connection that somebody else holds open."""

from typing import Protocol


class Push(Protocol):
    """Connections by their ids; what is sent to one arrives in the order in which it was sent."""

    def send(self, connection_id: str, text: str) -> None:
        """Send one text frame.

        Raises NotFound when the connection is gone, Unavailable when it does not take it in time.
        """

    def cut(self, connection_id: str) -> None:
        """End a connection; one that is gone is fine. Raises Unavailable."""
