"""The messages of a session whose turns have not ended: who sent them, and which turns they are.

They are stored beside the session, so that versions that do not know them read it all the same.
"""

from typing import NamedTuple

MESSAGES = 8
"""The most messages that are remembered, the newest ones."""

TURNS = 40
"""The most turns that are remembered."""


class UnansweredMessage(NamedTuple):
    """A person's message; `person` is a hash of principal and sender."""

    person: str
    turn_ids: tuple[str, ...]


Unanswered = tuple[UnansweredMessage, ...]


def with_unanswered_message(waiting: Unanswered, added: UnansweredMessage) -> Unanswered:
    """Return the messages with one more, without the oldest if they are too many."""
    kept, room = [added], TURNS - len(added.turn_ids)
    for each in reversed(waiting[-MESSAGES + 1 :]):
        room -= len(each.turn_ids)
        if room < 0:
            break
        kept.insert(0, each)
    return tuple(kept)


def messages_left_unanswered(waiting: Unanswered, turn_id: str) -> Unanswered:
    """Return the messages without a turn that has ended."""
    left = (
        each._replace(turn_ids=tuple(other for other in each.turn_ids if other != turn_id))
        for each in waiting
    )
    return tuple(each for each in left if each.turn_ids)


def encode_messages_left_unanswered(waiting: Unanswered) -> str:
    """Return the text that is stored: a line for each message."""
    return "\n".join(" ".join((each.person, *each.turn_ids)) for each in waiting)


def decode_messages_left_unanswered(text: str) -> Unanswered:
    """Parse the text that is stored."""
    words = (line.split(" ") for line in text.splitlines())
    return tuple(UnansweredMessage(person, tuple(turn_ids)) for person, *turn_ids in words)
