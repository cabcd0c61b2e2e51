"""Searching the vault, reading one note with its links, and listing all notes as a tree."""

import json
import re
from collections import Counter
from datetime import datetime
from typing import Any

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.actions.vault.lookup import (
    Reading,
    StoredNote,
    find_vault_note_path,
    read_one_vault_note,
    read_vault_notes,
    vault_action_targets,
    vault_note_files,
    vault_note_modified,
)
from opencrab.actions.workspace.provenance import (
    is_foreign_workspace_file,
    lists_foreign_workspace_files,
    shows_foreign_workspace_file,
)
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.heartbeat import agent_day_start_in_zone
from opencrab.domain.errors import Invalid
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Text, Value
from opencrab.domain.vault.note import (
    UPDATED,
    truncate_vault_note_text,
    vault_note_summary,
    vault_note_tags,
    vault_note_title,
)
from opencrab.domain.vault.wikilink import VAULT, vault_note_file_name, wikilinks_in_vault_note
from opencrab.domain.workspace.path import workspace_path_collision_key
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext
from opencrab.ports.workspace.files import FileInfo

PAGE_BYTES = 12 * 1024
LINES = 200
LINKS = 60
SHOWN_NOTES = 250
SHOWN_SUMMARIES = 50

_EXCERPT = 160
_BEFORE = 50
_TITLE = 100
_TAGS = 10
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?")

group = Group("vault", taints=shows_foreign_workspace_file)


class SearchNotes(Value):
    query: Text = Field(description="Alternatives with |; may be empty", max_length=500)
    limit: int = Field(10, ge=1, le=100)
    include_content: bool = True
    modified_after: str | None = Field(None, description="today, 2026-02-17 or 2026-02-17 08:00")


class ReadNote(Value):
    path: str = Field(description="Or title")
    offset: int = Field(1, ge=1, description="First line")
    limit: int = Field(LINES, ge=1)


class GetVaultStructure(Value):
    max_depth: int = Field(3, ge=1, le=16)
    include_content_summary: bool = False


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Search the notes for {query}", "「{query}」でノートを検索する"),
    ja="語を含むノート(| で複数)、または modified_after 以降に変更されたノートを探します。",
    result_bytes=PAGED_BYTES,
)
def search_notes(arguments: SearchNotes, context: ActionContext) -> ActionResult:
    """Find notes with these words (`a|b`: either), or those changed since `modified_after`."""
    words = [
        word
        for word in map(workspace_path_collision_key, map(str.strip, arguments.query.split("|")))
        if word
    ]
    since = _since(arguments, context)
    if not words and since is None:
        raise Invalid(
            "query is empty", field="query", cure="give a word to search for, or modified_after"
        )
    files = [info for info in vault_note_files(context) if since is None or _is_since(info, since)]
    reading = read_vault_notes(context, files)
    hits = [
        (hit, stored)
        for stored in reading.stored
        if (hit := _hit(stored, words, include_content=arguments.include_content)) is not None
    ]
    hits.sort(key=lambda each: (not each[0]["in_title"], -each[0]["hits"], each[1].info.path))
    shown = hits[: arguments.limit]
    results = [
        {
            **{key: value for key, value in hit.items() if value},
            **vault_note_modified(context, stored.info),
        }
        for hit, stored in shown
    ]
    tainted = any(is_foreign_workspace_file(stored.info) for _, stored in shown)
    told = ActionResult.ok(results=results, total=len(hits), **reading.omission_counts())
    return told.replaced(taint=tainted)


