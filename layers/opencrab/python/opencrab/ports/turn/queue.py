"""Ordered work: groups run one message at a time, several groups at once."""

from dataclasses import dataclass
from typing import Protocol

from opencrab.domain.errors import Invalid

LONGEST_DELAY_SECONDS = 900
"""SQS keeps a message back for 15 minutes at most."""


@dataclass(frozen=True)
class Delivery:
    """One message in one worker's hands until `receipt` is finished or its visibility ends."""

    body: str
    group: str
    receipt: str
    count: int


class Queue(Protocol):
    """A FIFO queue with groups, deduplication (5 minutes), visibility and dead letters."""

    def send(self, body: str, *, group: str, deduplication: str, delay_seconds: int = 0) -> None:
        """Add a message; the same deduplication id within 5 minutes adds nothing.

        Raises Invalid for a delay where there is order, and for one of over 15 minutes: only a
        queue without order, such as that of beats, keeps messages back.
        """

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        """Take the next message of a group that has none in flight; None after the wait.

        A queue may count the wait in whole seconds, rounded up.
        """

    def done(self, receipt: str) -> None:
        """Remove a message; a receipt that is unknown, or that a newer one replaced, is ignored.

        A receipt whose visibility ended, or that was given back, is out of its worker's hands:
        until the message is taken again a queue may still heed it, or not.
        """

    def continue_later(self, receipt: str, seconds: int) -> bool:
        """Give a message back, to be delivered again after some seconds.

        False if it is gone, or if the receipt counts no more: use it for nothing else afterwards.
        """

    def dead_letter(self, body: str, *, group: str, reason: str) -> None:
        """Keep a copy among the dead letters."""

    def list_dead_letters(self, limit: int) -> tuple[tuple[str, str], ...]:
        """Dead letters, newest first: body and reason."""


def check_delay(seconds: int, *, ordered: bool) -> None:
    """Raise Invalid for a delay that no queue of this kind can keep."""
    if not seconds:
        return
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
