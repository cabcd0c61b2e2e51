"""The database of the first plan of OpenCrab: soul, identity, memories, skills and sessions.

Its numbers of a personality are −1 to 1, those here 0 to 1. The program that was made of the plan
later keeps soul and identity as texts, in `agents`.
"""

from collections.abc import Mapping
from typing import Any

from opencrab.domain.agents.soul import Personality, SocialStyle
from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, FoundSkill, SourceFiles
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json_of_text,
    source_string,
    source_time,
)

_TABLES = ("soul", "identity", "memory_curated", "memory_sessions", "skills", "impressions")
_LEFT = ("llm_usage_metrics", "heartbeat_log", "model_pricing", "sessions")
_NOT_SAID = ("inner_voice", "tool_call", "tool_result", "system")

Row = Mapping[str, Any]


def read_plan_database(files: SourceFiles, language: Language) -> FoundAgent:
    """Read the first agent of a database. Raises Invalid."""
    (name,) = [each for each in files.names() if each.endswith(".db")][:1] or ("",)
    if not name:
        raise Invalid("there is no database", field="source", cure="choose the file opencrab.db")
    tables = {table: files.table(name, table) for table in (*_TABLES, *_LEFT)}
    souls = tables["soul"] or files.table(name, "agents")
    souls.sort(key=lambda row: str(row.get("agent_id")))
    if not souls:
        raise Invalid(
            "the database has no soul",
            field="source",
            cure="choose the opencrab.db of the first plan; agents of this OpenCrab move with "
            "`opencrab agents bundle`",
        )
    agent_id = souls[0].get("agent_id")
    own = {
        table: [row for row in rows if row.get("agent_id") == agent_id]
        for table, rows in tables.items()
    }
    found = FoundAgent("opencrab_plan", language=language)
    if len(souls) > 1:
        found.lose("other agents", "not_supported", len(souls) - 1)
    if own["soul"]:
        _add_soul(found, own["soul"][0], own["identity"])
    else:
        _add_texts(found, souls[0])
    _add_memories(found, own)
    _add_sessions(found, own["memory_sessions"], tables["sessions"], agent_id)
    for table in _LEFT:
        if rows := own[table] or (tables[table] if table == "sessions" else []):
            found.lose(table, "not_supported", len(rows))
    return found


def _add_soul(found: FoundAgent, soul: Row, identities: list[Row]) -> None:
    identity = identities[0] if identities else {}
    found.name = source_string(identity.get("name")) or source_string(soul.get("persona_name"))
    social = _numbers(soul.get("social_style_json"), SocialStyle.model_fields)
    traits = _numbers(soul.get("personality_json"), Personality.model_fields)
    found.soul = {
        "persona_name": found.clean(source_string(soul.get("persona_name")) or found.name, "soul"),
        "social_style": social,
        "personality": {name: (value + 1) / 2 for name, value in traits.items()},
    }
    for label, text in _fields(soul.get("custom_traits_json")).items():
        found.add_trait(label[:100], text if isinstance(text, str) else str(text), label)
    thinking = _fields(soul.get("thinking_style_json"))
    found.soul["thinking_style"] = {
        key: found.clean(thinking[key], "thinking_style")[:100]
        for key in ("primary", "secondary", "description")
        if source_string(thinking.get(key)).strip()
    }
    _add_role(found, identity)


def _add_texts(found: FoundAgent, agent: Row) -> None:
    """Add an agent whose persona is text; its instructions become files to read."""
    found.name = source_string(agent.get("name"))
    persona_name = source_string(agent.get("persona_name")) or found.name
    found.soul = {"persona_name": found.clean(persona_name, "agents")}
    found.add_trait("Personality", source_string(agent.get("personality")), "personality")
    for key in ("instructions", "heartbeat_instructions"):
        if text := source_string(agent.get(key)).strip():
            found.lose(key, "instructions_as_file")
            path = f"imported/opencrab_plan/{key}.md"
            found.add_file(path, text.encode(errors="replace"))
    _add_role(found, agent)


def _add_role(found: FoundAgent, identity: Row) -> None:
    for key in ("job_title", "organization"):
        if text := source_string(identity.get(key)).strip():
            found.identity[key] = found.clean(text, key)[:100]


def _add_memories(found: FoundAgent, own: Mapping[str, list[Row]]) -> None:
    for row in own["memory_curated"]:
        at = source_time(row.get("updated_at"))
        found.add_memory(source_string(row.get("content")), "memory_curated", at)
    for row in own["impressions"]:
        keys = ("personality", "communication_style", "recent_behavior", "agreement", "notes")
        told = [text for key in keys if (text := source_string(row.get(key)).strip())]
        name = source_string(row.get("target_name"))
        found.add_memory(
            f"{name}: {' / '.join(told)}", "impressions", source_time(row.get("updated_at"))
        )
    for row in own["skills"]:
        if row.get("source_type") == "standard":
            found.lose("standard skills", "not_supported")
            continue
        if row.get("archived"):
            found.lose("skills that were put away", "not_supported")
            continue
        found.skills.append(
            FoundSkill(
                source_string(row.get("name")),
                source_string(row.get("description")),
                source_string(row.get("guidance")),
            )
        )


def _add_sessions(found: FoundAgent, rows: list[Row], sessions: list[Row], agent_id: Any) -> None:
    themes = {str(each.get("id")): source_string(each.get("theme")) for each in sessions}
    last = None
    for row in sorted(rows, key=_place):
        if row.get("log_type") in _NOT_SAID:
            found.lose("thoughts and tool calls", "not_supported")
            continue
        session_id = str(row.get("session_id"))
        if session_id != last:
            last = session_id
            found.add_session(session_id, themes.get(session_id) or session_id)
        speaker = source_string(row.get("speaker_id")) or source_string(row.get("log_type"))
        if row.get("speaker_id") == agent_id:
            speaker = found.name
        text, at = source_string(row.get("content")), source_time(row.get("created_at"))
        found.add_line(speaker or "?", text, at, "memory_sessions")


def _place(row: Row) -> tuple[str, int]:
    number = row.get("id")
    return str(row.get("session_id")), number if isinstance(number, int) else 0


def _fields(text: Any) -> dict[str, Any]:
    return source_dict(source_json_of_text(text, "soul")) if isinstance(text, str) and text else {}


def _numbers(text: Any, names: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of these names in a JSON object, within −1 to 1."""
    return {
        name: float(min(max(value, -1), 1))
        for name, value in _fields(text).items()
        if name in names and isinstance(value, int | float)
    }
