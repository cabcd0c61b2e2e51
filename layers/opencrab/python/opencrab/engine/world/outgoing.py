"""Local outbox of worlds: messages are stored, sent, and resent until they are acknowledged.

An acknowledged message leaves a document behind, so that a call which is repeated after a crash
does not send it anew.
"""

import threading
from collections.abc import Callable

from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Unavailable
from opencrab.domain.world.binding import REMEMBERED, WorldEnvelope
from opencrab.domain.world.outgoing import (
    ACKNOWLEDGED,
    OUTGOING,
    UNACKNOWLEDGED,
    OutgoingEnvelope,
    outgoing_world_envelope,
    outgoing_world_envelope_id,
    outgoing_world_message_prefix,
)
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents


class StoredEnvelopes:
    """`ports.world.EnvelopeTransport` of the local installation.

    `send` returns as soon as the message is stored durably; connections read what is pending.
    """

    def __init__(self, facts: Documents, clock: Clock) -> None:
        self._facts = facts
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []

    def send(self, raw: bytes, envelope: WorldEnvelope) -> None:
        wanted = outgoing_world_envelope_id(envelope)
        names = ((OUTGOING, wanted), (ACKNOWLEDGED, wanted))
        if self._facts.get_many(INSTALLATION_FACTS, *names):
            return
        if len(self.pending(envelope.sender)) >= UNACKNOWLEDGED:
            raise Unavailable(
                f"world {envelope.world_id!r} has not acknowledged {UNACKNOWLEDGED} messages",
                cure="wait until it is connected again",
            )
        try:
            self._facts.commit(
                new_fact(
                    INSTALLATION_FACTS, OUTGOING, wanted, outgoing_world_envelope(raw, envelope)
                )
            )
        except Changed:
            # The same call in another worker has stored it.
            return
        with self._lock:
            waiting = tuple(self._waiting)
        for wake in waiting:
            wake()

    def pending(self, sender: str, limit: int = UNACKNOWLEDGED) -> tuple[Document, ...]:
        """Return an agent's messages that its world has not acknowledged, oldest first."""
        begin = outgoing_world_message_prefix(sender)
        page = self._facts.page(INSTALLATION_FACTS, OUTGOING, after=begin, limit=limit)
        return tuple(fact for fact in page if fact.id.startswith(begin))

    def mark_acknowledged(self, pending: Document) -> None:
        """Mark a message as acknowledged, once; repeating it changes nothing."""
        done = pending.read(OutgoingEnvelope).replaced(raw="")
        kept = new_fact(
            INSTALLATION_FACTS,
            ACKNOWLEDGED,
            pending.id,
            done,
            expires_at=self._clock.now() + REMEMBERED,
        )
        try:
            self._facts.commit(pending.removed(), kept)
        except Changed:
            # It was acknowledged over another connection meanwhile.
            return

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` after each stored message; return the function that ends this."""
        with self._lock:
            self._waiting.append(wake)

        def end() -> None:
            with self._lock:
                self._waiting.remove(wake)

        return end
