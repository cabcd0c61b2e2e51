"""Workspaces: an agent's files, listed as JSON, read and written as plain bytes."""

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Query, Response
from pydantic import Field

from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.value import Value
from opencrab.domain.workspace.path import (
    file_not_found_error,
    workspace_file_version_gone_error,
    workspace_path,
)
from opencrab.engine.access.visibility import (
    access_resource_of_file,
    file_history_access_resource,
    may_principal_read,
)
from opencrab.engine.erasure.file_versions import erase_forgotten_file_versions
from opencrab.engine.turn.cleared_files import foreign_name_mark_of_turn
from opencrab.gateways.rest.http.access import Caller, Owner, ProfileReader
from opencrab.gateways.rest.http.body import BYTES_BODY, Bytes, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import Page, PageQuery, http_page_of, place_in_http_cursor
from opencrab.gateways.rest.http.view import View
from opencrab.ports.agents import Agents
from opencrab.ports.workspace.files import ABSENT, Files

LISTING = "files"

router = http_routes_below("/api/agents/{agent_id}", "workspace", takes_json=False)

_FILE: dict[str, Any] = {
    "description": "The file's bytes: text/plain when they are UTF-8. ETag holds its version.",
    "content": {
        "text/plain": {"schema": {"type": "string"}},
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}


class FilesQuery(PageQuery, defer_build=False):
    """The folder and the part of the list."""

    prefix: Annotated[str, Field(max_length=700)] = Field(
        default="", description="only files in this folder and below"
    )


class FileView(View):
    """A file without its content; send `version` as If-Match to replace only this version.

    `modified_at` is when it was changed last, null where that is not known.
    """

    path: str
    size: int
    sha256: str
    version: str
    modified_at: datetime | None = None


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


class DeletedVersionsView(Value):
    """The number of versions of a file that were deleted."""

    path: str
    deleted: int


class DeleteVersionsQuery(Value, defer_build=False):
    """The version to delete."""

    version: Annotated[str, Field(max_length=1_200)] | None = Field(
        default=None, description="the older version to delete; by default all of them"
    )


class ReadQuery(Value, defer_build=False):
    """The version of a file, and whether a browser shows or saves it."""

    version: Annotated[str, Field(max_length=1_200)] | None = Field(
        default=None, description="the version to read; by default the current one"
    )
    download: bool = Field(
        default=False,
        description="add a Content-Disposition header, so that browsers save the file",
    )


@router.get("/workspace")
def list_files(
    api: Api, caller: ProfileReader, agent_id: Id, query: Annotated[FilesQuery, Query()]
) -> Page[FileView]:
    """List the files of a workspace in order of their paths.

    All folders are included. A chat key lists what is in the folder `public/`.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    after = place_in_http_cursor(LISTING, query.cursor)
    listed = api.runtime.home.files.list(agent_id, query.prefix)
    found = [
        info
        for info in listed
        if (after is None or info.path > after)
        and may_principal_read(caller.principal, access_resource_of_file(agent_id, info.path))
    ]
    items, cursor = http_page_of(LISTING, found, query.limit, lambda info: info.path)
    return Page(items=tuple(map(FileView.of, items)), next_cursor=cursor)


@router.get("/workspace/{path:path}", response_class=Response, responses={200: _FILE})
def read_file(
    api: Api, caller: ProfileReader, agent_id: Id, path: str, query: Annotated[ReadQuery, Query()]
) -> Response:
    """Read a file.

    Returns the bytes of its current version, or of the one in `version`. A chat key reads the
    current versions of what is in the folder `public/`.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    files, path, version = api.runtime.home.files, workspace_path(path), query.version
    _require_file(caller, agent_id, path, file_not_found_error(path))
    if version is None:
        info, content = files.read(agent_id, path)
        version = info.version
    else:
        _require_version(files, caller, agent_id, path, version)
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
    """Write a whole file.

    The body is its content, at most 5 MiB (4 MiB on AWS). If-Match replaces only that version;
    `If-None-Match: *` only creates.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    condition = _condition(if_match, if_none_match)
    path = workspace_path(path)
    # Who uploads a file need not have named it: a list that shows the name taints.
    api.runtime.home.facts.commit(foreign_name_mark_of_turn(agent_id, path))
    written = api.runtime.home.files.write(agent_id, path, content, condition=condition)
    erase_forgotten_file_versions(api.runtime, agent_id, path)
    return FileView.of(written)


@router.delete("/workspace/{path:path}", status_code=204)
def delete_file(
    api: Api,
    _caller: Owner,
    agent_id: Id,
    path: str,
    if_match: Annotated[str | None, Header(alias="If-Match", max_length=200)] = None,
) -> None:
    """Delete a file.

    Its versions are kept for `workspace.deleted_versions_days`; those of a file that a forgetting
    request named end at once. With If-Match only that version is deleted.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    path, condition = workspace_path(path), _condition(if_match, None)
    api.runtime.home.files.delete(agent_id, path, condition=condition)
    erase_forgotten_file_versions(api.runtime, agent_id, path)


@router.get("/workspace-versions/{path:path}")
def list_file_versions(api: Api, caller: ProfileReader, agent_id: Id, path: str) -> VersionsView:
    """List the newest versions of a file, 20 at most.

    A deleted file has versions too, for `workspace.deleted_versions_days` (30). On AWS replaced
    versions are kept as long. On your own computer the last ten of each file are kept, as long as
    all versions of the agent fit into the size of a workspace.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    path = workspace_path(path)
    if not may_principal_read(caller.principal, file_history_access_resource(agent_id)):
        raise _no_version_error(path)
    found = api.runtime.home.files.versions(agent_id, path)
    if not found:
        raise _no_version_error(path)
    return VersionsView(path=path, items=tuple(map(VersionView.of, found)))


@router.delete("/workspace-versions/{path:path}")
def delete_file_versions(
    api: Api,
    _caller: Owner,
    agent_id: Id,
    path: str,
    query: Annotated[DeleteVersionsQuery, Query()],
) -> DeletedVersionsView:
    """Permanently delete the older versions of a file.

    With `version` only that one. The current content stays; of a deleted file nothing does.
    """
    _require_agent(api.runtime.home.agents, agent_id)
    files, path = api.runtime.home.files, workspace_path(path)
    deleted = files.delete_versions(agent_id, path, query.version)
    if not deleted and files.info(agent_id, path) is None:
        raise _no_version_error(path)
    return DeletedVersionsView(path=path, deleted=deleted)


def _no_version_error(path: str) -> NotFound:
    return NotFound(
        f"there is no stored version of file {path!r}",
        field="path",
        cure="list the files of the workspace",
    )


def _require_file(caller: Caller, agent_id: str, path: str, missing: NotFound) -> None:
    """Raise the error of a missing file unless the caller may read this one."""
    if not may_principal_read(caller.principal, access_resource_of_file(agent_id, path)):
        raise missing


def _require_version(files: Files, caller: Caller, agent_id: str, path: str, version: str) -> None:
    """Raise NotFound unless this is the current version or the caller may read older ones."""
    if not may_principal_read(caller.principal, file_history_access_resource(agent_id)):
        current = files.info(agent_id, path)
        if current is None or current.version != version:
            raise workspace_file_version_gone_error(path, version)


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
    """Return the header that saves a file under its name, in ASCII and in UTF-8 (RFC 6266)."""
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
