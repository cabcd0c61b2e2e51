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
from opencrab.gateways.rest.http.body import BYTES_BODY, Bytes, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.timestamps import Moment
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/agents/{agent_id}/memory", "memory", takes_json=False)

_ZIP: dict[str, Any] = {
    "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}
}


class ExportQuery(Value, defer_build=False):
    """The parts of the past that an export includes."""

    sessions: bool = Field(default=True, description="also export the lines of sessions")
    session_id: Identifier | None = Field(default=None, description="only lines of this session")
    since: Moment | None = Field(default=None, description="only lines from this time on")
    until: Moment | None = Field(default=None, description="only lines before this time")


class ImportQuery(Value, defer_build=False):
    """The trust in an archive: a trusted one counts as the agent's own memory."""

    trust: bool = Field(
        default=False,
        description="import it as trusted; otherwise it is private and marked as untrusted",
    )


class TakenView(View):
    """Result of an import, by kind: imported, already known, known with other text.

    `forgotten` was skipped because it had been erased here; only a trusted archive restores it.
    """

    taken: dict[str, int]
    known: dict[str, int]
    other: dict[str, int]
    forgotten: dict[str, int]


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"description": "A zip of JSON lines and Markdown.", **_ZIP}},
)
def export_memory(
    api: Api, _caller: Owner, agent_id: Id, query: Annotated[ExportQuery, Query()]
) -> Response:
    """Export an agent's memory as a zip.

    It has memories, experiences, impressions, summaries, knowledge and sessions, and 4 MiB at most.
    `memories.md` and `sessions/*.md` are for reading. The JSON lines can be imported again, except
    those of sessions and summaries.
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
    """Import an exported zip into an agent's memory.

    Memories, experiences, impressions and knowledge are imported. The whole zip is checked before
    anything is written; importing it again changes nothing. Lines of sessions and summaries are not
    imported, because a journal holds only what happened in this installation.
    """
    taken = restore_memory_archive(
        api.runtime.home, api.runtime.clock, agent_id, content, trusted=query.trust
    )
    return TakenView.of(taken)


def _day(now: datetime) -> str:
    return now.strftime("%Y%m%d")
