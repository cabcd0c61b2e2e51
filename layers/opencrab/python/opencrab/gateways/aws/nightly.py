"""Lambda's side of the night: what is due is sent, then taken one by one until time is over.

Reviews of skills by day are sent and taken likewise.

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
from opencrab.gateways.aws.functions import LambdaLog, Run
from opencrab.ports.turn.queue import Delivery, MessageOutcome

log = logging.getLogger(__name__)

VISIBILITY_SECONDS = 1_800
"""Longer than the function may run, so that nothing is taken twice in one call of it."""

LEAST_SECONDS = 60.0
"""A night that takes longer than this is cut off, and begun again an hour later."""

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
    ) -> None:
        self._runtime = runtime
        self._lambda_log = lambda_log
        self._fall = fall
        self._review = review
        self._run = run
        self._price = price

    def run_nightly(self, _event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Queue due nightly runs and reviews, update prices if any was queued, and run the runs."""

        def seconds_left() -> float:
            return float(context.get_remaining_time_in_millis()) / 1_000

        self._lambda_log.set_context()
        sent = self._fall(self._runtime)
        prices = self._prices() if sent else 0
        told = {"sent": sent, "reviews": self._reviews(), "prices": prices}
        told |= self._work(Pace(seconds_left=seconds_left))
        if any(told.values()):
            self._lambda_log.set_context()
            log.info(
                "nightly runs: %s", ", ".join(f"{name}={count}" for name, count in told.items())
            )
        return told

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

    def _work(self, pace: Pace) -> dict[str, int]:
        """Run waiting nightly runs; count those that are done, deferred ("later") and failed."""
        queue = self._runtime.home.nights
        told = {"done": 0, "later": 0, "failed": 0}
        while pace.seconds_left() > LEAST_SECONDS:
            delivery = queue.receive(
                visibility_seconds=VISIBILITY_SECONDS, wait_seconds=_WAIT_SECONDS
            )
            if delivery is None:
                break
            self._lambda_log.set_context()
            ended = self._ended(delivery, pace)
            told[ended] += 1
            if ended == "done":
                queue.acknowledge(delivery.receipt)
        return told

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
