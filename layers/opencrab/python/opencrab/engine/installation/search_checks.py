"""The check of the search indexes."""

from collections.abc import Iterator
from datetime import timedelta

from opencrab.domain.errors import OpenCrabError
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.installation.findings import Findings
from opencrab.engine.installation.work_checks import agents_checked_in_installation
from opencrab.engine.runtime import Runtime

_INDEXED = timedelta(minutes=1)
_ROWS = 20
_MOST_INDEXES = 20
"""The most agents whose index is opened."""


def check_installation_search(runtime: Runtime, findings: Findings) -> Iterator[Check]:
    """Check that each agent's search index is there and can be read."""
    count = rows = 0
    for agent in agents_checked_in_installation(runtime)[:_MOST_INDEXES]:
        try:
            status = runtime.search.status(agent.id)
        except OpenCrabError as error:
            facts = {"agent": agent.name, "why": error.message, "cure": error.cure or "-"}
            yield findings.problem("search", "index_unread", **facts)
            continue
        if status.backend == "none":
            return
        if status.published_at is None:
            if _has_worked(runtime, agent.id):
                yield findings.warning("search", "index_missing", agent=agent.name)
            continue
        count, rows = count + 1, rows + status.rows
    if count:
        yield findings.well("search", "index", count=count, rows=rows)


def _has_worked(runtime: Runtime, agent_id: str) -> bool:
    """Check whether an agent worked in a session so long ago that its index must be there."""
    before = runtime.clock.now() - _INDEXED
    rows = runtime.home.usage.rows(agent_id, until=before, limit=_ROWS)
    return any(row.session_id for row in rows)
