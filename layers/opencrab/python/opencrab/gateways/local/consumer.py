"""Consumers: threads that give the messages of one queue to a handler."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

log = logging.getLogger(__name__)

MAX_RECEIVES = 1_000
_POLL_SECONDS = 1.0
_RETRY_SECONDS = 2
_INTERACTION_WORKERS = 4
_INTERACTION_SECONDS = 120
"""After a crash people wait for it, so it comes again sooner than a turn."""

Handle = Callable[[Delivery], MessageOutcome]


class Consumer:
    """A consumer of one queue that handles up to `workers` messages at once.

    It catches every error of a handler: the error is logged and the message redelivered, three
    times at most. The content of a `private` message is not logged.
    """

    def __init__(
        self,
        name: str,
        queue: Queue,
        handle: Handle,
        *,
        workers: int,
        visibility: int,
        private: bool = False,
    ) -> None:
        self._name = name
        self._queue = queue
        self._private = private
        self._handle = handle
        self._visibility = visibility
        self._free = threading.Semaphore(workers)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="worker")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="consumer", daemon=True)

    def start(self) -> None:
        """Start receiving messages."""
        self._thread.start()

    def stop(self) -> None:
        """Receive no more messages; running handlers may finish their step."""
        self._stopping.set()

    def join(self) -> None:
        """Wait until the running handlers have ended."""
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
                log.warning(
                    "cannot receive from queue, retrying: queue=%s, error=%s",
                    self._name,
                    error.message,
                )
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
                log.warning("message given up: reason=%s, group=%s", reason, delivery.group)
                self._queue.dead_letter(delivery.body, group=delivery.group, reason=reason)
                self._queue.acknowledge(delivery.receipt)
            elif self._handle(delivery) is MessageOutcome.FINISHED:
                self._queue.acknowledge(delivery.receipt)
        except Exception:
            shown = "a private message" if self._private else delivery.body[:200]
            log.exception(
                "message failed, retrying: queue=%s, group=%s, attempt=%s, message=%s",
                self._name,
                delivery.group,
                delivery.count,
                shown,
            )
            self._give_back(delivery, _RETRY_SECONDS)
        finally:
            self._free.release()

    def _give_back(self, delivery: Delivery, seconds: int) -> None:
        """Let a message return after some seconds; while the disk is full, try it again."""
        for attempt in range(max(self._visibility // _RETRY_SECONDS, 1)):
            try:
                self._queue.continue_later(delivery.receipt, seconds)
            except OpenCrabError as error:
                if attempt == 0:
                    log.warning(
                        "cannot set retry delay, the message returns after its visibility timeout: "
                        "queue=%s, group=%s, error=%s",
                        self._name,
                        delivery.group,
                        error.message,
                    )
                if not isinstance(error, Unavailable) or self._stopping.wait(_RETRY_SECONDS):
                    return
            else:
                return


class LateConsumer:
    """A consumer that begins to ask its queue once somebody may have sent something to it."""

    def __init__(self, consumer: Consumer, is_wanted: Callable[[], bool]) -> None:
        self._consumer = consumer
        self._is_wanted = is_wanted
        self._lock = threading.Lock()
        self._may, self._runs = False, False

    def start(self) -> None:
        """Start receiving messages if they are wanted already, else when they are."""
        self._may = True
        if self._is_wanted():
            self.wake()

    def wake(self) -> None:
        """Start receiving messages now; does nothing before `start`, and nothing twice."""
        with self._lock:
            if self._may and not self._runs:
                self._runs = True
                self._consumer.start()

    def stop(self) -> None:
        """Receive no more messages; running handlers may finish their step."""
        with self._lock:
            self._may = False
        self._consumer.stop()

    def join(self) -> None:
        """Wait until the running handlers have ended."""
        if self._runs:
            self._consumer.join()


class InteractionHandler(NamedTuple):
    """What handles the interactions queue, and whether anybody may have sent to it already."""

    handle: Callable[[Runtime, Delivery], MessageOutcome]
    is_wanted: Callable[[], bool] = lambda: True


def interactions_consumer(
    runtime: Runtime, interact: InteractionHandler | None
) -> LateConsumer | None:
    """Return the consumer of what gateways have queued; None without a queue or a handler."""
    queue = runtime.home.interactions
    if queue is None or interact is None:
        return None
    consumer = Consumer(
        "interactions",
        queue,
        partial(interact.handle, runtime),
        workers=_INTERACTION_WORKERS,
        visibility=_INTERACTION_SECONDS,
        private=True,
    )
    return LateConsumer(consumer, interact.is_wanted)
