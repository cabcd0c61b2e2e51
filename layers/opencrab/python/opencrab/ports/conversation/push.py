"""Pushing: how something is said to a connection that somebody else holds open."""

from typing import Protocol


class Push(Protocol):
    """Open connections by their ids; frames to one arrive in the order in which they were sent."""

    def send(self, connection_id: str, text: str) -> None:
        """Send one text frame.

        Raises NotFound if the connection is closed, Unavailable if it does not accept it in time.
        """

    def disconnect(self, connection_id: str) -> None:
        """Close a connection; a closed one is no error. Raises Unavailable."""
