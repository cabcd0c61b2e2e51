"""Lambda's side: what queues and the schedule deliver, given to the engine, logged and counted.

This is the boundary of the home on AWS: an error that nobody expected is logged, and its message
comes back soon, until the rule of three deliveries ends it or the queue gives it up.
"""

import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from opencrab import __version__
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

log = logging.getLogger(__name__)

LONGEST_RETRY_SECONDS = 60
UPGRADE_SECONDS = 30
"""How long one call migrates data; the function has 50 seconds, and is called until all is done."""

_IDS = ("turn_id", "agent_id", "session_id")
_CAUSES = 10

Handle = Callable[[Delivery], MessageOutcome]
Run = Callable[[Runtime, Delivery, Pace], MessageOutcome]


class _Formatter(LambdaPowertoolsFormatter):
    """A log formatter that writes JSON lines.

    Below level DEBUG an error shows only its type and traceback, because its message may quote a
    user.
    """

    def __init__(self, service: str, *, quoting: bool) -> None:
        super().__init__(service=service, use_rfc3339=True, serialize_stacktrace=False)
        self._quoting = quoting

    def formatException(self, ei: Any) -> str:  # noqa: N802  # the name is logging's
        """Return the tracebacks and types of an error and of its causes, newest first."""
        if self._quoting:
            return super().formatException(ei)
        told: list[str] = []
        error: BaseException | None = ei[1]
        while error is not None and len(told) < _CAUSES:
            places = "".join(traceback.format_tb(error.__traceback__))
            told.append(f"{places}{type(error).__name__}")
            hidden = error.__suppress_context__
            error = error.__cause__ or (None if hidden else error.__context__)
        return "\n".join(told)


class LambdaLog:
    """Logging as JSON with the ids of the current turn, and the metrics of ended turns.

    No line contains anything that a user or an agent said. Metrics are written in the embedded
    metric format, so that they need no API call: `SpentMicroUsd` for a turn that paid for models,
    `CompactionFailures` for a summary that failed, `NightFailures` for a nightly run that failed,
    and `PriceFailures` for a price list that could not be fetched. CloudWatch bills each metric in
    hours in which it is sent; how long a turn took and how it ended are in its line of the log.
    """

    def __init__(self, service: str, level: int = logging.INFO) -> None:
        self._service = service
        self._formatter = _Formatter(service, quoting=level <= logging.DEBUG)
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(self._formatter)
        root = logging.getLogger()
        root.handlers = [handler]
        root.setLevel(level)
        logging.getLogger("botocore").setLevel(logging.WARNING)
        logging.getLogger("pynamodb").setLevel(logging.WARNING)

    def on_turn(self, turn: Turn) -> None:
        """Add a turn's ids to the following log lines; log an ended turn and write its metrics."""
        self._formatter.append_keys(
            turn_id=turn.id, agent_id=turn.agent_id, session_id=turn.session_id
        )
        if not turn.status.is_end or turn.ended_at is None:
            return
        took = (turn.ended_at - turn.created_at).total_seconds() * 1_000
        log.info(
            "turn ended: status=%s, attempts=%s, milliseconds=%.0f, spent_micro_usd=%s",
            turn.status.value,
            turn.attempts,
            max(took, 0.0),
            turn.spent,
        )
        if turn.spent:
            metrics = EphemeralMetrics(namespace="OpenCrab", service=self._service)
            metrics.add_metric("SpentMicroUsd", MetricUnit.Count, turn.spent)
            metrics.flush_metrics()
        in_vain = turn.status in {TurnStatus.FAILED, TurnStatus.EXHAUSTED}
        if turn.trigger is Trigger.COMPACTION and in_vain:
            self.count("CompactionFailures")

    def count(self, name: str) -> None:
        """Count one rare event as a metric, which costs only in hours in which it is sent."""
        metrics = EphemeralMetrics(namespace="OpenCrab", service=self._service)
        metrics.add_metric(name, MetricUnit.Count, 1)
        metrics.flush_metrics()

    def set_context(self, **ids: str) -> None:
        """Replace the ids in all following log lines by these."""
        self._formatter.remove_keys(_IDS)
        self._formatter.append_keys(**ids)


class Worker:
    """The handlers of the functions behind queues and schedules."""

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
        runtime = self._runtime
        return self._batch(
            event, runtime.home.deliveries, lambda one: deliver_session_utterance(runtime, one)
        )

    def run_heartbeats(self, event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        """Process the heartbeats of a batch, each independently because they have no order."""
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

    def _paced_handling(self, context: Any, run: Run) -> tuple[Pace, Handle]:
        """Return the time left in this invocation, and what runs one message within it."""

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
