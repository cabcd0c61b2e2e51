"""The local runner: REST, turn workers, summaries, delivery and sweep in one process.

It calls the functions that Lambda handlers call, and knows nothing of what they do: the queues
give it work, the engine's outcome says what becomes of the message.
"""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any

import uvicorn

from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat
from opencrab.engine.autonomy.sweep import run_autonomy_sweep, sweep_due_items
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace, is_turn_delivery_suspect, run_turn
from opencrab.gateways.local.consumer import (
    Consumer,
    InteractionHandler,
    LateConsumer,
    interactions_consumer,
)
from opencrab.gateways.local.header_deadline import HeaderDeadlineProtocol
from opencrab.gateways.local.index_follower import IndexFollower
from opencrab.gateways.local.isolation import Isolation
from opencrab.gateways.local.later_websocket import WEBSOCKET_PROTOCOL
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry
from opencrab.ports.turn.queue import Delivery, MessageOutcome

log = logging.getLogger(__name__)

WORKERS = 32
SWEEP_SECONDS, FIRST_SWEEP_SECONDS = 60.0, 1.0
_SWEEPS_AN_HOUR = 60
_POLL_SECONDS = 1.0
_RETRY_SECONDS = 2
_BEAT_SECONDS = 60
_NIGHT_SECONDS = 600
_FRAME_BYTES = 65_536
"""Frames of a WebSocket that are larger are not even read."""
_WORDS_SECONDS = 0.04
_BACKLOG = 2_048
"""That of uvicorn."""
_SETTLED = "settled:"
_UNSETTLED = frozenset({TurnStatus.QUEUED.value, TurnStatus.RUNNING.value})
EVERY = "*"
"""Who waits for this waits for any session; the WebSocket does."""

Run = Callable[[Runtime, Delivery, Pace], MessageOutcome]


class FeedWatch:
    """A watch that wakes waiters as soon as the change feed has an entry of their session."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = threading.Event()
        self._position = feed.position()
        self._is_waking = False
        self._woken = -_WORDS_SECONDS

    @asynccontextmanager
    async def watching(
        self, session_id: str, *, settled: bool = False
    ) -> AsyncIterator[Callable[[float], Awaitable[bool]]]:
        """Yield a function that sleeps until the session changes or the seconds are over.

        It returns True when the process is about to end. With `settled` it sleeps until a turn of
        the session ends or waits for a person.
        """
        event = asyncio.Event()
        key = f"{_SETTLED}{session_id}" if settled else session_id
        self._waiting.setdefault(key, set()).add(event)

        async def next_change(seconds: float) -> bool:
            # Nobody wakes who comes after the end has woken all.
            if not self._stopping.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), seconds)
            event.clear()
            return self._stopping.is_set()

        try:
            yield next_change
        finally:
            waiting = self._waiting[key]
            waiting.discard(event)
            if not waiting:
                del self._waiting[key]

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Follow the feed in a thread and wake waiters on the event loop."""
        self._loop = loop
        threading.Thread(target=self._follow, name="feed", daemon=True).start()

    def notify(self, session_id: str) -> None:
        """Wake who waits for a session, from any thread, for news that no entry of the feed has.

        Who waits for any session is woken at most every `_WORDS_SECONDS`.
        """
        loop = self._loop
        if loop is not None and not loop.is_closed():
            with suppress(RuntimeError):  # it was closed meanwhile
                loop.call_soon_threadsafe(self._wake_for_words, loop, session_id)

    def _wake_for_words(self, loop: asyncio.AbstractEventLoop, session_id: str) -> None:
        self._wake({session_id})
        if not self._is_waking:
            self._is_waking = True
            # At once, unless it was just woken.
            left = self._woken + _WORDS_SECONDS - loop.time()
            loop.call_later(max(left, 0.0), self._wake_all, loop)

    def _wake_all(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_waking, self._woken = False, loop.time()
        self._wake({EVERY})

    def stop(self) -> None:
        """Stop following, and wake all waiters."""
        self._stopping.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: self._wake(set(self._waiting)))

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                self._feed.wait(after=self._position, seconds=1.0)
                entries = self._feed.read(after=self._position, limit=500)
            except OpenCrabError as error:
                log.warning("cannot read the change feed, retrying: error=%s", error.message)
                self._stopping.wait(_RETRY_SECONDS)
                continue
            if entries and self._loop is not None and not self._loop.is_closed():
                self._position = entries[-1].position
                changed = {EVERY, *(entry.session_id for entry in entries)}
                changed |= {f"{_SETTLED}{each.session_id}" for each in entries if _settles(each)}
                # Who begins to wait after this look reads afterwards, and finds the entries.
                if not changed.isdisjoint(tuple(self._waiting)):
                    self._loop.call_soon_threadsafe(self._wake, changed)

    def _wake(self, sessions: set[str]) -> None:
        for session_id in sessions & self._waiting.keys():
            for event in self._waiting[session_id]:
                event.set()


