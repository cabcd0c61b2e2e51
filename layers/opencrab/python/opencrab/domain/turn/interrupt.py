"""Interrupt: what a person's next message does to the turn that still answers the one before."""

from enum import StrEnum


class Interrupt(StrEnum):
    """What becomes of a running turn when its sender sends the next message in the session.

    `at_once` also closes the stream of its model call; `after_step` ends it after the model call or
    action in hand; with `queue` the new message waits.
    """

    AT_ONCE = "at_once"
    AFTER_STEP = "after_step"
    QUEUE = "queue"
