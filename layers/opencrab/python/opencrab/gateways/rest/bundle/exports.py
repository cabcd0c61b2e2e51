"""The export of an agent as rows of a bundle."""

from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field

from opencrab.domain.value import Value
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import JSON_LINES, NEXT, cursor_place, http_page_cursor

LISTING = "bundle"

router = http_routes_below("/api/agents/{agent_id}", "bundle", takes_json=False)

_ROWS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "JSON Lines of one part.",
        "content": {JSON_LINES: {"schema": {"type": "string"}}},
        "headers": {
            NEXT: {
                "description": "`after` of the next part; unchanged at the end",
                "schema": {"type": "string"},
            }
        },
    }
}


class BundleQuery(Value, defer_build=False):
    """The parts of an agent that are exported; `after` continues an export."""

    people: bool = Field(
        default=False,
        description="also what it learned from and about people other than its owner",
    )
    after: Annotated[str, Field(max_length=4_000)] | None = Field(
        default=None, description=f"the header {NEXT} of the previous part"
    )


@router.get("/bundle", response_class=Response, responses=_ROWS)
def export_bundle(
    api: Api, _caller: Owner, agent_id: Id, query: Annotated[BundleQuery, Query()]
) -> Response:
    """Export an agent as the rows of a bundle.

    A part has about 1 MiB, each line with `kind` and `value`; `after` continues, and a part without
    lines is the end. Rows of files name path and hash; read their content from the workspace. Rows
    of the kind `left_out` say what is not exported, and why. No key, no session and no turn is
    exported.
    """
    from opencrab.engine.bundle.export import (  # noqa: PLC0415 - seldom needed
        BundleSelection,
        export_bundle_part,
    )

    place = cursor_place(LISTING, query.after)
    wanted = BundleSelection(people=query.people)
    part = export_bundle_part(api.runtime, agent_id, wanted, place)
    cursor = {NEXT: http_page_cursor(LISTING, part.place)} if part.place else {}
    return Response(part.text, headers=cursor, media_type=JSON_LINES)
