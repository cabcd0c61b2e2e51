"""The local runner: REST, turn workers, summaries, delivery and sweep in one process.

It calls the functions that Lambda handlers call, and knows nothing of what they do: the queues
give it work, the engine's outcome says what becomes of the message.
"""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any

import uvicorn

from opencrab.domain.errors import OpenCrabError
from opencrab.engine.autonomy.heartbeat import deliver_heartbeat
from opencrab.engine.autonomy.sweep import admit_due_items, sweep_agents
from opencrab.engine.conversation.delivery import deliver_utterance
from opencrab.engine.learning.nightly.run import run_nightly_review
from opencrab.engine.learning.nightly.schedule import (
    send_nightly_reviews,
    send_session_count_reviews,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.background import run_background_turn
from opencrab.engine.turn.pace import MessageOutcome, Pace
from opencrab.engine.turn.run import is_suspect_delivery, run_turn
from opencrab.gateways.local.index_follower import IndexFollower
from opencrab.gateways.local.isolation import Isolation
from opencrab.ports.conversation.feed import ChangeFeed
from opencrab.ports.turn.queue import Delivery, Queue

log = logging.getLogger(__name__)

WORKERS = 32
SWEEP_SECONDS = 60.0
_SWEEPS_AN_HOUR = 60
MAX_RECEIVES = 1_000
_POLL_SECONDS = 1.0
_RETRY_SECONDS = 2
_BEAT_SECONDS = 60
_INTERACTION_WORKERS = 4
_INTERACTION_SECONDS = 120
"""After a crash people wait for it, so it comes again sooner than a turn."""
_NIGHT_SECONDS = 600
_FRAME_BYTES = 65_536
"""Frames of a WebSocket that are larger are not even read."""
_EVERY = "*"
"""Who waits for this waits for any session; the WebSocket does."""

Handle = Callable[[Delivery], MessageOutcome]
Run = Callable[[Runtime, Delivery, Pace], MessageOutcome]


class Consumer:
    """Takes messages of one queue and handles up to `workers` of them at once.

    This is the boundary of the local home: an error that nobody expected is logged, and its
    message comes back, until the rule of three deliveries ends it. Nothing of a `private` message
    is logged.
    """

    def __init__(
        self,
        queue: Queue,
        handle: Handle,
        *,
        workers: int,
        visibility: int,
        private: bool = False,
    ) -> None:
        self._queue = queue
        self._private = private
        self._handle = handle
        self._visibility = visibility
        self._free = threading.Semaphore(workers)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="consumer", daemon=True)

    def start(self) -> None:
        """Begin to take messages."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more messages; what is running may finish its step."""
        self._stopping.set()

    def join(self) -> None:
        """Wait for what is running."""
        self._thread.join(_POLL_SECONDS + 1)
        self._pool.shutdown(wait=True)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._free.acquire()
            if self._stopping.is_set():
                return
            delivery = None
            try:
                delivery = self._queue.receive(
                    visibility_seconds=self._visibility, wait_seconds=_POLL_SECONDS
                )
            except OpenCrabError as error:
                log.warning("the queue cannot be read: %s", error.message)
                self._stopping.wait(_RETRY_SECONDS)
            if delivery is None:
                self._free.release()
            elif self._stopping.is_set():
                self._give_back(delivery, 0)
            else:
                self._pool.submit(self._one, delivery)

    def _one(self, delivery: Delivery) -> None:
        try:
            if delivery.count > MAX_RECEIVES:
                reason = f"received {MAX_RECEIVES} times"
                self._queue.dead_letter(delivery.body, group=delivery.group, reason=reason)
                self._queue.done(delivery.receipt)
            elif self._handle(delivery) is MessageOutcome.FINISHED:
                self._queue.done(delivery.receipt)
        except Exception:
            shown = "a private message" if self._private else delivery.body[:200]
            log.exception("message failed; will retry: %s", shown)
            self._give_back(delivery, _RETRY_SECONDS)
        finally:
            self._free.release()

    def _give_back(self, delivery: Delivery, seconds: int) -> None:
        try:
            self._queue.continue_later(delivery.receipt, seconds)
        except OpenCrabError as error:
            log.warning("the queue cannot be written: %s", error.message)


