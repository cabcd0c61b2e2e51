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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import uvicorn

from opencrab.domain.errors import OpenCrabError, Unavailable
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
from opencrab.gateways.local.feed_watch import FeedWatch
from opencrab.gateways.local.header_deadline import HeaderDeadlineProtocol
from opencrab.gateways.local.index_follower import IndexFollower
from opencrab.gateways.local.isolation import Isolation
from opencrab.gateways.local.later_websocket import WEBSOCKET_PROTOCOL
from opencrab.ports.turn.queue import Delivery, MessageOutcome

log = logging.getLogger(__name__)

WORKERS = 32
SWEEP_SECONDS, FIRST_SWEEP_SECONDS = 60.0, 1.0
_SWEEPS_AN_HOUR = 60
_POLL_SECONDS = 1.0
_BEAT_SECONDS = 60
_NIGHT_SECONDS = 600
_FRAME_BYTES = 65_536
"""Frames of a WebSocket that are larger are not even read."""
_BACKLOG = 2_048
"""That of uvicorn."""

Run = Callable[[Runtime, Delivery, Pace], MessageOutcome]


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
        workers: int = WORKERS,
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
        self._watch.join()

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
