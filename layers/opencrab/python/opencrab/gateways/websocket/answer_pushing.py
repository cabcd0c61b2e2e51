"""Words of running model calls, pushed from the worker of a turn to the connections that watch it.

What is sent may be lost: the line of the session, pushed by another function, has all of it. So a
connection that takes nothing is left out for the rest of the answer, and a call waits for nobody
but `END_SECONDS` at its end.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, field
from threading import RLock

from opencrab.domain.conversation.message import LineKind
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, NotFound, Unauthenticated, Unavailable
from opencrab.engine.conversation.answer_events import (
    begin_of_session_message,
    withdrawal_of_message,
    words_of_session_message,
)
from opencrab.engine.conversation.key_holders import KeyHolders
from opencrab.engine.conversation.live import WatchTarget
from opencrab.engine.conversation.live_events import Event
from opencrab.engine.conversation.streamed_answers import (
    STREAMED,
    StreamedAnswer,
    load_streamed_session_answer,
    session_answer_digest,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.websocket.connections import (
    CONNECTION_LIVES,
    ConnectionWatcher,
    websocket_connection_id,
    websocket_watch_target,
    websocket_watchers,
)
from opencrab.gateways.websocket.pushing import websocket_event_frame
from opencrab.ports.conversation.answers import AnswerPart, NoWatchers, Wants
from opencrab.ports.conversation.push import Push

log = logging.getLogger(__name__)

WATCHERS_KNOWN_MS = 5_000
"""For how long it is remembered who watches, or that nobody does."""

END_SECONDS = 1.0
"""How long a call waits at its end for what is being sent; the rest is told by the line."""

Watchers = Mapping[str, Document]
"""The watchers of an answer by their ids, which are those of their connections."""


class AnswerPusher:
    """`ports.conversation.answers.AnswerFeed` that pushes to connections elsewhere.

    Nothing is read before somebody says something, and little while nobody watches: one query for
    the session and one for the agent each WATCHERS_KNOWN_MS.
    """

    def __init__(
        self, runtime: Runtime, push: Push, pool: Executor, *, end_seconds: float = END_SECONDS
    ) -> None:
        self._runtime = runtime
        self._connections = push
        self._pool = pool
        self._end_seconds = end_seconds
        self._holders = KeyHolders(runtime)
        self._known = dict[tuple[str, str], tuple[float, Watchers]]()
        self._messages = dict[str, _Message]()

    def follow(self, wants: Wants) -> NoWatchers:
        """Return a subscription that gets nothing: nobody watches in this process."""
        return NoWatchers().follow(wants)

    def is_watched(self, session_id: str, agent_id: str) -> bool:
        return bool(self._watchers(session_id, agent_id))

    def publish(self, part: AnswerPart) -> None:
        if part.progress is not None:
            # Each push is a request of its own; how far a call has come is not worth one.
            return
        message = self._messages.get(part.turn_id)
        if message is not None and (message.part.n != part.n or part.starts_over):
            self._messages.pop(part.turn_id).end(withdrawn=True)
            message = None
        if message is None:
            message = self._messages[part.turn_id] = _Message(
                self._runtime, self._pool, self._send, part, self._end_seconds
            )
        message.text += part.text
        message.push(self._watchers(part.session_id, part.agent_id))
        if part.ended:
            self._messages.pop(part.turn_id).end(withdrawn=part.withdrawn)

    def _watchers(self, session_id: str, agent_id: str) -> Watchers:
        """Return who watches what an agent says in a session, as it was a few seconds ago."""
        key, now = (session_id, agent_id), self._runtime.clock.monotonic_ms()
        known = self._known.get(key)
        if known is None or now >= known[0]:
            watchers = self._load_watchers(session_id, agent_id)
            # Only what is running now is asked for again.
            self._known = {each: of for each, of in self._known.items() if now < of[0]}
            known = self._known[key] = now + WATCHERS_KNOWN_MS, watchers
        return known[1]

    def _load_watchers(self, session_id: str, agent_id: str) -> Watchers:
        session = WatchTarget(kind="session", id=session_id)
        agent = WatchTarget(kind="agent", id=agent_id)
        try:
            return {
                watcher.id: watcher
                for target in (agent, session)
                for watcher in websocket_watchers(self._runtime, target)
                if LineKind.SPEECH in watcher.read(ConnectionWatcher).visible.kinds
            }
        except Unavailable as error:
            log.info("cannot look who watches: session=%s, error=%s", session_id, error.message)
            return {}

    def _send(self, watcher: Document, event: Event) -> bool:
        """Send an event to a watcher that may see it; returns False if it was not sent."""
        connection_id = websocket_connection_id(watcher)
        try:
            key = watcher.read(ConnectionWatcher).key
            if not self._holders.may_watch(key, websocket_watch_target(watcher)):
                return False
            self._connections.send(connection_id, websocket_event_frame(event))
        except Unauthenticated:
            return False
        except (NotFound, Unavailable) as error:
            log.info(
                "answer not sent while it arrives: connection=%s, error=%s",
                connection_id,
                error.message,
            )
            return False
        return True


@dataclass
class _Seat:
    """A watcher of one message, and how much of its text it was sent.

    `lost` says that it gets no more of it, and `earlier` names a message of the same turn that
    nobody has ended. What raises while it `is_busy` leaves it so: it is lost as well.
    """

    watcher: Document
    earlier: str = ""
    sent: int = 0
    has_begun: bool = False
    has_withdrawal: bool = False
    lost: bool = False
    is_busy: bool = False
    sending: "Future[None] | None" = None

    @property
    def is_free(self) -> bool:
        """Check whether all that was sent has arrived."""
        return not self.lost and not self.is_busy


@dataclass
class _Message:
    """One answer on its way to its watchers: each gets what is new once it took the last part."""

    runtime: Runtime
    pool: Executor
    send: Callable[[Document, Event], bool]
    part: AnswerPart
    end_seconds: float
    id: str = ""
    text: str = ""
    is_over: bool = False
    record: Document | None = None
    seats: dict[str, _Seat] = field(default_factory=dict)
    opening: "Future[None] | None" = None
    lock: RLock = field(default_factory=RLock)

    def push(self, watchers: Watchers) -> None:
        """Send what is new to all who are ready for it; never waits."""
        with self.lock:
            for watcher_id, seat in self.seats.items():
                # Who left and came back has perhaps forgotten what it was sent.
                seat.lost = seat.lost or watcher_id not in watchers
            new = {name: each for name, each in watchers.items() if name not in self.seats}
        if new and not self.is_over and (self.opening is None or self.opening.done()):
            self.opening = self.pool.submit(self._open, new)
        self._push()

    def end(self, *, withdrawn: bool) -> None:
        """Send the rest, wait for it a little, and leave a record of who has all of it."""
        running = [self.opening, *(seat.sending for seat in self.seats.values())]
        wait([each for each in running if each is not None], self.end_seconds / 2)
        self._push(withdrawn=withdrawn)
        last = [seat.sending for seat in self.seats.values() if seat.sending is not None]
        wait(last, self.end_seconds / 2)
        with self.lock:
            is_lost, self.is_over = self.is_over, True
            done = tuple(
                watcher_id
                for watcher_id, seat in self.seats.items()
                if self._is_done(seat, withdrawn=withdrawn)
            )
        if self.record is None or is_lost:
            return
        streamed = self.record.read(StreamedAnswer)
        if withdrawn:
            left = tuple(name for name in streamed.begun if name not in done)
            self._save(self.record, streamed.replaced(begun=left))
        else:
            digest = session_answer_digest(self.text)
            self._save(self.record, streamed.replaced(whole=done, digest=digest))

    def _is_done(self, seat: _Seat, *, withdrawn: bool) -> bool:
        """Check whether a watcher has the whole message, or that it is withdrawn."""
        has_all = seat.has_withdrawal if withdrawn else seat.sent == len(self.text)
        return seat.is_free and has_all

    def _push(self, *, withdrawn: bool = False) -> None:
        with self.lock:
            for seat in self.seats.values():
                if seat.is_free and (withdrawn or seat.sent < len(self.text)):
                    seat.is_busy = True
                    seat.sending = self.pool.submit(self._send, seat, withdrawn=withdrawn)

    def _open(self, new: Watchers) -> None:
        """Note to whom the message begins, before it does, and begin it."""
        part, before = self.part, self.record
        if before is None:
            before = load_streamed_session_answer(self.runtime.home, part.session_id, part.turn_id)
        earlier = StreamedAnswer(message_id="") if before is None else before.read(StreamedAnswer)
        # A worker that died may have begun a message for the same call.
        self.id = self.id or f"{part.turn_id}-{part.n}-{before.version if before else 0}"
        begun = tuple({**dict.fromkeys(self.seats), **dict.fromkeys(new)})
        if not self._save(before, StreamedAnswer(message_id=self.id, begun=begun)):
            return
        is_other = earlier.message_id != self.id
        for name, watcher in new.items():
            open_one = earlier.message_id if is_other and name in earlier.begun else ""
            with self.lock:
                self.seats[name] = _Seat(watcher, open_one)
        self._push()

    def _send(self, seat: _Seat, *, withdrawn: bool) -> None:
        """Send a watcher what is new; if anything fails, it gets no more of this message."""
        text = self.text
        for event in self._events(seat, text, withdrawn=withdrawn):
            if self.is_over or not self.send(seat.watcher, event):
                seat.lost = True
                return
        with self.lock:
            seat.sent, seat.has_begun, seat.has_withdrawal = len(text), True, withdrawn
            seat.earlier = ""
            seat.is_busy = False
        if not withdrawn:
            # What was said meanwhile; nobody else sends it, if the model pauses now.
            self._push()

    def _events(self, seat: _Seat, text: str, *, withdrawn: bool) -> Iterator[Event]:
        now = self.runtime.clock.now()
        if seat.earlier:
            yield withdrawal_of_message(self.part, seat.earlier, now)
        if not seat.has_begun:
            yield begin_of_session_message(self.part, self.id, now)
        if seat.sent < len(text):
            yield from words_of_session_message(self.part, self.id, text[seat.sent :], now)
        if withdrawn:
            yield withdrawal_of_message(self.part, self.id, now)

    def _save(self, before: Document | None, streamed: StreamedAnswer) -> bool:
        """Store the record of who was sent what; if another worker writes it too, say no more."""
        if before is not None:
            fact = before.with_body(streamed)
        else:
            owner, turn_id = self.part.session_id, self.part.turn_id
            fact = new_fact(owner, STREAMED, turn_id, streamed)
        fact = fact.replaced(expires_at=self.runtime.clock.now() + CONNECTION_LIVES)
        try:
            self.runtime.home.facts.commit(fact)
        except Changed:
            self.is_over = True
            return False
        except Unavailable as error:
            log.info("watchers of an answer not noted: turn=%s, error=%s", fact.id, error.message)
            return False
        self.record = fact
        return True
