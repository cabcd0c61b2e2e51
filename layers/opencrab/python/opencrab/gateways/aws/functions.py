"""Lambda's side: what queues and the schedule deliver, given to the engine.

This is the boundary of the home on AWS: an error that nobody expected is logged, and its message
comes back soon, until the rule of three deliveries ends it or the queue gives it up.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from opencrab import __version__
from opencrab.domain.errors import Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.gateways.aws.lambda_log import LambdaLog
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

if TYPE_CHECKING:
    from opencrab.engine.turn.run import Pace

log = logging.getLogger(__name__)

LONGEST_RETRY_SECONDS = 60
UPGRADE_SECONDS = 30
"""How long one call migrates data; the function has 50 seconds, and is called until all is done."""

Handle = Callable[[Delivery], MessageOutcome]
Run = Callable[[Runtime, Delivery, "Pace"], MessageOutcome]


class Worker:
    """The handlers of the functions behind queues and schedules.

    What only one of the functions needs, that one loads as it starts (`bootstrap/aws/functions`).
    """

    def __init__(
        self,
        runtime: Runtime,
        lambda_log: LambdaLog,
        beat: Callable[[datetime], None] = lambda _now: None,
    ) -> None:
        self._runtime = runtime
        self._lambda_log = lambda_log
        self._beat = beat

    def run_turns(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Run the turns of a batch, each as long as this invocation's time allows."""
        from opencrab.engine.turn.run import run_turn  # noqa: PLC0415 - of one function

        return self._paced(event, context, self._runtime.home.turns, run_turn)

    def run_compactions(self, event: Mapping[str, Any], context: Any, run: Run) -> dict[str, Any]:
        """Make the summaries that wait with `run`, as long as this invocation's time allows.

        Its schedule asks once a minute: no user waits for a summary, and Lambda would poll the
        queue seventy times as often. An event with messages is one of a release that let it.
        """
        queue = self._runtime.home.compactions
        if "Records" in event:
            return self._paced(event, context, queue, run)
        pace, handle = self._paced_handling(context, run)
        while pace.allows(self._runtime.rules.model_timeout_seconds):
            self._lambda_log.set_context()
            delivery = queue.receive(
                visibility_seconds=self._runtime.rules.visibility_seconds, wait_seconds=0
            )
            if delivery is None:
                break
            if self._finished(delivery, queue, handle):
                queue.acknowledge(delivery.receipt)
        return {}

    def send_deliveries(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Deliver the utterances of a batch."""
        from opencrab.engine.conversation.delivery import (  # noqa: PLC0415 - of one function
            deliver_session_utterance,
        )

        runtime = self._runtime
        return self._batch(
            event, runtime.home.deliveries, lambda one: deliver_session_utterance(runtime, one)
        )

    def run_heartbeats(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Process the heartbeats of a batch, each independently because they have no order."""
        from opencrab.engine.autonomy.heartbeat import (  # noqa: PLC0415 - of one function
            decide_queued_heartbeat,
        )

        runtime = self._runtime
        return self._batch(
            event, runtime.home.beats, lambda one: decide_queued_heartbeat(runtime, one)
        )

    def run_interactions(
        self,
        event: Mapping[str, Any],
        _context: Any,
        interact: Callable[[Runtime, Delivery], MessageOutcome],
    ) -> dict[str, Any]:
        """Handle the interactions of a batch with `interact`; none without their queue."""
        runtime, queue = self._runtime, self._runtime.home.interactions
        if queue is None:
            log.warning(
                "interactions dropped, their queue is not configured: count=%s",
                len(event["Records"]),
            )
            return {"batchItemFailures": []}
        return self._batch(event, queue, lambda one: interact(runtime, one))

    def sweep(self, _event: Mapping[str, Any], context: Any) -> dict[str, int]:
        """Run the sweep, which repairs what a crash left and starts what is due."""
        from opencrab.engine.autonomy.sweep import run_autonomy_sweep  # noqa: PLC0415 - as above

        def seconds_left() -> float:
            return float(context.get_remaining_time_in_millis()) / 1_000

        self._lambda_log.set_context()
        swept = run_autonomy_sweep(self._runtime, seconds_left)
        self._beat(self._runtime.clock.now())
        found = vars(swept)
        if any(found.values()):
            log.info(
                "sweep finished: %s", ", ".join(f"{name}={count}" for name, count in found.items())
            )
        return found

    def upgrade(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Run the data migrations that are left, as `make deploy` asks; `ended` says if all are."""
        from opencrab.engine.installation.data_migration import (  # noqa: PLC0415 - at a deployment
            upgrade_data,
        )

        runtime, dry_run = self._runtime, bool(event["upgrade"].get("dry_run"))
        self._lambda_log.set_context()
        done = upgrade_data(
            runtime.home, runtime.clock, __version__, dry_run=dry_run, seconds=UPGRADE_SECONDS
        )
        told = {"ended": done.ended, "before": done.before, "release": done.release}
        migrations = [asdict(each) for each in done.migrations]
        log.info("data upgrade: ended=%s, migrations=%s", done.ended, migrations)
        return {**told, "migrations": migrations}

    def _paced(
        self, event: Mapping[str, Any], context: Any, queue: Queue, run: Run
    ) -> dict[str, Any]:
        """Run a batch of turns, each of which checks the time left in this invocation."""
        _, handle = self._paced_handling(context, run)
        return self._batch(event, queue, handle)

    def _paced_handling(self, context: Any, run: Run) -> "tuple[Pace, Handle]":
        """Return the time left in this invocation, and what runs one message within it."""
        from opencrab.engine.turn.run import Pace  # noqa: PLC0415 - as above

        def seconds_left() -> float:
            return float(context.get_remaining_time_in_millis()) / 1_000

        pace = Pace(seconds_left=seconds_left)

        def handle(delivery: Delivery) -> MessageOutcome:
            self._lambda_log.set_context(session_id=delivery.group)
            return run(self._runtime, delivery, pace)

        return pace, handle

    def _batch(self, event: Mapping[str, Any], queue: Queue, handle: Handle) -> dict[str, Any]:
        """Handle a batch in order and return the messages that must be delivered again.

        After a failed message the rest of its group fails too, to keep the group's order.
        """
        again: list[dict[str, str]] = []
        waiting: set[str] = set()
        for record in event["Records"]:
            delivery = lambda_delivery_of_sqs_record(record)
            self._lambda_log.set_context()
            if delivery.group in waiting or not self._finished(delivery, queue, handle):
                again.append({"itemIdentifier": record["messageId"]})
                if delivery.group:
                    waiting.add(delivery.group)
        return {"batchItemFailures": again}

    def _finished(self, delivery: Delivery, queue: Queue, handle: Handle) -> bool:
        try:
            return handle(delivery) is MessageOutcome.FINISHED
        except Exception as error:
            if isinstance(error, Unavailable):
                log.warning(
                    "message failed, retrying: group=%s, attempt=%s, error=%s",
                    delivery.group,
                    delivery.count,
                    error.message,
                )
            else:
                log.exception(
                    "message failed, retrying: group=%s, attempt=%s", delivery.group, delivery.count
                )
            seconds = min(2 * max(delivery.count, 1), LONGEST_RETRY_SECONDS)
            try:
                queue.continue_later(delivery.receipt, seconds)
            except Unavailable as silent:
                log.warning(
                    "cannot set retry delay, the message returns after its visibility timeout: "
                    "group=%s, error=%s",
                    delivery.group,
                    silent.message,
                )
            return False


def lambda_delivery_of_sqs_record(record: Mapping[str, Any]) -> Delivery:
    """Convert a record of an SQS event to the engine's Delivery."""
    attributes = record["attributes"]
    return Delivery(
        body=record["body"],
        group=attributes.get("MessageGroupId", ""),
        receipt=record["receiptHandle"],
        count=int(attributes.get("ApproximateReceiveCount", 1)),
    )
