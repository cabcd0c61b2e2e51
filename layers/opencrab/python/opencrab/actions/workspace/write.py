"""Changing the agent's own files: writing, editing, deleting, and making folders.

Every change is keyed: the version it is based on is stored before it begins. After a crash the same
call finds its work done or does it, and never overwrites a change made meanwhile.
"""

import re
from typing import Any

from pydantic import Field

from opencrab.actions.workspace.provenance import (
    is_foreign_workspace_file,
    writes_untainted_workspace_file,
)
from opencrab.actions.workspace.read import (
    MARKER,
    decode_file_text,
    group,
    is_workspace_folder_marker,
)
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.errors import Conflict, Invalid, NotFound, TooLarge
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.action import ActionResult, Effect, FileDeleted, FileWritten
from opencrab.domain.value import Text, Value
from opencrab.domain.workspace.path import STANDARD_FOLDERS, workspace_folder_path, workspace_path
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import ABSENT, FileInfo

__all__ = ["WRITE_BYTES", "file_change", "group", "ws_delete", "ws_edit", "ws_mkdir", "ws_write"]

WRITE_BYTES = 256 * 1024
_ARGUMENT_BYTES = 3 * WRITE_BYTES
"""Upper limit of the arguments in bytes: JSON escapes line breaks and quotes."""

_SKILL = re.compile(r"skills/([^/]+\.skill\.md|[^/]+/skill\.md)", re.IGNORECASE)
_PROPOSAL = "A file here is only a proposal: its words count once create_my_skill has taken them."


class WsWrite(Value):
    path: str = Field(description="Like notes/today.md; folders are made as needed")
    content: Text


class WsEdit(Value):
    path: str
    old_string: Text
    new_string: Text


class WsDelete(Value):
    path: str = Field(description="A file, or an empty folder")


class WsMkdir(Value):
    path: str


def _names_path(arguments: WsEdit | WsDelete | WsMkdir) -> str:
    return repr(arguments.path)


def _names_path_and_size(arguments: WsWrite) -> str:
    return f"{arguments.path!r} ({len(arguments.content.encode())} B)"


def _file(arguments: WsWrite | WsEdit, _context: ActionContext) -> tuple[str, ...]:
    return (workspace_path(arguments.path),)


def _file_or_folder(arguments: WsDelete | WsMkdir, _context: ActionContext) -> tuple[str, ...]:
    return (workspace_folder_path(arguments.path),)


def file_change(context: ActionContext, path: str, after: str | None) -> TextChange:
    """What a file is now, and what it becomes; bytes that are no text show as escapes."""
    try:
        _, content = context.reach.files.read(context.agent.id, path)
    except NotFound:
        return TextChange(name=path, before=None, after=after)
    return TextChange(name=path, before=content.decode("utf-8", "backslashreplace"), after=after)


def _write_change(arguments: WsWrite, context: ActionContext) -> TextChange:
    return file_change(context, workspace_path(arguments.path), arguments.content)


def _edit_change(arguments: WsEdit, context: ActionContext) -> TextChange:
    path = workspace_path(arguments.path)
    _, content = context.reach.files.read(context.agent.id, path)
    return file_change(context, path, _replace_text(arguments, path, content).decode())


def _delete_change(arguments: WsDelete, context: ActionContext) -> TextChange:
    return file_change(context, workspace_folder_path(arguments.path), None)


def _condition(arguments: WsWrite, context: ActionContext) -> dict[str, Any]:
    """Return the file's version and the new content's hash, so that a retry does no harm."""
    stored = context.reach.files.info(context.agent.id, workspace_path(arguments.path))
    return {
        "condition": stored.version if stored else ABSENT,
        "sha256": content_hash(arguments.content.encode()),
    }


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Write {path}", "「{path}」を書く"),
    ja="ワークスペースのファイルを書きます。既にある場合は全体を置き換えます。",
    prepare=_condition,
    touches=_names_path_and_size,
    targets=_file,
    change=_write_change,
    argument_bytes=_ARGUMENT_BYTES,
)
def ws_write(arguments: WsWrite, context: ActionContext) -> ActionResult:
    """Write a file in your workspace, replacing it whole if it exists."""
    path, content = workspace_path(arguments.path), arguments.content.encode()
    files, clean = context.reach.files, writes_untainted_workspace_file(context)
    if len(content) > WRITE_BYTES:
        raise TooLarge(
            f"content has {len(content)} bytes, at most {WRITE_BYTES} are allowed",
            field="content",
            cure="split it into several files",
        )
    condition = context.prepared["condition"]
    try:
        info = files.write(context.agent.id, path, content, condition=condition, clean=clean)
    except Conflict:
        if condition == ABSENT and not context.clearance.whole:
            raise
        return _came_in_between(path, "written")
    return _file_write_result(info)


def _edit(arguments: WsEdit, context: ActionContext) -> dict[str, Any]:
    """Return version and hash before the edit, hash after it, and whether the file is untainted."""
    path = workspace_path(arguments.path)
    info, content = context.reach.files.read(context.agent.id, path)
    wanted = _replace_text(arguments, path, content)
    return {
        "condition": info.version,
        "before": info.sha256,
        "sha256": content_hash(wanted),
        "is_clean": not is_foreign_workspace_file(info),
    }


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Edit {path}", "「{path}」の一部を書き換える"),
    ja="ファイルにちょうど1か所ある old_string を new_string に置き換えます。",
    prepare=_edit,
    touches=_names_path,
    targets=_file,
    change=_edit_change,
)
def ws_edit(arguments: WsEdit, context: ActionContext) -> ActionResult:
    """Replace `old_string`, which must occur exactly once in the file, by `new_string`."""
    path, ready = workspace_path(arguments.path), context.prepared
    try:
        info, content = context.reach.files.read(context.agent.id, path)
        if info.sha256 != ready["sha256"]:
            if info.sha256 != ready["before"]:
                return _came_in_between(path, "edited")
            info = context.reach.files.write(
                context.agent.id,
                path,
                _replace_text(arguments, path, content),
                condition=ready["condition"],
                clean=writes_untainted_workspace_file(context, own_words=ready["is_clean"]),
            )
    except (Conflict, NotFound):
        return _came_in_between(path, "edited")
    return _file_write_result(info)