class FeedWatch:
    """Wakes those who wait for a session as soon as the change feed tells of it."""

    def __init__(self, feed: ChangeFeed) -> None:
        self._feed = feed
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = threading.Event()
        self._position = feed.position()

    @asynccontextmanager
    async def watching(self, session_id: str) -> AsyncIterator[Callable[[float], Awaitable[bool]]]:
        """Within the block, await the given function to sleep until the session changes.

        It answers True when the process is about to end.
        """
        event = asyncio.Event()
        self._waiting.setdefault(session_id, set()).add(event)

        async def next_change(seconds: float) -> bool:
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)
            event.clear()
            return self._stopping.is_set()

        try:
            yield next_change
        finally:
            waiting = self._waiting[session_id]
            waiting.discard(event)
            if not waiting:
                del self._waiting[session_id]

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Follow the feed in a thread of its own and wake waiters on the loop."""
        self._loop = loop
        threading.Thread(target=self._follow, name="feed", daemon=True).start()

    def stop(self) -> None:
        """Stop following, and let everybody go who waits."""
        self._stopping.set()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(lambda: self._wake(set(self._waiting)))

    def _follow(self) -> None:
        while not self._stopping.is_set():
            try:
                self._feed.wait(after=self._position, seconds=1.0)
                entries = self._feed.read(after=self._position, limit=500)
            except OpenCrabError as error:
                log.warning("the change feed cannot be read: %s", error.message)
                self._stopping.wait(_RETRY_SECONDS)
                continue
            if entries and self._loop is not None and not self._loop.is_closed():
                self._position = entries[-1].position
                sessions = {_EVERY, *(entry.session_id for entry in entries)}
                self._loop.call_soon_threadsafe(self._wake, sessions)

    def _wake(self, sessions: set[str]) -> None:
        for session_id in sessions & self._waiting.keys():
            for event in self._waiting[session_id]:
                event.set()


class Runner:
    """One process of OpenCrab on this machine; `interact` does what people on Discord ask for.

    `price` learns once a night what models cost from then on. `alive` is told every second that
    this process lives: the next one judges by it how long a turn had run when this one died.
    """

    def __init__(
        self,
        runtime: Runtime,
        watch: FeedWatch,
        purge: Callable[[], None],
        index: IndexFollower,
        *,
        workers: int,
        interact: Callable[[Runtime, Delivery], MessageOutcome] | None = None,
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
        home, visibility = runtime.home, runtime.rules.visibility_seconds
        self._consumers = [
            Consumer(home.turns, self._turn, workers=workers, visibility=visibility),
            Consumer(home.deliveries, self._deliver, workers=4, visibility=visibility),
            Consumer(home.compactions, self._compact, workers=2, visibility=visibility),
            Consumer(
                home.beats, partial(deliver_heartbeat, runtime), workers=2, visibility=_BEAT_SECONDS
            ),
            Consumer(home.nights, self._night, workers=1, visibility=_NIGHT_SECONDS),
        ]
        if home.interactions is not None and interact is not None:
            interactions = Consumer(
                home.interactions,
                partial(interact, runtime),
                workers=_INTERACTION_WORKERS,
                visibility=_INTERACTION_SECONDS,
                private=True,
            )
            self._consumers.append(interactions)

    def serve(
        self,
        app: Any,
        *,
        host: str,
        port: int,
        ready: Callable[[], None],
        stopping: Callable[[], None],
    ) -> None:
        """Run until a signal says stop; then say so, finish the running steps and return."""
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=3,
            ws_max_size=_FRAME_BYTES,
        )
        server = _Server(
            config, on_ready=lambda: self._start(ready), on_exit=lambda: self._end(stopping)
        )
        server.run()
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

    def _turn(self, delivery: Delivery) -> MessageOutcome:
        outcome = self._carry(run_turn, delivery)
        if outcome is MessageOutcome.FINISHED:
            self._ended.set()
        return outcome

    def _follow_up(self) -> None:
        """Begin at once with what ended turns have made due; the sweep finds what this misses."""
        while not self._stopping.is_set():
            self._alive()
            self._ended.wait(_POLL_SECONDS)
            self._ended.clear()
            try:
                admit_due_items(self._runtime)
            except OpenCrabError as error:
                log.warning("due items deferred: %s", error.message)

    def _deliver(self, delivery: Delivery) -> MessageOutcome:
        return deliver_utterance(self._runtime, delivery)

    def _compact(self, delivery: Delivery) -> MessageOutcome:
        return self._carry(run_background_turn, delivery)

    def _carry(self, run: Run, delivery: Delivery) -> MessageOutcome:
        """Run a turn beside others, or alone if it may have killed the process before."""
        is_alone = is_suspect_delivery(self._runtime.home.journal, delivery)
        with self._isolation.alone() if is_alone else self._isolation.together():
            return run(self._runtime, delivery, self._pace)

    def _night(self, delivery: Delivery) -> MessageOutcome:
        return run_nightly_review(self._runtime, delivery, Pace(stopping=self._stopping.is_set))

    def _nightfall(self) -> None:
        """Send agents into the night when a day is over, and learn what models cost by then."""
        if not send_nightly_reviews(self._runtime) or self._price is None:
            return
        try:
            self._price(self._runtime)
        except OpenCrabError as error:
            log.warning("keeping the current prices: %s", error.message)

    def _sweep(self) -> None:
        due = False
        for sweeps in count():
            due = due or sweeps % _SWEEPS_AN_HOUR == 0
            try:
                sweep_agents(self._runtime)
                self._nightfall()
                if due:
                    send_session_count_reviews(self._runtime)
                due = False
                self._purge()
            except Exception:
                log.exception("sweep failed; will retry")
            if self._stopping.wait(SWEEP_SECONDS):
                return


class _Server(uvicorn.Server):
    """A server that says when it is ready, and says at the first signal that it will end."""

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
        """Take the signals for good: uvicorn would raise them again before the steps finished."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002 - the name is given
        if self.should_exit:
            os._exit(128 + sig)
        self._on_exit()
        self.should_exit = True
