"""Resources of the MCP server: what was said in sessions, and files of workspaces.

The list has the sessions first and then the files of each agent, as far as the caller may see them.
"""

import base64
import json
import re
from collections.abc import Mapping
from mimetypes import guess_type
from typing import Any
from urllib.parse import quote, unquote

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.errors import OpenCrabError, TooLarge
from opencrab.domain.mcp.protocol import McpErrorCode
from opencrab.gateways.language.error_texts import error_text_in
from opencrab.gateways.rest.agents.agent_names import agents_in_sight
from opencrab.gateways.rest.mcp.client_request import McpRequest
from opencrab.gateways.rest.mcp.route_calls import RouteProblem
from opencrab.gateways.rest.mcp.rpc import RpcError
from opencrab.gateways.rest.mcp.tool_result import ToolResult
from opencrab.ports.texts import Texts

TEXT_BYTES = 256 * 1024
BLOB_BYTES = 1 << 20
_LINES = 200
_PAGE = 50
_TEXT = "text/plain"

_SESSION = re.compile(r"opencrab://sessions/([A-Za-z0-9_-]{1,64})")
_FILE = re.compile(r"opencrab://agents/([A-Za-z0-9_-]{1,64})/files/(.+)", re.DOTALL)
_NOT_FOUND = 404

_TEXTS = Texts(__file__)


async def list_mcp_resource_templates(asked: McpRequest) -> Mapping[str, Any]:
    """List the forms of the addresses of resources."""

    def template(uri: str, name: str) -> Mapping[str, str]:
        said = _TEXTS[name][asked.language]
        return {"uriTemplate": uri, "name": name, "title": said, "description": said}

    return {
        "resourceTemplates": [
            template("opencrab://sessions/{session_id}", "session"),
            template("opencrab://agents/{agent_id}/files/{+path}", "file"),
        ]
    }


async def list_mcp_resources(asked: McpRequest) -> Mapping[str, Any]:
    """List a page of sessions, or of one agent's files; raises RpcError for a wrong cursor."""
    listing, place = _place(asked)
    try:
        if listing == "sessions":
            query = {"limit": _PAGE, "cursor": place}
            page = await asked.routes.call("GET", "/api/sessions", query=query)
            found = [_session_entry(session) for session in page["items"]]
        else:
            query = {"limit": _PAGE, "cursor": place}
            page = await asked.routes.call("GET", f"/api/agents/{listing}/workspace", query=query)
            found = [_file_entry(listing, file) for file in page["items"]]
    except RouteProblem as error:
        raise RpcError(McpErrorCode.INVALID_PARAMS, str(error)) from None
    following = page["next_cursor"]
    if following is None:
        listing = await run_in_threadpool(_next_agent, asked, listing)
    told: dict[str, Any] = {"resources": found}
    if listing:
        told["nextCursor"] = _cursor(listing, following)
    return told


async def read_mcp_resource(asked: McpRequest) -> Mapping[str, Any]:
    """Read a session or a file; raises RpcError."""
    uri = asked.text("uri")
    session, file = _SESSION.fullmatch(uri), _FILE.fullmatch(uri)
    try:
        if session:
            text = await _transcript(asked, session[1])
            content: Mapping[str, Any] = {"mimeType": _TEXT, "text": text}
        elif file:
            content = await _file_content(asked, file[1], unquote(file[2]))
        else:
            raise RpcError(McpErrorCode.RESOURCE_NOT_FOUND, f"there is no resource {uri[:200]!r}")
    except RouteProblem as error:
        missing = error.status == _NOT_FOUND
        code = McpErrorCode.RESOURCE_NOT_FOUND if missing else McpErrorCode.INVALID_PARAMS
        raise RpcError(code, str(error)) from None
    except OpenCrabError as error:
        code = McpErrorCode.INVALID_PARAMS
        raise RpcError(code, error.message, cure=error.cure) from None
    return {"contents": [{"uri": uri, **content}]}


async def read_file_for_mcp(called: McpRequest) -> ToolResult:
    """Read a file of text for a model."""
    path = called.arguments["path"]
    content = await _file_content(called, called.arguments["agent_id"], path)
    if "text" not in content:
        words = f"{path!r} is no text: read it as a resource"
        return ToolResult.failed(error_text_in(called.language, words))
    return ToolResult({"path": path, "text": content["text"]}, content["text"] or " ")


async def _file_content(asked: McpRequest, agent_id: str, path: str) -> Mapping[str, Any]:
    """Return a file's content as MCP has it; raises RouteProblem, TooLarge."""
    content, found = await asked.routes.fetch("GET", f"/api/agents/{agent_id}/workspace/{path}")
    is_text = found == _TEXT
    limit = TEXT_BYTES if is_text else BLOB_BYTES
    if len(content) > limit:
        raise TooLarge(
            f"the file has {len(content)} bytes, at most {limit} are sent",
            field="path",
            cure="read it over REST",
        )
    kind = _media_type(path, default=found)
    if is_text:
        return {"mimeType": kind, "text": content.decode()}
    return {"mimeType": kind, "blob": base64.b64encode(content).decode()}


async def _transcript(asked: McpRequest, session_id: str) -> str:
    """Return the newest lines of a session in order, as far as the caller may read them."""
    query = {"order": "newest", "limit": _LINES}
    page = await asked.routes.call("GET", f"/api/sessions/{session_id}/messages", query=query)
    lines = [f"{line['speaker_name']}: {line['text']}" for line in page["items"]]
    kept, size = list[str](), 0
    for line in lines:
        size += len(line.encode()) + 2
        if size > TEXT_BYTES:
            break
        kept.append(line)
    if len(kept) < len(lines) or page["next_cursor"]:
        kept.append(_TEXTS["earlier"][asked.language])
    return "\n\n".join(reversed(kept))


def _session_entry(session: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "uri": f"opencrab://sessions/{session['id']}",
        "name": session["id"],
        "title": session["title"] or session["id"],
        "mimeType": _TEXT,
        "annotations": {"lastModified": session["updated_at"]},
    }


def _file_entry(agent_id: str, file: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "uri": f"opencrab://agents/{agent_id}/files/{quote(file['path'])}",
        "name": file["path"],
        "size": file["size"],
        "mimeType": _media_type(file["path"], default=""),
    }


def _media_type(path: str, *, default: str) -> str:
    return guess_type(path)[0] or default or "application/octet-stream"


def _next_agent(asked: McpRequest, listing: str) -> str:
    """Return the agent whose files come after those of another one, or first; "" after the last."""
    agents = agents_in_sight(asked.runtime.home.agents, asked.caller.principal)
    ids = sorted(profile.agent.id for profile in agents)
    return next((each for each in ids if listing == "sessions" or each > listing), "")


def _cursor(listing: str, place: str | None) -> str:
    return base64.urlsafe_b64encode(json.dumps([listing, place]).encode()).decode()


def _place(asked: McpRequest) -> tuple[str, str | None]:
    """Return the list and the place in it where a page begins; raises RpcError."""
    cursor = asked.cursor()
    if cursor is None:
        return "sessions", None
    try:
        listing, place = json.loads(base64.urlsafe_b64decode(cursor))
    except (ValueError, TypeError, RecursionError):
        listing, place = None, None
    known = isinstance(listing, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", listing)
    if not known or not isinstance(place, str | None):
        raise RpcError(McpErrorCode.INVALID_PARAMS, "this cursor is none of this list")
    return str(listing), place