def _existing(arguments: WsDelete, context: ActionContext) -> dict[str, Any]:
    """Return the version of the file to delete, or None for an empty folder.

    Raises NotFound, and Invalid for a folder that is not empty or is standard.
    """
    path = workspace_folder_path(arguments.path)
    info = context.reach.files.info(context.agent.id, workspace_path(path))
    if info is not None:
        return {"condition": info.version}
    _require_only_marker(context, path)
    return {"condition": None}


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Delete {path}", "「{path}」を削除する"),
    ja="ワークスペースのファイル、または空のフォルダを削除します。",
    prepare=_existing,
    touches=_names_path,
    targets=_file_or_folder,
    change=_delete_change,
)
def ws_delete(arguments: WsDelete, context: ActionContext) -> ActionResult:
    """Delete a file, or an empty folder, of your workspace."""
    path, condition = workspace_folder_path(arguments.path), context.prepared["condition"]
    files, agent_id = context.reach.files, context.agent.id
    if condition is None:
        if files.list(agent_id, path):
            _require_only_marker(context, path)
            files.delete(agent_id, f"{path}/{MARKER}")
        return ActionResult.ok(FileDeleted(path=f"{path}/{MARKER}"), path=path)
    try:
        files.delete(agent_id, path, condition=condition)
    except NotFound:
        pass  # An earlier attempt at this very call has done it.
    except Conflict:
        return _came_in_between(path, "deleted")
    return ActionResult.ok(FileDeleted(path=path), path=path)


def _folder(arguments: WsMkdir, context: ActionContext) -> dict[str, Any]:
    """Return whether the folder exists, so that a retry gives the same result."""
    path = workspace_folder_path(arguments.path)
    found = context.reach.files.list(context.agent.id, path)
    return {"exists": not path or path in STANDARD_FOLDERS or bool(found)}


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Make the folder {path}", "フォルダ「{path}」を作る"),
    ja="ワークスペースにフォルダを作ります。既にあればそのままです。",
    prepare=_folder,
    touches=_names_path,
    targets=_file_or_folder,
)
def ws_mkdir(arguments: WsMkdir, context: ActionContext) -> ActionResult:
    """Make a folder in your workspace; one that exists is fine."""
    path = workspace_folder_path(arguments.path)
    if context.prepared["exists"]:
        return ActionResult.ok(path=path, created=False)
    marker = f"{path}/{MARKER}"
    files, clean = context.reach.files, writes_untainted_workspace_file(context)
    try:
        info = files.write(context.agent.id, marker, b"", condition=ABSENT, clean=clean)
    except Conflict:
        return ActionResult.ok(path=path, created=False)
    return ActionResult.ok(_side_effect(info), path=path, created=True)


def _replace_text(arguments: WsEdit, path: str, content: bytes) -> bytes:
    """Return the content after the edit; raises Invalid unless old_string occurs exactly once."""
    text, old = decode_file_text(path, content), arguments.old_string
    if not old or old == arguments.new_string:
        problem = "is empty" if not old else "and new_string are the same"
        raise Invalid(f"old_string {problem}", cure="give the text to replace and its replacement")
    found = _occurrences(text, old)
    if not found:
        raise Invalid(
            f"old_string occurs 0 times in {path!r}",
            cure="read the file and copy the text exactly, with its spaces and line ends",
        )
    if found > 1:
        raise Invalid(
            f"old_string occurs {found} times in {path!r}",
            cure="add more of the text around it, until it occurs only once",
        )
    return text.replace(old, arguments.new_string).encode()


def _occurrences(text: str, part: str) -> int:
    """Return 0, 1, or at least 2 if a part occurs more often or overlaps with itself."""
    found = text.count(part)
    overlaps = found == 1 and text.find(part, text.find(part) + 1) >= 0
    return 2 if overlaps else found


def _require_only_marker(context: ActionContext, folder: str) -> None:
    """Raise Invalid for a standard or non-empty folder, NotFound if it does not exist."""
    if folder in STANDARD_FOLDERS:
        raise Invalid(f"{folder!r} is a standard folder", cure="keep it: every workspace has it")
    found = context.reach.files.list(context.agent.id, folder)
    if not found:
        raise NotFound(f"there is no file or folder {folder!r}", cure="list the workspace")
    others = [
        info
        for info in found
        if info.path != f"{folder}/{MARKER}" or not is_workspace_folder_marker(info)
    ]
    if others:
        raise Invalid(
            f"folder {folder!r} is not empty: {len(others)} files are in it or below",
            cure="delete them first",
        )


def _file_write_result(info: FileInfo) -> ActionResult:
    note = {"note": _PROPOSAL} if _SKILL.fullmatch(info.path) else {}
    shown = {"path": info.path, "size": info.size, "sha256": info.sha256}
    return ActionResult.ok(_side_effect(info), **shown, **note)


def _side_effect(info: FileInfo) -> FileWritten:
    return FileWritten(path=info.path, sha256=info.sha256, size=info.size)


def _came_in_between(path: str, done: str) -> ActionResult:
    return ActionResult.failure(
        f"file {path!r} was changed concurrently and was not {done}: "
        "read it again, then decide what to do"
    )
