"""Memory status over REST: how far index and summaries have come, and what failed."""

from opencrab.domain.value import Identifier, Value
from opencrab.engine.memory.compaction.turn import retry_compaction
from opencrab.engine.memory.reading import session_in_agent_memory
from opencrab.engine.memory.status import MemoryStatus, memory_status
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

router = http_routes_below("/api/agents/{agent_id}/memory", "memory")


class RetryBody(Value, defer_build=False):
    """The session whose failed summaries are retried."""

    session_id: Identifier


@router.get("/status")
def get_memory_status(api: Api, _caller: Owner, agent_id: Id) -> MemoryStatus:
    """Get the state of an agent's memory index and summaries.

    It has the numbers of rows indexed, published, summarised, kept and refused, and what failed.
    """
    return memory_status(api.runtime.home, api.runtime.search, agent_id)


@router.post(
    "/summaries/retry",
    status_code=202,
    response_description="Accepted; the summaries are retried soon.",
)
def retry_summaries(
    api: Api, _caller: Owner, agent_id: Id, body: RetryBody, _once: Repeatable
) -> None:
    """Retry the failed summaries of a session, and of days and months.

    They run soon; `status` shows the result.
    """
    session_in_agent_memory(api.runtime.home.sessions, agent_id, body.session_id)
    retry_compaction(api.runtime, agent_id, body.session_id)
