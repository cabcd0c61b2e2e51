"""ChatGPT's data export: conversations as transcripts, and a memory that names each of them."""

import re
from datetime import datetime
from typing import Any

from opencrab.domain.bundle.transcript import TRANSCRIPTS
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, SourceFiles, clean_source_text
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_list,
    source_string,
    source_time,
)

_CONVERSATIONS = re.compile(r"(^|/)conversations(-\d+)?\.json$")
_THOUGHTS = ("thoughts", "reasoning_recap")
_CITATION = re.compile(r"[ ]?\ue200[^\ue200\ue201]*\ue201")
"""A mark that points to a search result, in characters that no font shows."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def read_chatgpt_export(files: SourceFiles, language: Language) -> FoundAgent:
    """Read an export: the branch of each conversation that was shown last. Raises Invalid."""
    found = FoundAgent("chatgpt", name="ChatGPT", language=language)
    for conversation in conversations_of_source(found, files, _CONVERSATIONS):
        mapping = source_dict(conversation.get("mapping"))
        if not mapping:
            found.lose("conversation", "empty")
            continue
        title = source_string(conversation.get("title")) or "conversation"
        given = conversation.get("conversation_id") or conversation.get("id")
        session_id = begin_conversation_of_source(found, given, title)
        shown = _shown_branch(mapping, source_string(conversation.get("current_node")))
        if hidden := sum(bool(source_dict(each).get("message")) for each in mapping.values()) - len(
            shown
        ):
            found.lose("other branches", "branch", max(hidden, 1))
        for message in shown:
            _add_message(found, message, title)
        at = source_time(conversation.get("create_time"))
        end_conversation_of_source(found, session_id, title, at)
    require_conversations_of_source(found)
    return found


def require_conversations_of_source(found: FoundAgent) -> None:
    """Raise Invalid if an export has not one conversation: it is of another program."""
    if not found.sessions:
        raise Invalid(
            "the source has no conversation in this format",
            field="source",
            cure="choose the zip or folder of the export, or its conversations.json",
        )


def conversations_of_source(
    found: FoundAgent, files: SourceFiles, wanted: re.Pattern[str]
) -> list[dict[str, Any]]:
    """Return the conversations of all files with such a name; other files are noted as lost."""
    read = list[dict[str, Any]]()
    names = files.names()
    single = len(names) == 1
    taken = [name for name in names if wanted.search(name) or single]
    for name in names:
        if name not in taken:
            found.lose(name, "not_supported")
    for name in taken:
        content = source_json(files, name)
        if isinstance(content, dict) and isinstance(content.get("conversations"), list):
            content = content["conversations"]
        listed = content if isinstance(content, list) else [content]
        read += [source_dict(each) for each in listed]
    if not any(read):
        raise Invalid(
            "the source has no conversations.json with conversations",
            field="source",
            cure="choose the zip or folder of the export, or its conversations.json",
        )
    return read


def begin_conversation_of_source(found: FoundAgent, given: Any, title: str) -> str:
    """Begin a conversation; return its id."""
    session_id = source_string(given)
    if not _ID.fullmatch(session_id):
        session_id = stable_id("conversation", *map(clean_source_text, (str(given), title)))
    found.add_session(session_id, title)
    return session_id


def end_conversation_of_source(
    found: FoundAgent, session_id: str, title: str, at: datetime | None
) -> None:
    """End a conversation with a memory that says where it can be read, if anything was said."""
    if found.drop_empty_session("conversation"):
        return
    day = f"{at:%Y-%m-%d}" if at is not None else "?"
    told = f"Conversation “{title}” ({day}): {TRANSCRIPTS}/{session_id}.md"
    found.add_memory(told, title, at)


def _shown_branch(mapping: dict[str, Any], last: str) -> list[dict[str, Any]]:
    """Return the messages on the way from the root to the last one that was shown."""
    if last not in mapping:
        last = next(reversed(mapping), "")
    branch, seen = list[dict[str, Any]](), set[str]()
    while last in mapping and last not in seen:
        seen.add(last)
        node = source_dict(mapping[last])
        if message := source_dict(node.get("message")):
            branch.append(message)
        last = source_string(node.get("parent"))
    return branch[::-1]


def _add_message(found: FoundAgent, message: dict[str, Any], title: str) -> None:
    role = source_string(source_dict(message.get("author")).get("role"))
    content = source_dict(message.get("content"))
    if lost := _not_said(message, content):
        found.lose(*lost)
        return
    texts = list[str]()
    for part in source_list(content.get("parts")):
        text = part if isinstance(part, str) else source_string(source_dict(part).get("text"))
        if text:
            texts.append(text)
        elif part:
            found.lose("pictures and other parts", "not_supported")
    text = "\n".join(texts) or source_string(content.get("text"))
    if role in {"system", "tool"} or not text.strip():
        if text.strip():
            found.lose(f"messages of {role}", "not_supported")
        return
    text = _CITATION.sub("", text)
    found.add_line(role or "?", text, source_time(message.get("create_time")), title)


def _not_said(message: dict[str, Any], content: dict[str, Any]) -> tuple[str, str] | None:
    """Return what a message is that nobody said, and why it is lost; None for words."""
    metadata = source_dict(message.get("metadata"))
    if (
        content.get("user_profile")
        or content.get("user_instructions")
        or metadata.get("is_user_system_message") is True
    ):
        return "custom instructions", "instructions"
    if message.get("recipient") not in (None, "all"):
        return "tool calls", "not_supported"
    if metadata.get("is_visually_hidden_from_conversation") is True:
        return "hidden messages", "not_supported"
    if content.get("content_type") in _THOUGHTS:
        return "thoughts", "not_supported"
    return None
