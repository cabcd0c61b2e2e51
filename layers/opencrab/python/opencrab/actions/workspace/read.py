"""Reading the agent's own files in pages, and listing a folder."""

import json
import re
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.actions.workspace.provenance import files_with_own_names, is_foreign_workspace_file
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Value
from opencrab.domain.workspace.path import (
    STANDARD_FOLDERS,
    workspace_folder_path,
    workspace_path,
    workspace_path_collision_key,
)
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext
from opencrab.ports.workspace.files import FileInfo

PAGE_BYTES = 16 * 1024
LINES = 200
ENTRIES = 200

MARKER = ".keep"
"""Name of the empty file that keeps a folder in existence; lists leave it out."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

group = Group("workspace")


class WsRead(Value):
    path: str
    offset: int = Field(1, ge=1)
    limit: int = Field(LINES, ge=1)


class WsList(Value):
    path: str = Field("", description="Empty: the workspace itself")


def _names_path(arguments: WsRead | WsList) -> str:
    return repr(arguments.path)


def _file(arguments: WsRead, _context: ActionContext) -> tuple[str, ...]:
    return (workspace_path(arguments.path),)


def _listed_folder(arguments: WsList, _context: ActionContext) -> tuple[str, ...]:
    return (f"{workspace_folder_path(arguments.path)}/",)


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Read {path}", "「{path}」を読む"),
    ja="ワークスペースのファイルを offset 行目から limit 行読みます。",
    touches=_names_path,
    targets=_file,
    result_bytes=PAGED_BYTES,
)
def ws_read(arguments: WsRead, context: ActionContext) -> ActionResult:
    """Read a file of your workspace, `limit` lines from line `offset` on."""
    info, content = context.reach.files.read(context.agent.id, workspace_path(arguments.path))
    lines = _LINE.findall(decode_file_text(info.path, content))
    first = arguments.offset - 1
    if first and first >= len(lines):
        raise Invalid(
            f"offset {arguments.offset} is past the end: file {info.path!r} has {len(lines)} lines",
            cure="use a smaller offset",
        )
    page, note = _page(lines[first : first + arguments.limit], arguments.offset)
    shown = {"path": info.path, "content": "".join(page), "size": info.size, "lines": len(lines)}
    following = arguments.offset + len(page)
    has_more = following <= len(lines)
    if has_more:
        note = f"{note} The next page begins at offset={following}.".strip()
    result = ActionResult.ok(**shown, has_more=has_more, **({"note": note} if note else {}))
    return result.replaced(taint=is_foreign_workspace_file(info))


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("List {path}", "「{path}」の中を見る"),
    ja="ワークスペースのフォルダの中身を一覧します。",
    touches=_names_path,
    targets=_listed_folder,
    result_bytes=PAGED_BYTES,
)
def ws_list(arguments: WsList, context: ActionContext) -> ActionResult:
    """List what is in one folder of your workspace."""
    folder = workspace_folder_path(arguments.path)
    found = context.reach.files.list(context.agent.id, folder)
    if folder and not found and folder not in STANDARD_FOLDERS:
        raise NotFound(f"there is no folder {folder!r}", cure="list the folder above it")
    entries = _entries(found, folder)
    left_out = max(len(entries) - ENTRIES, 0)
    told = ActionResult.ok(path=folder, entries=entries[:ENTRIES], left_out=left_out)
    # A folder has a name of the agent's own if a file of its own is in it.
    own = {each["name"] for each in _entries(files_with_own_names(context, found), folder)}
    return told.replaced(taint=any(each["name"] not in own for each in entries[:ENTRIES]))


def decode_file_text(path: str, content: bytes) -> str:
    """Decode a file as UTF-8; raises Invalid if it is not text."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _binary(path, content) from error
    if "\x00" in text:
        raise _binary(path, content)
    return text


def _binary(path: str, content: bytes) -> Invalid:
    return Invalid(
        f"file {path!r} is not text in UTF-8 ({len(content)} bytes, "
        f"beginning with {content[:4].hex(' ')})",
        cure="it cannot be read or edited as text; skip it, or ask for its content as text",
    )


def is_workspace_folder_marker(info: FileInfo) -> bool:
    """Return True if a file is the empty marker that keeps its folder in existence."""
    return info.size == 0 and info.path.rpartition("/")[2] == MARKER


def _page(lines: list[str], offset: int) -> tuple[list[str], str]:
    """Return as many lines as fit into PAGE_BYTES of JSON, and a note if the only line was cut."""
    page, room = list[str](), PAGE_BYTES
    for line in lines:
        room -= len(json.dumps(line, ensure_ascii=False).encode()) - 2
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
    """Return the entries of a folder by name; a subfolder's size includes everything below it."""
    skip = len(folder) + 1 if folder else 0
    sizes: dict[tuple[str, bool], int] = {}
    for info in found:
        name, slash, _ = info.path[skip:].partition("/")
        if slash or not is_workspace_folder_marker(info):
            sizes[name, bool(slash)] = sizes.get((name, bool(slash)), 0) + info.size
    if not folder:
        taken = {workspace_path_collision_key(name) for name, _ in sizes}
        sizes |= {(name, True): 0 for name in STANDARD_FOLDERS if name not in taken}
    return [
        {"name": name, "is_dir": is_dir, "size": size}
        for (name, is_dir), size in sorted(sizes.items())
    ]
