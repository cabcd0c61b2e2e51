"""Where traces of turns go: to the operator's own observability tools."""

from typing import Protocol

from opencrab.domain.telemetry.turn_trace import TurnTrace


class TurnTraces(Protocol):
    """A receiver of traces; one that cannot be reached costs a turn nothing but little time."""

    def export(self, trace: TurnTrace) -> None:
        """Send a trace, at once or soon; never raises, and drops what cannot be sent."""
