"""Workspaces: an agent's files, listed as JSON, read and written as plain bytes."""

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Query, Response
from pydantic import Field

from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.value import Value
from opencrab.domain.workspace.path import workspace_path
from opencrab.gateways.rest.http.access import Owner, Reader
from opencrab.gateways.rest.http.body import BYTES_BODY, Bytes, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import Page, PageQuery, page_of, page_place
from opencrab.gateways.rest.http.view import View
from opencrab.ports.agents import Agents
from opencrab.ports.workspace.files import ABSENT

LISTING = "files"

router = routes_below("/api/agents/{agent_id}", "workspace", takes_json=False)

_FILE: dict[str, Any] = {
    "description": "The file's bytes: text/plain when they are UTF-8. ETag holds its version.",
    "content": {
        "text/plain": {"schema": {"type": "string"}},
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}


class FilesQuery(PageQuery, defer_build=False):
    """Which part of which folder."""

    prefix: Annotated[str, Field(max_length=700)] = Field(
        default="", description="only files in this folder and below"
    )


class FileView(View):
    """A file without its content; send `version` as If-Match to replace only this version."""

    path: str
    size: int
    sha256: str
    version: str


class VersionView(View):
    """One version of a file; GET the file with `?version=` to read it."""

    version: str
    size: int
    at: datetime
    is_current: bool


class VersionsView(Value):
    """Versions of one file."""

    path: str
    items: tuple[VersionView, ...]


class ReadQuery(Value, defer_build=False):
    """Which content of a file, and whether a browser shows or keeps it."""

    version: Annotated[str, Field(max_length=1_200)] | None = Field(
        default=None, description="a version of the file, for an older content"
    )
    download: bool = Field(default=False, description="add a file name for saving to the response")


@router.get("/workspace")
def list_files(
    api: Api, _caller: Reader, agent_id: Id, query: Annotated[FilesQuery, Query()]
) -> Page[FileView]:
    """List files of a workspace and all its folders, in order of their paths."""
    _require_agent(api.runtime.home.agents, agent_id)
    after = page_place(LISTING, query.cursor)
    listed = api.runtime.home.files.list(agent_id, query.prefix)
    found = [info for info in listed if after is None or info.path > after]
    items, cursor = page_of(LISTING, found, query.limit, lambda info: info.path)
    return Page(items=tuple(map(FileView.of, items)), next_cursor=cursor)


@router.get("/workspace/{path:path}", response_class=Response, responses={200: _FILE})
def read_file(
    api: Api, _caller: Reader, agent_id: Id, path: str, query: Annotated[ReadQuery, Query()]
) -> Response:
    """Read a file's bytes, of its current or an older version."""
    _require_agent(api.runtime.home.agents, agent_id)
    files, path, version = api.runtime.home.files, workspace_path(path), query.version
    if version is None:
        info, content = files.read(agent_id, path)
        version = info.version
    else:
        content = files.read_version(agent_id, path, version)
    headers = {"ETag": f'"{version}"', "X-Content-Type-Options": "nosniff"}
    if query.download:
        headers["Content-Disposition"] = _attachment(path)
    return Response(content, headers=headers, media_type=_media_type(content))


@router.put(
    "/workspace/{path:path}",
    openapi_extra=BYTES_BODY,
)
def write_file(
    *,
    api: Api,
    _caller: Owner,
    agent_id: Id,
    path: str,
    content: Bytes,
    if_match: Annotated[str | None, Header(alias="If-Match", max_length=200)] = None,
    if_none_match: Annotated[str | None, Header(alias="If-None-Match", max_length=200)] = None,
) -> FileView:
    """Write a whole file; the body is its content, at most 5 MiB (4 MiB on AWS).

    If-Match replaces only that version; `If-None-Match: *` only creates.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    condition = _condition(if_match, if_none_match)
    path = workspace_path(path)
    return FileView.of(api.runtime.home.files.write(agent_id, path, content, condition=condition))


@router.delete("/workspace/{path:path}", status_code=204)
def delete_file(
    api: Api,
    _caller: Owner,
    agent_id: Id,
    path: str,
    if_match: Annotated[str | None, Header(alias="If-Match", max_length=200)] = None,
) -> None:
    """Delete a file; its versions are kept for a while.

    With If-Match only that version is deleted.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    condition = _condition(if_match, None)
    api.runtime.home.files.delete(agent_id, workspace_path(path), condition=condition)


@router.get("/workspace-versions/{path:path}")
def list_file_versions(api: Api, _caller: Reader, agent_id: Id, path: str) -> VersionsView:
    """List versions of a file, even of a deleted one, newest first, 20 at most.

    On AWS older versions are kept for 30 days. On your own computer the last ten of each file are
    kept, as long as all versions of the agent fit into the size of a workspace.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    path = workspace_path(path)
    found = api.runtime.home.files.versions(agent_id, path)
    if not found:
        raise NotFound(
            f"there is no stored version of file {path!r}", field="path", cure="list the workspace"
        )
    return VersionsView(path=path, items=tuple(map(VersionView.of, found)))


def _condition(if_match: str | None, if_none_match: str | None) -> str | None:
    if if_none_match is not None:
        if if_none_match.strip() != "*" or if_match is not None:
            raise Invalid(
                "If-None-Match accepts only *, and not together with If-Match",
                field="If-None-Match",
                cure="send `If-None-Match: *` alone to create, If-Match alone to replace",
            )
        return ABSENT
    return None if if_match is None else if_match.strip().removeprefix("W/").strip('"')


def _attachment(path: str) -> str:
    """The file's name to save it under (RFC 6266): plain for old clients, exact for the others."""
    name = path.rpartition("/")[2]
    plain = "".join(each if each.isascii() and each not in '"\\%' else "_" for each in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _media_type(content: bytes) -> str:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"


def _require_agent(agents: Agents, agent_id: str) -> None:
    agents.get(agent_id)
