"""Pushing: what the table's stream tells, said to every connection that watches and may see it.

A connection that is gone, that takes nothing in time or whose key was revoked is forgotten and cut:
its client comes again, names the last line it saw, and has missed nothing. Several are told at
once, and whoever is still to be told when a batch takes too long is cut as well: nobody who takes
nothing holds up the stream for the others.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf

from opencrab.domain.conversation.message import Line
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict, NotFound, Unauthenticated, Unavailable
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.conversation import live_events
from opencrab.engine.conversation.key_holders import KeyHolders
from opencrab.engine.conversation.live import (
    WatchTarget,
    session_line_in_feed_entry,
    session_turn_change,
)
from opencrab.engine.conversation.live_events import Event, TurnMoved
from opencrab.engine.conversation.streamed_answers import StreamedAnswers
from opencrab.engine.runtime import Runtime
from opencrab.engine.websocket.connections import (
    ConnectionWatcher,
    claim_lines_for_websocket,
    close_websocket_connection,
    websocket_connection_id,
    websocket_watch_target,
    websocket_watchers,
)
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.conversation.push import Push

log = logging.getLogger(__name__)

AT_ONCE = 10
"""How many connections are told at once; botocore keeps as many open."""

BATCH_SECONDS = 15.0
"""Whoever is not told by then is cut: the function ends after 28 s, and a push may take 5."""

Tell = Callable[[Document], Iterable[Event]]


@dataclass(frozen=True)
class _Batch:
    """One batch of the stream: the threads that send it, and the deadline in milliseconds.

    `streamed` says what connections were sent of answers while they arrived.
    """

    pool: ThreadPoolExecutor
    deadline: float
    streamed: StreamedAnswers


class Pusher:
    """A sender of events to connections; it caches the holders of keys for a minute."""

    def __init__(self, runtime: Runtime, push: Push) -> None:
        self._runtime = runtime
        self._push = push
        self._holders = KeyHolders(runtime)

    def push_entries(self, entries: Iterable[FeedEntry]) -> None:
        """Send the events of a batch of the stream.

        For each session, started turns come first, then lines, then ended turns: the stream keeps
        no order between a session and its turns, and an end must come after all lines.
        """
        by_session: dict[str, list[FeedEntry]] = {}
        for entry in entries:
            if entry.session_id:
                by_session.setdefault(entry.session_id, []).append(entry)
        deadline = self._runtime.clock.monotonic_ms() + BATCH_SECONDS * 1_000
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="push") as pool:
            batch = _Batch(pool, deadline, StreamedAnswers(self._runtime.home))
            for session_id, told in by_session.items():
                lines = [
                    line
                    for entry in told
                    if (line := session_line_in_feed_entry(entry)) is not None
                ]
                turns = list(self._moved(told))
                reached = self._session(batch, session_id, lines, turns)
                self._agents(batch, lines, turns, reached)

    def send(self, connection_id: str, *events: Event) -> bool:
        """Send events to one connection; returns False if it is gone, after deleting it."""
        try:
            for event in events:
                self._push.send(connection_id, websocket_event_frame(event))
        except NotFound:
            close_websocket_connection(self._runtime.home.facts, connection_id)
            return False
        except Unavailable as error:
            log.warning(
                "connection closed, its client does not read: connection=%s, error=%s",
                connection_id,
                error.message,
            )
            self.disconnect(connection_id)
            return False
        return True

    def disconnect(self, connection_id: str) -> None:
        """Delete a connection and close it."""
        close_websocket_connection(self._runtime.home.facts, connection_id)
        try:
            self._push.disconnect(connection_id)
        except Unavailable as error:
            log.warning(
                "cannot close connection: connection=%s, error=%s", connection_id, error.message
            )

    def catch_up(self, session_id: str, watcher: Document, newest: int = 0) -> bool:
        """Send a watcher the lines that it has not received; returns False if it is gone.

        Lines up to `newest` are sent whole, as they were said before the watcher came.
        """
        streamed = StreamedAnswers(self._runtime.home)

        def told(fact: Document) -> Iterator[Event]:
            for line in claim_lines_for_websocket(self._runtime.home, session_id, fact):
                if line.sequence <= newest:
                    yield from live_events.events_of_session_line(line)
                else:
                    yield from streamed.of_line(line, fact.id)

        return self.push_to_watcher(watcher, told)

    def push_to_watcher(self, watcher: Document, told: Tell, deadline: float = inf) -> bool:
        """Send a watcher events if its key still allows that; returns False if it is gone.

        A connection with events left at the deadline (monotonic milliseconds) is closed.
        """
        connection_id = websocket_connection_id(watcher)
        allowed, is_connected = self._check_access(watcher)
        if not allowed:
            return is_connected
        for event in told(watcher):
            # Each time, since a client may take its events slowly; the answer is cached.
            allowed, is_connected = self._check_access(watcher)
            if not allowed:
                return is_connected
            if self._runtime.clock.monotonic_ms() >= deadline:
                log.warning(
                    "connection closed, its batch took too long: connection=%s, limit_seconds=%g",
                    connection_id,
                    BATCH_SECONDS,
                )
                self._drop(watcher)
                return False
            if not self.send(connection_id, event):
                self._forget(watcher)
                return False
        return True

    def _all(self, batch: _Batch, found: Iterable[Document], told: Tell) -> frozenset[str]:
        """Send to several watchers in parallel and wait for all; returns the watchers' ids."""
        told_to = {
            watcher.id: batch.pool.submit(self.push_to_watcher, watcher, told, batch.deadline)
            for watcher in found
        }
        for each in told_to.values():
            each.result()
        return frozenset(told_to)

    def _session(
        self, batch: _Batch, session_id: str, lines: list[Line], turns: list[TurnMoved]
    ) -> frozenset[str]:
        """Send to the watchers of the session; returns their ids."""
        begun = [
            event
            for turn in turns
            if _begins(turn)
            for event in live_events.live_session_events_of_turn(turn)
        ]
        ended = [turn for turn in turns if not _begins(turn)]
        if not (lines or turns):
            return frozenset()

        def told(watcher: Document) -> Iterator[Event]:
            yield from begun
            for line in claim_lines_for_websocket(self._runtime.home, session_id, watcher):
                yield from batch.streamed.of_line(line, watcher.id)
            yield from _ends(batch, ended, watcher)

        found = websocket_watchers(self._runtime, WatchTarget(kind="session", id=session_id))
        return self._all(batch, found, told)

    def _agents(
        self, batch: _Batch, lines: list[Line], turns: list[TurnMoved], reached: frozenset[str]
    ) -> None:
        """Send an agent's actions to its watchers, except those who watch the whole session."""
        acting = {line.speaker_id for line in lines if line.from_agent}
        acting |= {
            turn.turn.agent_id for turn in turns if live_events.live_session_events_of_turn(turn)
        }
        for agent_id in sorted(acting):
            own_lines = [line for line in lines if line.from_agent and line.speaker_id == agent_id]
            own_turns = [turn for turn in turns if turn.turn.agent_id == agent_id]

            def told(
                watcher: Document,
                own_lines: list[Line] = own_lines,
                own_turns: list[TurnMoved] = own_turns,
            ) -> Iterator[Event]:
                sight = watcher.read(ConnectionWatcher).visible
                for turn in filter(_begins, own_turns):
                    yield from live_events.live_session_events_of_turn(turn)
                for line in filter(sight.shows, own_lines):
                    yield from batch.streamed.of_line(line, watcher.id)
                yield from _ends(batch, own_turns, watcher)

            found = websocket_watchers(self._runtime, WatchTarget(kind="agent", id=agent_id))
            self._all(batch, (each for each in found if each.id not in reached), told)

    def _moved(self, entries: Iterable[FeedEntry]) -> Iterator[TurnMoved]:
        told = {(entry.turn_id, entry.body): entry for entry in entries if entry.kind == "turn"}
        for turn_id, status in told:
            if turn_id and status != TurnStatus.QUEUED:
                found = session_turn_change(self._runtime, turn_id, status)
                if found is not None:
                    yield found

    def _check_access(self, watcher: Document) -> tuple[bool, bool]:
        """Return whether a watcher may be told more, and whether its connection is left open.

        A watcher that may not is deleted; with a revoked key its connection is closed.
        """
        key = watcher.read(ConnectionWatcher).key
        try:
            allowed = self._holders.may_watch(key, websocket_watch_target(watcher))
        except Unauthenticated:
            self._drop(watcher)
            return False, False
        if not allowed:
            self._forget(watcher)
        return allowed, True

    def _drop(self, watcher: Document) -> None:
        self.disconnect(websocket_connection_id(watcher))
        self._forget(watcher)

    def _forget(self, watcher: Document) -> None:
        """Delete a watcher, even if its connection no longer exists."""
        removed = watcher.replaced(body=None, version=0)
        try:
            self._runtime.home.facts.commit(removed)
        except Conflict as error:
            log.warning("cannot delete watcher: watcher=%s, error=%s", removed.id, error.message)


def websocket_event_frame(event: Event) -> str:
    """Return an event as JSON without escapes, which would double the length of other scripts."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _ends(batch: _Batch, turns: Iterable[TurnMoved], watcher: Document) -> Iterator[Event]:
    """Yield the events of turns that ended or wait, after the ends of what they left open."""
    for turn in turns:
        if not _begins(turn):
            yield from batch.streamed.of_turn(turn, watcher.id)
            yield from live_events.live_session_events_of_turn(turn)


def _begins(turn: TurnMoved) -> bool:
    return turn.status is TurnStatus.RUNNING
