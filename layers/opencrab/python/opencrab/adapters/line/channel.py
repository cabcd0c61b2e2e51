"""Channel: utterances on LINE, by an event's reply token while it holds, else as pushed messages.

A reply costs nothing and works once; a pushed message counts against the month's quota and has a
retry key, by which a repeat is shown once.
"""

from datetime import UTC, datetime, timedelta
from uuid import NAMESPACE_URL, uuid5

from opencrab.adapters.line.client import LineClient
from opencrab.adapters.line.rendering import Payload, line_requests_of_utterance
from opencrab.domain.chat.event import REPLY, ReplyToken, chat_address
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Changed, NeverSent, Unavailable
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.documents import Documents

RETRY_KEY_KNOWN = timedelta(hours=23)
"""How long LINE surely knows a retry key: it says 24 hours."""

_OVER = datetime(1970, 1, 1, tzinfo=UTC)


class LineChannel:
    """`ports.conversation.channel.DeliveryChannel` for LINE; a piece is up to five messages."""

    def __init__(self, line: LineClient, facts: Documents, clock: Clock) -> None:
        self._line = line
        self._facts = facts
        self._clock = clock

    def piece_count(self, utterance: Utterance) -> int:
        return max(len(line_requests_of_utterance(utterance)), 1)

    def is_idempotent(self, utterance: Utterance) -> bool:
        """Check whether sending twice shows it once: a token works once, a retry key counts once.

        What was sent by a token before and would be pushed now may be seen twice.
        """
        if not utterance.text.strip():
            return True
        now, kept = self._kept(utterance.channel)
        since = utterance.since or now
        is_reply = _open_token(utterance, kept, now) is not None
        was_reply = _open_token(utterance, kept, since) is not None
        if is_reply or was_reply:
            return is_reply and was_reply
        return now - since < RETRY_KEY_KNOWN

    def send(self, utterance: Utterance) -> None:
        requests = line_requests_of_utterance(utterance)
        if utterance.piece >= len(requests):
            return
        messages = requests[utterance.piece]
        now, kept = self._kept(utterance.channel)
        token = _open_token(utterance, kept, now)
        if kept is not None and token is not None and self._is_replied(kept, token, messages):
            return
        to, _ = chat_address(utterance.channel)
        self._line.push(to, messages, retry_key=_retry_key(utterance))

    def show(self, place: Place, panel: Panel) -> None:
        """Do nothing: LINE has no message that can be replaced."""

    def _kept(self, place: Place) -> tuple[datetime, Document | None]:
        """Return now and the document of the event's reply token, kept longer than it holds.

        Raises NeverSent if the store is unavailable, since nothing was sent yet.
        """
        now, (_, event_id) = self._clock.now(), chat_address(place)
        if event_id is None:
            return now, None
        try:
            kept = self._facts.get(INSTALLATION_FACTS, REPLY, event_id)
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from error
        return now, kept

    def _is_replied(self, kept: Document, token: ReplyToken, messages: tuple[Payload, ...]) -> bool:
        """Answer by a token; return False if it was over, and nobody used it.

        Each attempt is recorded first. A token that is refused although an earlier attempt, or
        that of another worker, had it, was used by that one, since it works once.
        """
        attempt = kept.with_body(token.replaced(attempts=token.attempts + 1))
        if not self._is_committed(attempt):
            raise Unavailable("another worker answers by the same reply token")
        if self._line.reply(token.token, messages) or token.attempts > 0:
            return True
        over = attempt.with_body(token.replaced(attempts=1, until=_OVER))
        return not self._is_committed(over)

    def _is_committed(self, document: Document) -> bool:
        """Store a document; return False if it was changed since it was read."""
        try:
            self._facts.commit(document)
        except Changed:
            return False
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from error
        return True


def _open_token(utterance: Utterance, kept: Document | None, at: datetime) -> ReplyToken | None:
    """Return the token by which an utterance is sent at a time; None if it is pushed."""
    if kept is None or not utterance.opens or utterance.piece:
        return None
    token = kept.read(ReplyToken)
    return token if at < token.until else None


def _retry_key(utterance: Utterance) -> str:
    """Return the key of a piece, a UUID, the same for every attempt."""
    target = utterance.channel.target
    return str(uuid5(NAMESPACE_URL, f"opencrab:{target}:{utterance.nonce}-{utterance.piece}"))
