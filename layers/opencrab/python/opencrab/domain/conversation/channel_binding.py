"""The binding of an outside channel, such as a Discord channel, to its session."""

from opencrab.domain.conversation.message import Channel
from opencrab.domain.value import Identifier, Value

PLACE = "place"
"""The kind of document that binds a channel to a session; its id is `kind.address`."""


class ChannelBinding(Value):
    """The session that a channel is bound to."""

    session_id: Identifier


def conversation_place_of_channel(channel: Channel) -> str:
    """Return the id of the binding of a channel; answers to one message there have the same."""
    return f"{channel.kind}.{channel.address.partition('/')[0]}"
