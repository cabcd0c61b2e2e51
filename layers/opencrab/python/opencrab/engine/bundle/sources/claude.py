"""Claude's data export: conversations as transcripts, projects as files, its memory as memories."""

import re
from typing import Any

from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, SourceFiles
from opencrab.engine.bundle.sources.chatgpt import (
    begin_conversation_of_source,
    conversations_of_source,
    end_conversation_of_source,
    require_conversations_of_source,
)
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_list,
    source_string,
    source_time,
)

_CONVERSATIONS = re.compile(r"(^|/)conversations\.json$")
_MEMORIES = re.compile(r"(^|/)memories\.json$")
_PROJECTS = re.compile(r"(^|/)projects(/[^/]+)?\.json$")
_NOT_SAID = ("thinking", "tool_use", "tool_result")
_NO_NAME = re.compile(r"[^\w.-]+")
_TITLE = 60


def read_claude_export(files: SourceFiles, language: Language) -> FoundAgent:
    """Read an export. Raises Invalid."""
    found = FoundAgent("claude", name="Claude", language=language)
    for conversation in conversations_of_source(found, files, _CONVERSATIONS):
        messages = source_list(conversation.get("chat_messages"))
        if not messages:
            found.lose("conversation", "empty")
            continue
        title = source_string(conversation.get("name")).strip()
        # What is cut was cleaned before: half a key would not be known as one.
        title = title or found.clean(_first_words(messages), "conversation")[:_TITLE]
        at = source_time(conversation.get("created_at"))
        session_id = begin_conversation_of_source(found, conversation.get("uuid"), title)
        for message in map(source_dict, messages):
            _add_message(found, message, title)
        end_conversation_of_source(found, session_id, title, at)
    require_conversations_of_source(found)
    for name in files.names():
        if _MEMORIES.search(name):
            _add_memories(found, files, name)
        elif _PROJECTS.search(name):
            _add_projects(found, files, name)
    return found


def _add_message(found: FoundAgent, message: dict[str, Any], title: str) -> None:
    blocks = [*map(source_dict, source_list(message.get("content")))]
    if calls := sum(block.get("type") in _NOT_SAID for block in blocks):
        found.lose("thoughts and tool calls", "not_supported", calls)
    others = (each for each in blocks if each.get("type") not in (*_NOT_SAID, "text"))
    if other := sum(not source_string(each.get("text")) for each in others):
        found.lose("other parts of messages", "not_supported", other)
    text = _words(message)
    sender = source_string(message.get("sender")) or source_string(message.get("role"))
    speaker = "user" if sender.casefold() in {"human", "user"} else "assistant"
    found.add_line(speaker, text, source_time(message.get("created_at")), title)
    _add_attachments(found, message)


def _words(message: dict[str, Any]) -> str:
    blocks = map(source_dict, source_list(message.get("content")))
    told = [source_string(block.get("text")) for block in blocks]
    return "\n".join(filter(None, told)) or source_string(message.get("text"))


def _first_words(messages: list[Any]) -> str:
    """Return what was said first in a conversation, for a title."""
    said = (" ".join(_words(each).split()) for each in map(source_dict, messages))
    return next(filter(None, said), "conversation")


def _add_attachments(found: FoundAgent, message: dict[str, Any]) -> None:
    """Add the texts that a person attached as files; pictures are not in an export."""
    for each in map(source_dict, source_list(message.get("attachments"))):
        text = source_string(each.get("extracted_content"))
        if not text.strip():
            found.lose("attachments", "not_supported")
            continue
        name = _NO_NAME.sub("-", source_string(each.get("file_name")))[-80:].strip(".-")
        path = f"imported/claude/attachments/{name or 'attachment'}.txt"
        found.add_file(path, text.encode(errors="replace"))
    if count := len(source_list(message.get("files"))):
        found.lose("files", "not_supported", count)


def _add_memories(found: FoundAgent, files: SourceFiles, name: str) -> None:
    content = source_json(files, name)
    for each in content if isinstance(content, list) else [content]:
        for text in source_dict(each).values():
            for told in text.values() if isinstance(text, dict) else [text]:
                if isinstance(told, str) and " " in told:
                    found.add_memories_of_markdown(told, name)
    found.lost.pop((name, "not_supported"), None)


def _add_projects(found: FoundAgent, files: SourceFiles, name: str) -> None:
    content = source_json(files, name)
    for project in map(source_dict, content if isinstance(content, list) else [content]):
        title = _NO_NAME.sub("-", source_string(project.get("name")))[:60] or "project"
        if source_string(project.get("prompt_template")).strip():
            found.lose(f"instructions of {title}", "instructions")
        for number, each in enumerate(map(source_dict, source_list(project.get("docs"))), 1):
            text = source_string(each.get("content"))
            file = _NO_NAME.sub("-", source_string(each.get("filename")))[-80:] or f"{number}.md"
            if text:
                found.add_file(f"imported/claude/{title}/{file}", text.encode(errors="replace"))
    found.lost.pop((name, "not_supported"), None)
