"""Archives of memory: an agent's past as a zip that its owner takes away, and what is taken in."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field

from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Identifier, Value
from opencrab.engine.memory.archive.export import ExportSelection, export_memory_archive
from opencrab.engine.memory.archive.restore import restore_memory_archive
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import BYTES_BODY, Bytes, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.timestamps import Moment
from opencrab.gateways.rest.http.view import View

router = routes_below("/api/agents/{agent_id}/memory", "memory", takes_json=False)

_ZIP: dict[str, Any] = {
    "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}
}


class ExportQuery(Value, defer_build=False):
    """What of the past is exported."""

    sessions: bool = Field(default=True, description="what was said, beside what is kept of it")
    session_id: Identifier | None = Field(default=None, description="only this session")
    since: Moment | None = Field(default=None, description="only lines from this time on")
    until: Moment | None = Field(default=None, description="only lines before this time")


class ImportQuery(Value, defer_build=False):
    """Whether what is taken in counts as the agent's own."""

    trust: bool = Field(
        default=False,
        description="take it as it is; else it is private and counts as learned from strangers",
    )


class TakenView(View):
    """What came of an import, by kind: taken in, known already, known with other words.

    `forgotten` is left out because it was forgotten here; only a trusted archive brings it back.
    """

    taken: dict[str, int]
    known: dict[str, int]
    other: dict[str, int]
    forgotten: dict[str, int]


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"description": "A zip of JSON lines and Markdown.", **_ZIP}},
    summary="Export what an agent remembers",
)
def export_memory(
    api: Api, _caller: Owner, agent_id: Id, query: Annotated[ExportQuery, Query()]
) -> Response:
    """Memories, experiences, impressions, summaries, knowledge, sessions: a zip of 4 MiB at most.

    `memories.md` and `sessions/*.md` are for reading; the JSON lines of what is kept, but not of
    sessions and summaries, can be imported again.
    """
    wanted = ExportSelection(**dict(query))
    content = export_memory_archive(api.runtime.home, api.runtime.clock, agent_id, wanted)
    name = f"{agent_id}-memory-{_day(api.runtime.clock.now())}.zip"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "ETag": f'"{content_hash(content)}"',
    }
    return Response(content, headers=headers, media_type="application/zip")


@router.post(
    "/import",
    summary="Import what an agent is to remember",
    openapi_extra=BYTES_BODY,
)
def import_memory(
    api: Api,
    _caller: Owner,
    agent_id: Id,
    query: Annotated[ImportQuery, Query()],
    content: Bytes,
    _once: Repeatable,
) -> TakenView:
    """Take in memories, experiences, impressions and knowledge of an exported zip.

    All of it is checked before anything is written; the same zip again changes nothing. Lines of
    sessions and summaries are not taken in: a journal tells only what happened here.
    """
    taken = restore_memory_archive(
        api.runtime.home, api.runtime.clock, agent_id, content, trusted=query.trust
    )
    return TakenView.of(taken)


def _day(now: datetime) -> str:
    return now.strftime("%Y%m%d")
