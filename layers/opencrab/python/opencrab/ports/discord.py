"""Discord's API, as far as agents are answered, shown and set up through it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from opencrab.domain.discord.community import InteractionReply

Payload = Mapping[str, Any]
"""A message or a response as Discord describes it; mentions are switched off by the adapter."""


@dataclass(frozen=True)
class Attachment:
    """A file that travels with a message."""

    name: str
    content: bytes
    media_type: str = "text/plain; charset=utf-8"


class Discord(Protocol):
    """Calls to Discord; each is one HTTP request, unless a rate limit makes it wait first.

    All raise Unavailable (nobody knows whether it was done; later), NeverSent (it was certainly not
    done; later), NotFound, Refused (token or permission), Invalid (Discord's own words), TooLarge.
    An interaction whose acknowledgement has not spread yet is NeverSent, not NotFound.
    """

    def edit_reply(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        """Replace the first answer to an interaction; answers the message's id."""

    def delete_reply(self, reply: InteractionReply) -> None:
        """Take the first answer back; one that is gone is no error."""

    def follow_up(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        """Answer an interaction once more; answers the message's id."""

    def post(
        self, channel_id: str, message: Payload, *files: Attachment, nonce: str, token: str | None
    ) -> str:
        """Post as the bot, or as that of another token's secret; answers the message's id.

        Within some minutes Discord answers the same nonce with the message that is there.
        """

    def edit(
        self, channel_id: str, message_id: str, message: Payload, *, token: str | None = None
    ) -> None:
        """Replace a message of the bot's own."""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Any other call as the bot, such as for its commands; answers what Discord answered."""
