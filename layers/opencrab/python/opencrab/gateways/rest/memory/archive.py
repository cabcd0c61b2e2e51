"""Archives of memory: an agent's past as a zip that its owner takes away, and what is taken in."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import Field

from opencrab.domain.identifier import content_hash
from opencrab.domain.value import Identifier, Value
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import BYTES_BODY, Bytes, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import JSON_LINES, NEXT, cursor_place, http_page_cursor
from opencrab.gateways.rest.http.timestamps import Moment
from opencrab.gateways.rest.http.view import View

LISTING = "export"

router = http_routes_below("/api/agents/{agent_id}/memory", "memory", takes_json=False)

_EXPORTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A zip of JSON lines and Markdown, or JSON Lines of one part.",
        "content": {
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            JSON_LINES: {"schema": {"type": "string"}},
        },
        "headers": {
            NEXT: {
                "description": "`after` of the next part; unchanged at the end",
                "schema": {"type": "string"},
            }
        },
    }
}


class ExportQuery(Value, defer_build=False):
    """The parts of the past that an export includes; `after` continues an export as JSON Lines."""

    sessions: bool = Field(default=True, description="also export the lines of sessions")
    session_id: Identifier | None = Field(default=None, description="only lines of this session")
    since: Moment | None = Field(default=None, description="only lines from this time on")
    until: Moment | None = Field(default=None, description="only lines before this time")
    after: Annotated[str, Field(max_length=4_000)] | None = Field(
        default=None, description=f"the header {NEXT} of the previous part of JSON Lines"
    )


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


@router.get("/export", response_class=Response, responses=_EXPORTS)
def export_memory(
    api: Api, request: Request, _caller: Owner, agent_id: Id, query: Annotated[ExportQuery, Query()]
) -> Response:
    """Export an agent's memory as a zip, or in parts as JSON Lines.

    It has memories, experiences, impressions, summaries, knowledge and sessions. The zip has 4 MiB
    at most; `memories.md` and `sessions/*.md` are for reading. With `Accept: application/x-ndjson`
    the answer is one part of about 1 MiB, each line with `kind` and `value`; `after` continues,
    and a part without lines is the end. The JSON lines can be imported again, except those of
    sessions and summaries.
    """
    from opencrab.engine.memory.archive.export import (  # noqa: PLC0415 - seldom needed
        ExportSelection,
        export_memory_archive,
    )
    from opencrab.engine.memory.archive.rows import export_memory_part  # noqa: PLC0415 - seldom needed

    wanted = ExportSelection(**query.model_dump(exclude={"after"}))
    if query.after is not None or JSON_LINES in request.headers.get("accept", ""):
        place = cursor_place(LISTING, query.after)
        part = export_memory_part(api.runtime.home, agent_id, wanted, place)
        cursor = {NEXT: http_page_cursor(LISTING, part.place)} if part.place else {}
        return Response(part.text, headers=cursor, media_type=JSON_LINES)
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
    from opencrab.engine.memory.archive.restore import (  # noqa: PLC0415 - seldom needed
        restore_memory_archive,
    )

    taken = restore_memory_archive(
        api.runtime.home, api.runtime.clock, agent_id, content, trusted=query.trust
    )
    return TakenView.of(taken)


def _day(now: datetime) -> str:
    return now.strftime("%Y%m%d")
