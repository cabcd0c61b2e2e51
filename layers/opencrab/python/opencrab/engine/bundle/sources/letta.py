"""Letta's agent file (`.af`): memory blocks, archival passages and messages; no tools, no keys."""

import json
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, SourceFiles
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_list,
    source_string,
    source_time,
)

_PERSONA = {"persona": "Persona", "human": "Human"}
_SECRETS = ("tool_exec_environment_variables", "agent_secrets", "secrets")
_SAID = {"user": "user", "assistant": "assistant"}
_EVENTS = frozenset({"heartbeat", "login", "system_alert"})


def read_letta_agent_file(files: SourceFiles, language: Language) -> FoundAgent:
    """Read the first agent of an agent file, of either form. Raises Invalid."""
    (name,) = files.names()[:1] or ("",)
    content = source_dict(source_json(files, name))
    agents = source_list(content.get("agents")) or [content]
    agent = source_dict(agents[0])
    if not ("core_memory" in agent or "block_ids" in agent or "memory_blocks" in agent):
        raise Invalid(
            "the file has no agent of Letta",
            field="source",
            cure="export the agent from Letta as an agent file (.af)",
        )
    found = FoundAgent("letta", name=source_string(agent.get("name")), language=language)
    found.purpose = source_string(agent.get("description"))
    if len(agents) > 1:
        found.lose("other agents", "not_supported", len(agents) - 1)
    if source_string(agent.get("system")).strip():
        found.lose("system", "instructions")
    for block in _blocks(content, agent):
        label, value = source_string(block.get("label")), source_string(block.get("value"))
        if label in _PERSONA:
            found.add_trait(_PERSONA[label], value, label)
        else:
            found.add_memories_of_markdown(value, label or "block")
    _add_passages(found, content, agent)
    _add_messages(found, source_list(agent.get("messages")))
    _note_losses(found, content, agent)
    return found


def _blocks(content: dict[str, Any], agent: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the agent's own blocks: in it, or by their ids beside it."""
    own = source_list(agent.get("core_memory")) or source_list(agent.get("memory_blocks"))
    ids = {source_string(each) for each in source_list(agent.get("block_ids"))}
    shared = map(source_dict, source_list(content.get("blocks")))
    beside = (each for each in shared if source_string(each.get("id")) in ids)
    return [*map(source_dict, own), *beside]


def _add_passages(found: FoundAgent, content: dict[str, Any], agent: dict[str, Any]) -> None:
    for place in (agent, content):
        for key in ("archival_memory", "passages", "archival_passages"):
            for each in map(source_dict, source_list(place.get(key))):
                at = source_time(each.get("created_at"))
                found.add_memory(source_string(each.get("text")), key, at)


def _add_messages(found: FoundAgent, messages: list[Any]) -> None:
    begun = False
    speaks_by_tool = any(_words_by_tool(each) for each in map(source_dict, messages))
    for message in map(source_dict, messages):
        role = _SAID.get(source_string(message.get("role")))
        text = _text(message)
        if role == "user":
            text = _words_of_user(text)
        elif role == "assistant" and speaks_by_tool and message.get("tool_calls"):
            # What stands beside a tool call of such an agent are its thoughts.
            if text.strip():
                found.lose("thoughts", "not_supported")
            text = _words_by_tool(message)
        if role is None or not text.strip():
            found.lose("messages of tools and system", "not_supported")
            continue
        if not begun:
            begun = True
            found.add_session("letta", found.name)
        found.add_line(role, text, source_time(message.get("created_at")), "messages")


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    parts = [content] if isinstance(content, str) else source_list(content)
    return "\n".join(
        part if isinstance(part, str) else source_string(source_dict(part).get("text"))
        for part in parts
    ) or source_string(message.get("text"))


def _words_of_user(text: str) -> str:
    """Return what a user said; "" for what the server itself sent as a user, such as a login."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        told = source_dict(json.loads(text))
    except (ValueError, RecursionError):
        return text
    kind = source_string(told.get("type"))
    if kind == "user_message":
        return source_string(told.get("message"))
    return "" if kind in _EVENTS else text


def _words_by_tool(message: dict[str, Any]) -> str:
    """Return what an agent said by the tool that speaks, "" if nothing."""
    said = list[str]()
    for call in map(source_dict, source_list(message.get("tool_calls"))):
        function = source_dict(call.get("function"))
        if function.get("name") != "send_message":
            continue
        given = function.get("arguments")
        try:
            arguments = json.loads(given) if isinstance(given, str) else given
        except (ValueError, RecursionError):
            continue
        said.append(source_string(source_dict(arguments).get("message")))
    return "\n".join(filter(None, said))


def _note_losses(found: FoundAgent, content: dict[str, Any], agent: dict[str, Any]) -> None:
    for key in _SECRETS:
        if agent.get(key):
            found.lose(key, "secret")
    tools = source_list(content.get("tools")) or source_list(agent.get("tools"))
    for tool in map(source_dict, tools):
        found.lose(source_string(tool.get("name")) or "tool", "script")
    for key in ("files", "sources", "mcp_servers", "groups"):
        if count := len(source_list(content.get(key))):
            found.lose(key, "not_supported", count)
