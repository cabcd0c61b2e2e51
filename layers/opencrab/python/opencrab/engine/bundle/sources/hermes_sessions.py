"""Conversations of Hermes: its database `state.db`, and the files that older homes have."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.engine.bundle.found import FoundAgent, SourceFiles, source_text
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_json_of_text,
    source_list,
    source_string,
    source_time,
)

_SAID = ("user", "assistant")
_PARTS = "\x00json:"
"""What stands before the parts of a message that has more than words."""

Row = Mapping[str, Any]


def add_hermes_database(found: FoundAgent, files: SourceFiles, name: str) -> frozenset[str]:
    """Add the conversations of a database as transcripts; return the ids of all.

    Of a database that cannot be read, nothing is taken, and it is said.
    """
    try:
        sessions, messages = files.table(name, "sessions"), files.table(name, "messages")
    except Invalid:
        found.lose(name, "database")
        return frozenset()
    by_id = {source_string(row.get("id")): row for row in sessions}
    messages.sort(key=lambda row: (source_string(row.get("session_id")), _number(row)))
    for session_id, rows in groupby(messages, key=lambda row: source_string(row.get("session_id"))):
        session = by_id.get(session_id, {})
        if session.get("source") == "cron":
            found.lose("conversations of scheduled jobs", "not_supported")
        else:
            _add_messages(found, name, session_id, source_string(session.get("title")), list(rows))
    return frozenset(by_id)


def add_hermes_session_file(
    found: FoundAgent, files: SourceFiles, name: str, taken: frozenset[str]
) -> None:
    """Add the conversation of a file as a transcript, unless the database has it."""
    session_id = PurePosixPath(name).stem
    if session_id.removeprefix("session_") in taken:
        return
    content: Mapping[str, Any] = {}
    if name.endswith(".jsonl"):
        messages = _lines(found, files, name)
    else:
        content = source_dict(source_json(files, name))
        messages = [source_dict(each) for each in source_list(content.get("messages"))]
    _add_messages(found, name, session_id, source_string(content.get("title")), messages)


def _lines(found: FoundAgent, files: SourceFiles, name: str) -> list[dict[str, Any]]:
    read = list[dict[str, Any]]()
    for line in filter(str.strip, source_text(files, name).split("\n")):
        try:
            read.append(source_dict(source_json_of_text(line, name)))
        except Invalid:
            found.lose(name, "unreadable")
    return read


def _add_messages(
    found: FoundAgent, where: str, session_id: str, title: str, messages: list[Any]
) -> None:
    """Add what was said, without tools, thoughts, and what a person withdrew."""
    begun = False
    for message in messages:
        if message.get("active") == 0 and not message.get("compacted"):
            found.lose("messages that were withdrawn", "branch")
            continue
        text = _words(message.get("content")) if message.get("role") in _SAID else ""
        if not text.strip():
            continue
        if not begun:
            begun = True
            found.add_session(session_id, title or session_id)
        found.add_line(message["role"], text, source_time(message.get("timestamp")), where)


def _words(content: Any) -> str:
    """Return the words of a message, which may have pictures beside them."""
    if isinstance(content, str) and content.startswith(_PARTS):
        try:
            content = source_json_of_text(content.removeprefix(_PARTS), "state.db")
        except Invalid:
            return ""
    if isinstance(content, str):
        return content
    texts = (source_string(source_dict(part).get("text")) for part in source_list(content))
    return "\n".join(filter(None, texts))


def _number(row: Row) -> int:
    number = row.get("id")
    return number if isinstance(number, int) else 0
