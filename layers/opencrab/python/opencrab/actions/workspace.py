"""The agent's own files: reading in pages, writing whole, looking into one folder."""

import re
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.action import ActionResult, Effect, FileWritten, Impact
from opencrab.domain.errors import Conflict, Invalid, NotFound, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.path import workspace_path, workspace_prefix
from opencrab.domain.value import Text, Value
from opencrab.ports.action import ActionContext
from opencrab.ports.files import ABSENT, FileInfo

PAGE_BYTES = 16 * 1024
WRITE_BYTES = 256 * 1024
LINES = 200
ENTRIES = 200

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

group = Group("workspace")


class WsRead(Value):
    path: str
    offset: int = Field(1, ge=1, description="First line")
    limit: int = Field(LINES, ge=1, description="Number of lines")


class WsWrite(Value):
    path: str = Field(description="Like notes/today.md; folders are made as needed")
    content: Text = Field(description="The whole new content")


class WsList(Value):
    path: str = Field("", description="Empty: the workspace itself")


def _names_path(arguments: WsRead | WsList) -> str:
    return repr(arguments.path)


def _names_path_and_size(arguments: WsWrite) -> str:
    return f"{arguments.path!r} ({len(arguments.content.encode())} bytes)"


def _condition(arguments: WsWrite, context: ActionContext) -> dict[str, Any]:
    """What the file is now: a repeat after it was written finds its own content and is harmless."""
    stored = context.files.info(context.agent.id, workspace_path(arguments.path))
    return {
        "condition": stored.version if stored else ABSENT,
        "sha256": content_hash(arguments.content.encode()),
    }


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    ja="ワークスペースのファイルを offset 行目から limit 行読みます。",
    touches=_names_path,
)
def ws_read(arguments: WsRead, context: ActionContext) -> ActionResult:
    """Read a file of your workspace, `limit` lines from line `offset` on."""
    info, content = context.files.read(context.agent.id, workspace_path(arguments.path))
    lines = _LINE.findall(_decoded(info.path, content))
    first = arguments.offset - 1
    if first and first >= len(lines):
        raise Invalid(
            f"file {info.path!r} has {len(lines)} lines, none from {arguments.offset} on",
            cure="use a smaller offset",
        )
    page, note = _page(lines[first : first + arguments.limit], arguments.offset)
    shown = {"path": info.path, "content": "".join(page), "size": info.size, "lines": len(lines)}
    following = arguments.offset + len(page)
    has_more = following <= len(lines)
    if has_more:
        note = f"{note} The next page begins at offset={following}.".strip()
    return ActionResult.done(**shown, has_more=has_more, **({"note": note} if note else {}))


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    ja="ワークスペースのファイルを書きます。既にある場合は全体を置き換えます。",
    prepare=_condition,
    touches=_names_path_and_size,
)
def ws_write(arguments: WsWrite, context: ActionContext) -> ActionResult:
    """Write a file in your workspace, replacing it whole if it exists."""
    path, content = workspace_path(arguments.path), arguments.content.encode()
    if len(content) > WRITE_BYTES:
        raise TooLarge(
            f"content has {len(content)} bytes, at most {WRITE_BYTES} are allowed",
            field="content",
            cure="split it into several files",
        )
    condition = context.prepared["condition"]
    try:
        info = context.files.write(context.agent.id, path, content, condition=condition)
    except Conflict:
        return ActionResult.failed(
            f"file {path!r} was changed by somebody else meanwhile and was not written: "
            "read it again, then decide what to write"
        )
    return ActionResult.done(
        FileWritten(path=info.path, sha256=info.sha256, size=info.size),
        path=info.path,
        size=info.size,
        sha256=info.sha256,
    )


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    ja="ワークスペースのフォルダの中身を一覧します。",
    touches=_names_path,
)
def ws_list(arguments: WsList, context: ActionContext) -> ActionResult:
    """List what is in one folder of your workspace."""
    folder = workspace_prefix(arguments.path)
    found = context.files.list(context.agent.id, folder)
    if folder and not found:
        raise NotFound(f"there is no folder {folder!r}", cure="list the folder above it")
    entries = _entries(found, folder)
    left_out = max(len(entries) - ENTRIES, 0)
    return ActionResult.done(path=folder, entries=entries[:ENTRIES], left_out=left_out)


def _decoded(path: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Invalid(
            f"file {path!r} is not text in UTF-8", cure="it cannot be read as text; leave it"
        ) from error


def _page(lines: list[str], offset: int) -> tuple[list[str], str]:
    """As many of these lines as fit into a page, at least one, and what was cut off it."""
    page, room = list[str](), PAGE_BYTES
    for line in lines:
        room -= len(line.encode())
        if room < 0:
            break
        page.append(line)
    if page or not lines:
        return page, ""
    whole = lines[0].encode()
    shown = whole[:PAGE_BYTES].decode(errors="ignore")
    note = f"Line {offset} has {len(whole)} bytes, only the first {len(shown.encode())} are shown."
    return [shown], note


def _entries(found: Iterable[FileInfo], folder: str) -> list[dict[str, Any]]:
    """Files and folders directly in a folder, by name; a folder is as large as all in it."""
    skip = len(folder) + 1 if folder else 0
    sizes: dict[tuple[str, bool], int] = {}
    for info in found:
        name, slash, _ = info.path[skip:].partition("/")
        sizes[name, bool(slash)] = sizes.get((name, bool(slash)), 0) + info.size
    return [
        {"name": name, "is_dir": is_dir, "size": size}
        for (name, is_dir), size in sorted(sizes.items())
    ]
