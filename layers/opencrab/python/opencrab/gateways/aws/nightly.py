"""Lambda's side of the night: what is due is sent, then taken one by one until time is over.

Reviews of skills by day are sent and taken likewise. Where many are due, the function calls more of
itself, which take from the same queue side by side. One whose time is over, or that is about to be
cut off, calls its successor.

No mapping calls a function for the queue of nights: to ask it all day long would cost more than
everything that is asked of it. What fails stays in the queue until the next hour, and is given up
into the dead letters after some hours.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace
from opencrab.gateways.aws.functions import Run
from opencrab.gateways.aws.lambda_log import LambdaLog
from opencrab.gateways.aws.night_calls import (
    NIGHT,
    NightCalls,
    NightContinuation,
    SetTimer,
    thread_timer,
)
from opencrab.ports.turn.queue import Delivery, MessageOutcome

log = logging.getLogger(__name__)

VISIBILITY_SECONDS = 1_800
"""Longer than the function may run, so that nothing is taken twice in one call of it."""

LEAST_SECONDS = 60.0
"""The time that a night has at least. One that was cut off has twice as much with each new try."""

MOST_SECONDS = 840.0
"""The time that any night can have: nearly all of a call."""

_SHOWN = 200
_WAIT_SECONDS = 1.0
"""A shorter look may miss messages that are there."""


class NightWorker:
    """The handler of the function behind the hourly schedule."""

    def __init__(
        self,
        runtime: Runtime,
        lambda_log: LambdaLog,
        *,
        fall: Callable[[Runtime], int],
        review: Callable[[Runtime], int],
        run: Run,
        price: Callable[[Runtime], int],
        calls: NightCalls,
        set_timer: SetTimer = thread_timer,
    ) -> None:
        self._runtime = runtime
        self._lambda_log = lambda_log
        self._fall = fall
        self._review = review
        self._run = run
        self._price = price
        self._calls = calls
        self._set_timer = set_timer

    def run_nightly(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Queue due nightly runs and reviews, update prices if any was queued, and run the runs.

        An event with `night`, the number of calls before it, is a call for help: it only runs them.
        """

        def seconds_left() -> float:
            return float(context.get_remaining_time_in_millis()) / 1_000

        self._lambda_log.set_context()
        name, before = context.function_name, int(event.get(NIGHT, 0))
        told = {} if NIGHT in event else self._send_due(name)
        continuation = NightContinuation(
            self._runtime.home.nights,
            lambda: self._calls.call_successor(name, before + 1),
            seconds_left,
            self._set_timer,
        )
        done, is_empty = self._work(Pace(seconds_left=seconds_left), continuation)
        told |= done
        continuation.end(is_empty=is_empty)
        if any(told.values()):
            self._lambda_log.set_context()
            log.info(
                "nightly runs: %s", ", ".join(f"{name}={count}" for name, count in told.items())
            )
        return told

    def _send_due(self, function: str) -> dict[str, int]:
        """Send what is due, and call more functions if it is much."""
        sent = self._fall(self._runtime)
        self._calls.call_helpers(function, sent)
        prices = self._prices() if sent else 0
        reviews = self._reviews()
        if not sent:
            self._calls.call_helpers(function, reviews)
        return {"sent": sent, "reviews": reviews, "prices": prices}

    def _reviews(self) -> int:
        """Send skill reviews and return their number; 0 on an error, retried the next hour."""
        try:
            return self._review(self._runtime)
        except OpenCrabError as error:
            log.warning("cannot send skill reviews, retrying in an hour: error=%s", error.message)
            self._lambda_log.count("NightFailures")
            return 0

    def _prices(self) -> int:
        """Update the prices and return how many changed; 0 if the list cannot be fetched."""
        try:
            return self._price(self._runtime)
        except OpenCrabError as error:
            log.warning(
                "cannot update model prices, keeping the current ones: error=%s", error.message
            )
            self._lambda_log.count("PriceFailures")
            return 0

    def _work(self, pace: Pace, continuation: NightContinuation) -> tuple[dict[str, int], bool]:
        """Run waiting nightly runs; count those that are done, deferred ("later") and failed.

        True beside the counts if no more wait, as far as one sees. What this call has no time for
        is held until its end.
        """
        queue = self._runtime.home.nights
        told = {"done": 0, "later": 0, "failed": 0}
        while pace.seconds_left() > LEAST_SECONDS:
            try:
                delivery = queue.receive(
                    visibility_seconds=VISIBILITY_SECONDS, wait_seconds=_WAIT_SECONDS
                )
            except OpenCrabError as error:
                log.warning("cannot receive nightly runs: error=%s", error.message)
                self._lambda_log.count("NightFailures")
                break
            if delivery is None:
                return told, True
            if pace.seconds_left() < min(LEAST_SECONDS * 2 ** (delivery.count - 1), MOST_SECONDS):
                continuation.hold(delivery.receipt)
                continue
            self._lambda_log.set_context()
            with continuation.guard(delivery.receipt):
                ended = self._ended(delivery, pace)
                if ended == "done":
                    self._acknowledge(delivery)
            told[ended] += 1
        return told, False

    def _acknowledge(self, delivery: Delivery) -> None:
        """Remove what is done; if that fails it comes again, and is found done."""
        try:
            self._runtime.home.nights.acknowledge(delivery.receipt)
        except OpenCrabError as error:
            log.warning("a nightly run that is done comes again: error=%s", error.message)

    def _ended(self, delivery: Delivery, pace: Pace) -> str:
        """Run one nightly run and return its outcome; catches every error of the run."""
        try:
            finished = self._run(self._runtime, delivery, pace) is MessageOutcome.FINISHED
        except Exception as error:
            if isinstance(error, Unavailable):
                log.warning(
                    "nightly run failed, retrying: message=%s, error=%s",
                    delivery.body[:_SHOWN],
                    error.message,
                )
            else:
                log.exception("nightly run failed, retrying: message=%s", delivery.body[:_SHOWN])
            self._lambda_log.count("NightFailures")
            return "failed"
        return "done" if finished else "later"