def _note(arguments: ReadNote, context: ActionContext) -> tuple[str, ...]:
    return (find_vault_note_path(context, arguments.path),)


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Read the note {path}", "ノート「{path}」を読む"),
    ja="ノートを offset 行目から読みます。リンクと、このノートへのリンク元も返します。",
    targets=_note,
    result_bytes=PAGED_BYTES,
)
def read_note(arguments: ReadNote, context: ActionContext) -> ActionResult:
    """Read a note from line `offset` on, with its links and the notes that link to it."""
    (found,) = vault_action_targets(_note, arguments, context)
    stored = read_one_vault_note(context, found)
    path, text = stored.info.path, stored.note.text
    lines = _LINE.findall(text)
    first = arguments.offset - 1
    if first and first >= len(lines):
        raise Invalid(
            f"offset {arguments.offset} is past the end: note {path!r} has {len(lines)} lines",
            cure="use a smaller offset",
        )
    page, cut = _page(lines[first : first + arguments.limit])
    following = first + len(page)
    reading = read_vault_notes(context, vault_note_files(context))
    told = {
        "path": path,
        "title": truncate_vault_note_text(
            vault_note_title(stored.note, vault_note_file_name(path)), _TITLE
        ),
        "content": "".join(page),
        "lines": len(lines),
        **({"cut": "the line is longer than a page: only its beginning is shown"} if cut else {}),
        **({"next_offset": following + 1} if following < len(lines) else {}),
        **_links(stored, reading),
        **reading.omission_counts(),
    }
    return ActionResult.ok(**told).replaced(taint=is_foreign_workspace_file(stored.info))


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Look at the structure of the vault", "ボルトの構造を見る"),
    ja="ボルトのフォルダとノートを max_depth 段まで一覧します。各ノートの要約も付けられます。",
    result_bytes=PAGED_BYTES,
)
def get_vault_structure(arguments: GetVaultStructure, context: ActionContext) -> ActionResult:
    """Show the vault's folders and notes, `max_depth` levels deep, with summaries if wanted."""
    files, depth = vault_note_files(context), arguments.max_depth
    summaries = arguments.include_content_summary
    near = [info for info in files if info.path.count("/") <= depth]
    shown = near[: SHOWN_SUMMARIES if summaries else SHOWN_NOTES]
    needed = [info for info in shown if summaries or info.modified_at is None]
    read = {stored.info.path: stored for stored in read_vault_notes(context, needed).stored}
    folders: dict[str, list[dict[str, Any]]] = {}
    for info in shown:
        notes = folders.setdefault(info.path.rpartition("/")[0], [])
        notes.append(
            {
                "name": info.path.rpartition("/")[2],
                **vault_note_modified(context, info),
                **_entry(info, read.get(info.path), with_summary=summaries),
            }
        )
    deeper = Counter(
        "/".join(info.path.split("/")[: depth + 1]) for info in files if info not in set(near)
    )
    paths = sorted({VAULT, *folders, *_parents(deeper), *_parents(folders)})
    tree = [
        {
            "folder": folder,
            **({"notes": folders[folder]} if folder in folders else {}),
            **({"deeper": deeper[folder]} if folder in deeper else {}),
        }
        for folder in paths
    ]
    left_out = {"left_out": len(near) - len(shown)} if len(near) > len(shown) else {}
    result = ActionResult.ok(folders=tree, total=len(files), **left_out)
    return result.replaced(taint=lists_foreign_workspace_files(context, files))


def _since(arguments: SearchNotes, context: ActionContext) -> datetime | None:
    """Return the moment after which notes were changed; raises Invalid."""
    if arguments.modified_after is None:
        return None
    try:
        return agent_day_start_in_zone(
            arguments.modified_after, context.clock.now(), context.time_zone
        )
    except (ValueError, OverflowError) as error:
        raise Invalid(
            f"modified_after {arguments.modified_after!r} is no day or time",
            field="modified_after",
            cure="use 'today', one like 2026-02-17, or 2026-02-17 08:00",
        ) from error


def _is_since(info: FileInfo, since: datetime) -> bool:
    """Check whether a file was changed at a moment or later; one without a date may have been."""
    return info.modified_at is None or info.modified_at >= since


