"""Requests a summary after a turn, once its session has grown enough."""

import json
from contextlib import suppress

from opencrab.domain.errors import Unavailable
from opencrab.domain.identifier import stable_id
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.ports.turn.queue import Queue


class CompactionConsequence(Consequence):
    """Requests a summary of a session that has grown enough."""

    def after_close(self, work: TurnWork) -> None:
        _request_when_grown(work)


def _request_when_grown(work: TurnWork) -> None:
    """Request a summary once a session has grown by `compact_every` lines.

    Only data at hand is read. A lost request is made up for by the next one: the job continues
    after the last summarized line.
    """
    every, lines = work.runtime.rules.compact_every, work.history
    if every <= 0 or not lines:
        return
    own = [line for line in lines if line.speaker_id == work.turn.agent_id]
    seen = own[-1].group_line or own[-1].sequence if own else min(x.sequence for x in lines) - 1
    newest = work.newest_line
    if seen // every < newest // every:
        with suppress(Unavailable):
            request_compaction(
                work.runtime.home.compactions,
                work.turn.agent_id,
                work.turn.session_id,
                str(newest // every),
            )


def request_compaction(compactions: Queue, agent_id: str, session_id: str, cause: str) -> None:
    """Queue a check of a session for summaries; one request per cause in a few minutes."""
    body = json.dumps({"v": 1, "agent": agent_id, "session": session_id}, separators=(",", ":"))
    compactions.send(
        body,
        group=session_id,
        deduplication=stable_id("compaction", agent_id, session_id, cause),
    )
