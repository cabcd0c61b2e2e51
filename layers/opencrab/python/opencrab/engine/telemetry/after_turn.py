"""What follows when a turn has ended: its trace, read from its journal, is exported."""

import logging

from opencrab.domain.telemetry.turn_trace import trace_of_turn
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.ports.turn.journal import resolve_record_pointers
from opencrab.ports.usage.turn_traces import TurnTraces

log = logging.getLogger(__name__)


class TelemetryConsequence(Consequence):
    """Exports each turn once it has ended; a crash in between loses its trace, and nothing else.

    Turns in the background (summaries, wordings, vectors) are not exported.
    """

    def __init__(self, traces: TurnTraces, *, content: bool) -> None:
        self._traces, self._content = traces, content

    def after_close(self, work: TurnWork) -> None:
        home = work.runtime.home
        # The turn has ended well, whatever is wrong with its trace. An error's text may hold words.
        try:
            recorded = home.journal.load(work.turn.id)
            records = resolve_record_pointers(recorded.records, home.blobs)
            name = work.profile.identity.name
            trace = trace_of_turn(recorded.turn, records, name, content=self._content)
        except Exception as error:  # noqa: BLE001
            log.warning("turn %s is not exported: %s", work.turn.id, type(error).__name__)
            return
        self._traces.export(trace)
