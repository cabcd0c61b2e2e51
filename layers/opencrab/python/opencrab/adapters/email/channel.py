"""Channel: utterances as mails that answer a mail.

SMTP knows no repeat: an answer that a server may have taken is not sent again.
"""

from typing import Protocol

from opencrab.adapters.email.rendering import compose_email_reply, email_text_of_utterance
from opencrab.domain.chat.event import chat_address
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.email.letter import LETTER, Letter, own_message_id
from opencrab.domain.errors import NeverSent, NotFound, Unavailable
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.documents import Documents


class Post(Protocol):
    """What sends mails."""

    def send(self, sender: str, recipient: str, content: bytes) -> None:
        """Send a mail; raises NeverSent, Refused, and Unavailable if it may have been sent."""


class EmailChannel:
    """`ports.conversation.channel.DeliveryChannel` for e-mail; an utterance is one mail."""

    def __init__(self, post: Post, facts: Documents) -> None:
        self._post = post
        self._facts = facts

    def piece_count(self, utterance: Utterance) -> int:  # noqa: ARG002 - a mail has any length
        return 1

    def is_idempotent(self, utterance: Utterance) -> bool:
        return not utterance.text.strip()

    def send(self, utterance: Utterance) -> None:
        if not utterance.text.strip():
            return
        room_id, event_id = chat_address(utterance.channel)
        letter = letter_of_email_event(self._facts, event_id)
        content = compose_email_reply(
            letter,
            email_text_of_utterance(utterance, letter),
            own_message_id(room_id, utterance.key, letter.alias),
            utterance.created_at,
        )
        self._post.send(letter.alias, letter.address, content)

    def show(self, place: Place, panel: Panel) -> None:
        """Do nothing: a mail cannot be replaced."""


def letter_of_email_event(facts: Documents, event_id: str | None) -> Letter:
    """Return the mail that an event was.

    Raises NotFound if it is not kept any more, NeverSent if the store is unavailable.
    """
    try:
        kept = None if event_id is None else facts.get(INSTALLATION_FACTS, LETTER, event_id)
    except Unavailable as error:
        raise NeverSent(error.message, cure=error.cure) from error
    if kept is None:
        raise NotFound(
            "the mail to answer is not kept any more",
            cure="the answer is in the session; its person can write again",
        )
    return kept.read(Letter)