def _settles(entry: FeedEntry) -> bool:
    """Check whether an entry says that a turn has ended or waits for a person."""
    return entry.kind == "turn" and entry.body not in _UNSETTLED


class Runner:
    """OpenCrab in one process; `interact` handles what the interactions queue has.

    Nobody asks that queue before somebody wants it at the start or `take_interactions` is called.

    `price` updates the models' prices once a night. `alive` is called every second; after a crash,
    the next process reads from it how long a turn had run.
    """

    def __init__(
        self,
        runtime: Runtime,
        watch: FeedWatch,
        purge: Callable[[], None],
        index: IndexFollower,
        *,
        workers: int,
        interact: InteractionHandler | None = None,
        price: Callable[[Runtime], int] | None = None,
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        self._runtime = runtime
        self._alive = alive
        self._index = index
        self._price = price
        self._watch = watch
        self._purge = purge
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._isolation = Isolation()
        self._pace = Pace(
            stopping=self._stopping.is_set, between_steps=self._isolation.between_steps
        )
        self._consumers: list[Consumer | LateConsumer] = [*self._open_consumers(workers)]
        self._interactions = interactions_consumer(runtime, interact)
        if self._interactions is not None:
            self._consumers.append(self._interactions)

    def take_interactions(self) -> None:
        """Ask the interactions queue from now on; repeats are harmless."""
        if self._interactions is not None:
            self._interactions.wake()

    def serve(
        self,
        app: Any,
        *,
        host: str,
        ports: Sequence[int],
        ready: Callable[[], None],
        stopping: Callable[[], None],
    ) -> None:
        """Serve at one or more ports until a signal arrives.

        Then call `stopping`, finish the running steps and return.
        """
        config = uvicorn.Config(
            app,
            host=host,
            port=ports[0],
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=3,
            ws_max_size=_FRAME_BYTES,
            http=HeaderDeadlineProtocol,
            ws=WEBSOCKET_PROTOCOL,
        )
        server = _Server(
            config, on_ready=lambda: self._start(ready), on_exit=lambda: self._end(stopping)
        )
        several = len(ports) > 1
        server.run(sockets=[_listening(host, each) for each in ports] if several else None)
        self._join()

    def _start(self, ready: Callable[[], None]) -> None:
        self._watch.start(asyncio.get_running_loop())
        for consumer in self._consumers:
            consumer.start()
        threading.Thread(target=self._sweep, name="sweep", daemon=True).start()
        threading.Thread(target=self._follow_up, name="follow-up", daemon=True).start()
        ready()
        self._index.start()

    def _end(self, stopping: Callable[[], None]) -> None:
        stopping()
        self._stopping.set()
        for consumer in self._consumers:
            consumer.stop()
        self._index.stop()
        self._watch.stop()

    def _join(self) -> None:
        for consumer in self._consumers:
            consumer.join()
        self._index.join()

    def _open_consumers(self, workers: int) -> list[Consumer]:
        home, visibility = self._runtime.home, self._runtime.rules.visibility_seconds
        return [
            Consumer("turns", home.turns, self._turn, workers=workers, visibility=visibility),
            Consumer(
                "deliveries", home.deliveries, self._deliver, workers=4, visibility=visibility
            ),
            Consumer(
                "compactions", home.compactions, self._compact, workers=2, visibility=visibility
            ),
            Consumer(
                "beats",
                home.beats,
                partial(decide_queued_heartbeat, self._runtime),
                workers=2,
                visibility=_BEAT_SECONDS,
            ),
            Consumer("nights", home.nights, self._night, workers=1, visibility=_NIGHT_SECONDS),
        ]

    def _turn(self, delivery: Delivery) -> MessageOutcome:
        outcome = self._carry(run_turn, delivery)
        if outcome is MessageOutcome.FINISHED:
            self._ended.set()
        return outcome

    def _follow_up(self) -> None:
        """Start what ended turns have made due at once; the sweep finds what this misses."""
        while not self._stopping.is_set():
            self._alive()
            self._ended.wait(_POLL_SECONDS)
            self._ended.clear()
            try:
                sweep_due_items(self._runtime)
            except OpenCrabError as error:
                log.warning("cannot start due items, retrying: error=%s", error.message)

    def _deliver(self, delivery: Delivery) -> MessageOutcome:
        from opencrab.engine.conversation.delivery import (  # noqa: PLC0415 - seldom needed
            deliver_session_utterance,
        )

        return deliver_session_utterance(self._runtime, delivery)

    def _compact(self, delivery: Delivery) -> MessageOutcome:
        from opencrab.engine.turn.background import (  # noqa: PLC0415 - seldom needed
            run_background_turn,
        )

        return self._carry(run_background_turn, delivery)

    def _carry(self, run: Run, delivery: Delivery) -> MessageOutcome:
        """Run a turn beside others, or alone if it may have killed the process before."""
        is_alone = is_turn_delivery_suspect(self._runtime.home.journal, delivery)
        with self._isolation.alone() if is_alone else self._isolation.together():
            return run(self._runtime, delivery, self._pace)

    def _night(self, delivery: Delivery) -> MessageOutcome:
        from opencrab.engine.learning.nightly.run import (  # noqa: PLC0415 - once a night
            run_nightly_review,
        )

        return run_nightly_review(self._runtime, delivery, Pace(stopping=self._stopping.is_set))

    def _queue_reviews(self, *, by_sessions: bool) -> bool:
        """Queue nightly reviews when a day is over; returns True if there were any."""
        from opencrab.engine.learning.nightly.schedule import (  # noqa: PLC0415 - after first answers
            send_learning_reviews_by_sessions,
            send_nightly_learning_reviews,
        )

        sent = send_nightly_learning_reviews(self._runtime)
        if by_sessions:
            send_learning_reviews_by_sessions(self._runtime)
        return sent > 0

    def _update_prices(self, price: Callable[[Runtime], int]) -> None:
        try:
            price(self._runtime)
        except OpenCrabError as error:
            log.warning(
                "cannot update model prices, keeping the current ones: error=%s", error.message
            )

    def _sweep(self) -> None:
        due = False
        for sweeps in count():
            if self._stopping.wait(SWEEP_SECONDS if sweeps else FIRST_SWEEP_SECONDS):
                return
            due = due or sweeps % _SWEEPS_AN_HOUR == 0
            try:
                run_autonomy_sweep(self._runtime)
                if self._queue_reviews(by_sessions=due) and self._price is not None:
                    self._update_prices(self._price)
                due = False
                self._purge()
            except Exception:
                log.exception("sweep failed, retrying")


class _Server(uvicorn.Server):
    """A server that calls `on_ready` when it listens, and `on_exit` at the first signal."""

    def __init__(
        self, config: uvicorn.Config, *, on_ready: Callable[[], None], on_exit: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_exit = on_exit

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Keep the signal handlers: uvicorn would raise the signals again before steps finished."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 - the name is given
        if self.should_exit:
            os._exit(128 + sig)
        self._on_exit()
        self.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        problem = f"port {port} on {host} cannot be used: {error.strerror}"
        raise Unavailable(problem, cure="choose another one") from None
