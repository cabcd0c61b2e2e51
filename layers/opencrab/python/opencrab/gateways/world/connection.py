"""World connection: the messages of one world over a connection that this process holds open.

Binary frames are signed envelopes, in both directions; text frames are JSON about them. A frame is
acknowledged, by its SHA-256, only after what it means was stored; what is not acknowledged is sent
again. Who reads and writes the frames is `gateways/rest/world`.
"""

import json
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from opencrab.domain.document import Document
from opencrab.domain.errors import Exhausted, Invalid, NotFound, OpenCrabError, Refused
from opencrab.domain.identifier import content_hash
from opencrab.domain.world.outgoing import OutgoingEnvelope
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import receive_world_message
from opencrab.engine.world.connection import ConnectedWorld, admit_world
from opencrab.engine.world.outgoing import StoredEnvelopes

log = logging.getLogger(__name__)

RESEND_MS = 10_000
IN_FLIGHT = 100
"""The limit of messages that wait for an acknowledgement over one connection."""

WINDOW_MS, MOST_IN_WINDOW = 60_000, 1_200
"""A world that sends more messages in a minute is told to send them later."""

_FOR_GOOD = (Invalid, Refused, NotFound, Exhausted)


@dataclass(frozen=True)
class WorldGate:
    """The factory of connections with worlds."""

    runtime: Runtime
    outgoing: StoredEnvelopes

    def open(self) -> "WorldConnection":
        """Begin a connection with a world that has yet to prove itself."""
        return WorldConnection(self.runtime, self.outgoing, secrets.token_hex(16))


@dataclass
class WorldConnection:
    """A connection with a world; its methods are called by one thread at a time."""

    runtime: Runtime
    outgoing: StoredEnvelopes
    challenge: str
    world: ConnectedWorld | None = None
    _sent: dict[str, tuple[Document, float]] = field(default_factory=dict)
    _received: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_IN_WINDOW))

    def hello(self) -> str:
        """Return the first frame: the challenge that the world must sign."""
        return _frame("hello", v=1, challenge=self.challenge)

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when there may be frames to send; return the function that ends this."""
        return self.outgoing.watch(wake)

    def receive_envelope(self, raw: bytes) -> str:
        """Handle a binary frame and return the answer.

        Raises OpenCrabError if the connection must end: nobody is admitted with a bad first one.
        """
        if self.world is None:
            self.world = admit_world(self.runtime, raw, self.challenge)
            log.info("world connected: world=%s", self.world.world_id)
            return _frame("joined", **self.world.model_dump(mode="json"))
        digest = content_hash(raw)
        if self._floods():
            return _frame("later", frame=digest, error="too many messages in a minute")
        kind, told = self._take(raw)
        return _frame(kind, frame=digest, **told)

    def receive_text(self, text: str) -> None:
        """Handle a text frame: the world acknowledges or refuses a message for good.

        Raises Invalid for any other text, and Refused from a world that has not proven itself.
        """
        if self.world is None:
            raise Refused("the first frame must be the signed challenge")
        told = _parse_frame(text)
        found = self._sent.pop(str(told["frame"]), None)
        if found is None:
            return
        if told["type"] == "refused":
            # It would be refused again, so it is done with; the world says the reason.
            log.warning(
                "world refused a message: world=%s, message=%s, error=%r",
                self.world.world_id,
                found[0].id,
                str(told.get("error", ""))[:200],
            )
        self.outgoing.mark_acknowledged(found[0])

    def due_envelopes(self) -> list[bytes]:
        """Return the messages to send now: new ones, and those without an answer for too long.

        They are those of the agents that are bound with this world's key: another world may have
        the same id.
        """
        now = self.runtime.clock.monotonic_ms()
        due = list[bytes]()
        for stored in self._pending():
            raw = stored.read(OutgoingEnvelope).frame
            digest = content_hash(raw)
            sent = self._sent.get(digest)
            if sent is None or now - sent[1] >= RESEND_MS:
                self._sent[digest] = (stored, now)
                due.append(raw)
        return due

    def _pending(self) -> Iterator[Document]:
        """Yield the oldest messages of each agent, so that none waits for another's."""
        citizens = () if self.world is None else self.world.citizens
        for each in citizens:
            yield from self.outgoing.pending(each.key_id, max(IN_FLIGHT // len(citizens), 1))

    def _take(self, raw: bytes) -> tuple[str, dict[str, str]]:
        """Take a message; return the kind of the answer and what it says."""
        world_id = "" if self.world is None else self.world.world_id
        try:
            reception = receive_world_message(self.runtime, raw, from_world=world_id)
        except _FOR_GOOD as error:
            log.warning(
                "world message rejected: world=%s, code=%s, error=%s, cure=%s",
                world_id,
                error.code,
                error.message,
                error.cure,
            )
            told = {"code": error.code, "error": error.message, "cure": error.cure or ""}
            return "refused", told
        except OpenCrabError as error:
            log.warning("world message failed, retrying: world=%s, error=%s", world_id, error)
            return "later", {"error": error.message}
        return "ack", {"outcome": reception.value}

    def _floods(self) -> bool:
        now = self.runtime.clock.monotonic_ms()
        full = len(self._received) == MOST_IN_WINDOW
        if full and now - self._received[0] < WINDOW_MS:
            return True
        self._received.append(now)
        return False


def _frame(kind: str, **content: object) -> str:
    return json.dumps({"type": kind, **content}, ensure_ascii=False, separators=(",", ":"))


def _parse_frame(text: str) -> dict[str, object]:
    try:
        told = json.loads(text)
        known = told["type"] in {"ack", "refused"} and isinstance(told["frame"], str)
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
        told = {}
    if not known:
        raise Invalid(
            'a text frame must be {"type": "ack" or "refused", "frame": SHA-256}',
            cure="docs/explanation/worlds.md has the format",
        )
    return dict(told)