def _hit(stored: StoredNote, words: list[str], *, include_content: bool) -> dict[str, Any] | None:
    """Return a note's search result, or None if it contains none of the words."""
    path, note = stored.info.path, stored.note
    title, tags = vault_note_title(note, vault_note_file_name(path)), vault_note_tags(note)
    head = [
        workspace_path_collision_key(text)
        for text in (title, path.removeprefix(f"{VAULT}/"), *tags)
    ]
    body = workspace_path_collision_key(note.body) if include_content else ""
    hits = sum(text.count(word) for text in (*head, body) for word in words)
    if words and not hits:
        return None
    return {
        "path": path,
        "title": truncate_vault_note_text(title, _TITLE),
        "tags": [truncate_vault_note_text(tag, _TITLE) for tag in tags[:_TAGS]],
        "in_title": any(word in head[0] for word in words),
        "hits": hits,
        "excerpt": _found_excerpt(note.body, words) if include_content else "",
    }


def _found_excerpt(body: str, words: list[str]) -> str:
    return _excerpt(body, words) if words else vault_note_summary(body)


def _excerpt(body: str, words: list[str]) -> str:
    """Return an excerpt of the first line that contains one of the words, "" if none does."""
    for line in body.split("\n"):
        folded = workspace_path_collision_key(line)
        places = [place for place in map(folded.find, words) if place >= 0]
        if places:
            # Case folding may change the length, so the position is approximate.
            place = min(places) * len(line) // max(len(folded), 1)
            begin = max(place - _BEFORE, 0) if len(line) > _EXCERPT else 0
            cut = truncate_vault_note_text(line[begin : begin + _EXCERPT].strip(), _EXCERPT)
            return f"…{cut}" if begin else cut
    return ""


def _links(stored: StoredNote, reading: Reading) -> dict[str, Any]:
    """Return a note's links, its broken links, and the notes that link to it."""
    path = stored.info.path
    resolved, broken = dict[str, str](), dict[str, list[str]]()
    for link in wikilinks_in_vault_note(stored.note.body):
        found = reading.index.follow(link)
        name = truncate_vault_note_text(link.target, _TITLE)
        if len(found) == 1:
            resolved[name] = found[0]
        else:
            broken[name] = list(found[:3])
    backlinks = [
        other.info.path
        for other in reading.stored
        if other.info.path != path
        and any(
            reading.index.follow(link) == (path,)
            for link in wikilinks_in_vault_note(other.note.body)
        )
    ]
    left_out = sum(max(len(each) - LINKS, 0) for each in (resolved, broken, backlinks))
    return {
        "links": dict(list(resolved.items())[:LINKS]),
        "broken_links": dict(list(broken.items())[:LINKS]),
        "backlinks": backlinks[:LINKS],
        **({"links_left_out": left_out} if left_out else {}),
    }


def _page(lines: list[str]) -> tuple[list[str], bool]:
    """Return as many lines as fit into PAGE_BYTES of JSON, and whether the only line was cut."""
    page, room = list[str](), PAGE_BYTES
    for line in lines:
        room -= len(json.dumps(line, ensure_ascii=False).encode()) - 2
        if room < 0:
            break
        page.append(line)
    if page or not lines:
        return page, False
    return [lines[0].encode()[: PAGE_BYTES // 2].decode(errors="ignore")], True


def _entry(info: FileInfo, stored: StoredNote | None, *, with_summary: bool) -> dict[str, Any]:
    """Return what a note's text adds to its entry in the tree.

    A malformed `updated`, which is needed where the file has no date, is untrusted text.
    """
    updated = stored.note.value(UPDATED) if stored and info.modified_at is None else ""
    summary = vault_note_summary(stored.note.body) if stored and with_summary else ""
    return {
        **({"updated": updated} if _MOMENT.fullmatch(updated) else {}),
        **({"summary": summary} if summary else {}),
    }


def _parents(folders: dict[str, Any]) -> set[str]:
    """Return these folders and all folders above them."""
    return {
        "/".join(names[:depth])
        for names in (folder.split("/") for folder in folders)
        for depth in range(1, len(names) + 1)
    }
