"""Parts of an import: rows as JSON Lines, and files as they are."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from opencrab.domain.value import Identifier, Value
from opencrab.engine.bundle.importing import take_agent_import_part, write_agent_import_file
from opencrab.engine.bundle.limits import BUNDLE_PARTS
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import BYTES_BODY, Bytes, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/agent-imports", "bundle", takes_json=False)

ImportId = Annotated[Identifier, Path(description="the import's id")]
Number = Annotated[int, Path(ge=1, le=BUNDLE_PARTS, description="the part's number, from 1 on")]


class TakenRowsView(Value):
    """The rows that were taken in, by kind."""

    taken: dict[str, int]


class ImportedFileView(View):
    """A file that was imported."""

    path: str
    size: int
    sha256: str


class ImportedFileQuery(Value, defer_build=False):
    """The trust in a file's content."""

    clean: bool = Field(
        default=False, description="the agent's own words, by a bundle that is trusted"
    )


@router.put("/{import_id}/parts/{number}", openapi_extra=BYTES_BODY)
def put_import_part(
    api: Api, _caller: Owner, import_id: ImportId, number: Number, content: Bytes
) -> TakenRowsView:
    """Take in a part of the rows, as JSON Lines.

    At most 200 rows, each with `kind` and `value` as the export has them. All of them are checked
    before one is written; a part may be sent again.
    """
    return TakenRowsView(taken=take_agent_import_part(api.runtime, import_id, number, content))


@router.put("/{import_id}/files/{path:path}", openapi_extra=BYTES_BODY)
def put_import_file(
    api: Api,
    _caller: Owner,
    import_id: ImportId,
    path: str,
    query: Annotated[ImportedFileQuery, Query()],
    content: Bytes,
) -> ImportedFileView:
    """Write a workspace file of the agent that is imported.

    The body is its content, at most 5 MiB (4 MiB on AWS).
    """
    written = write_agent_import_file(api.runtime, import_id, path, content, clean=query.clean)
    return ImportedFileView.of(written)
