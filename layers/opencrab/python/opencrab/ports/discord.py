"""Discord's API, as far as agents are answered, shown and set up through it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from opencrab.domain.discord.community import InteractionReply

Payload = Mapping[str, Any]
"""A message or a response in Discord's format; the adapter switches mentions off."""


@dataclass(frozen=True)
class Attachment:
    """A file attached to a message."""

    name: str
    content: bytes
    media_type: str = "text/plain; charset=utf-8"


class Discord(Protocol):
    """Calls to Discord; each is one HTTP request, after a wait if it is rate limited.

    All raise Unavailable (retry later; the call may have been done), NeverSent (retry later; the
    call was certainly not done), NotFound, Refused (token or permission), Invalid (with Discord's
    message), TooLarge. For an interaction whose acknowledgement has not spread yet it is NeverSent,
    not NotFound.
    """

    def edit_reply(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        """Replace the first answer to an interaction; returns the message's id."""

    def find_reply(self, reply: InteractionReply) -> str:
        """Return the message id of the first answer; raises NeverSent at a rate limit."""

    def update_reply(self, reply: InteractionReply, message: Payload) -> str:
        """Replace the first answer by one that another will soon replace; returns its id.

        Raises NeverSent instead of waiting, and before the last request of a rate limit is used.
        """

    def delete_reply(self, reply: InteractionReply) -> None:
        """Delete the first answer; one that is gone is no error, a token that is over NotFound."""

    def follow_up(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        """Send a further answer to an interaction; returns the message's id."""

    def post(
        self, channel_id: str, message: Payload, *files: Attachment, nonce: str, token: str | None
    ) -> str:
        """Post as the bot, or as the bot of another token; returns the message's id.

        Within some minutes Discord returns the existing message for the same nonce.
        """

    def edit(
        self,
        channel_id: str,
        message_id: str,
        message: Payload,
        *files: Attachment,
        token: str | None = None,
    ) -> None:
        """Replace a message of the bot's own."""

    def delete(self, channel_id: str, message_id: str) -> None:
        """Delete a message of the bot's own; one that is gone is no error."""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Make any other API call as the bot, such as for its commands; returns the response."""
