"""Ordered work: groups run one message at a time, several groups at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from opencrab.domain.errors import Invalid

LONGEST_DELAY_SECONDS = 900
"""The longest delay of a message in SQS: 15 minutes."""


@dataclass(frozen=True)
class Delivery:
    """A message that one worker holds until `receipt` is done or its visibility ends."""

    body: str
    group: str
    receipt: str
    count: int


class MessageOutcome(StrEnum):
    """The outcome of a queue message: finished, or given back to the queue for later."""

    FINISHED = "finished"
    CONTINUE = "continue"


@dataclass(frozen=True)
class QueueMessage:
    """A message for one of the home's queues."""

    queue: str
    body: str
    group: str
    deduplication: str


@dataclass(frozen=True)
class BatchedMessage:
    """A message that is sent together with others."""

    body: str
    group: str
    deduplication: str
    delay_seconds: int = 0


class Queue(Protocol):
    """A FIFO queue with groups, deduplication (5 minutes), visibility and dead letters."""

    def send(self, body: str, *, group: str, deduplication: str, delay_seconds: int = 0) -> None:
        """Add a message; the same deduplication id within 5 minutes adds nothing.

        Raises Invalid for a delay in an ordered queue, and for one of over 15 minutes: only a queue
        without order, such as that of heartbeats, can delay messages.
        """

    def send_batch(self, messages: Iterable[BatchedMessage]) -> None:
        """Add many messages as `send` does, in as few calls as the queue allows.

        Raises as `send`; then some messages may have been added, and sending all again adds
        nothing twice where the queue deduplicates.
        """

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        """Take the next message of a group that has none in flight; None after the wait.

        A queue may count the wait in whole seconds, rounded up.
        """

    def acknowledge(self, receipt: str) -> None:
        """Remove a message; a receipt that is unknown, or that a newer one replaced, is ignored.

        A receipt whose visibility ended, or that was given back, is no longer valid: until the
        message is taken again a queue may or may not accept it.
        """

    def continue_later(self, receipt: str, seconds: int) -> bool:
        """Return a message to the queue, to be delivered again after some seconds.

        False if it is gone, or if the receipt is no longer valid: do not use it afterwards.
        """

    def dead_letter(self, body: str, *, group: str, reason: str) -> None:
        """Store a copy in the dead-letter queue."""

    def list_dead_letters(self, limit: int) -> tuple[tuple[str, str], ...]:
        """Return dead letters, newest first: body and reason."""


def require_turn_queue_delay(seconds: int, *, ordered: bool) -> None:
    """Raise Invalid for a delay, one of 0 included, that a queue of this kind does not support."""
    if ordered:
        raise Invalid(
            "a FIFO queue cannot delay a message",
            field="delay_seconds",
            cure="send it without a delay, or use a standard queue",
        )
    if not 0 < seconds <= LONGEST_DELAY_SECONDS:
        raise Invalid(
            f"a message cannot be delayed by {seconds} s",
            field="delay_seconds",
            cure=f"choose a delay of 0 to {LONGEST_DELAY_SECONDS} s",
        )
