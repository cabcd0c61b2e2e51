"""The log of a Lambda function: JSON lines with the ids of the current turn, and rare metrics."""

import logging
import sys
import traceback
from typing import Any

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus

log = logging.getLogger(__name__)

_IDS = ("turn_id", "agent_id", "session_id")
_CAUSES = 10


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
