"""Avatar's folder: `config.yaml`, `state.json` and `events.jsonl`."""

import re
from pathlib import PurePosixPath
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, SourceFiles, source_text
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_json_of_text,
    source_list,
    source_string,
    source_time,
)

_NAME = re.compile(
    r"^(?:avatar_name:|avatar:\s*\n(?:[ \t]+.*\n)*?[ \t]+name:)[ \t]*[\"']?([^\"'\n#]+)",
    re.MULTILINE,
)
_TEXTS = ("text", "summary", "judgment", "intent", "name")


def read_avatar_folder(files: SourceFiles, language: Language) -> FoundAgent:
    """Read a folder: purpose, goals as memories, events as a transcript. Raises Invalid."""
    found = FoundAgent("avatar", name="Avatar", language=language)
    known = False
    for name in files.names():
        kind = PurePosixPath(name).name
        if kind == "state.json":
            known = True
            _add_state(found, source_dict(source_json(files, name)))
        elif kind == "events.jsonl":
            known = True
            _add_events(found, files, name)
        elif kind == "config.yaml":
            if given := _NAME.search(source_text(files, name)):
                found.name = given[1].strip()
            found.lose(name, "configuration")
        else:
            found.lose(name, "not_supported")
    if not known:
        raise Invalid(
            "the folder has no state.json or events.jsonl",
            field="source",
            cure="choose Avatar's folder, or its logs",
        )
    return found


def _add_state(found: FoundAgent, state: dict[str, Any]) -> None:
    plan = source_dict(state.get("plan"))
    found.purpose = source_string(plan.get("purpose"))
    for goal in map(source_dict, source_list(plan.get("goals"))):
        tasks = [
            f"- {source_string(task.get('name'))} ({source_string(task.get('status'))})"
            for task in map(source_dict, source_list(goal.get("tasks")))
        ]
        title = f"{source_string(goal.get('id'))} {source_string(goal.get('name'))}".strip()
        found.add_memory("\n".join([f"Goal {title}", *tasks]), "plan")
        found.lose(title or "goal", "goal_as_memory")


def _add_events(found: FoundAgent, files: SourceFiles, name: str) -> None:
    begun = False
    for line in source_text(files, name).split("\n"):
        if not line.strip():
            continue
        try:
            event = source_dict(source_json_of_text(line, name))
        except Invalid:
            found.lose(name, "unreadable")
            continue
        told = " / ".join(text for key in _TEXTS if (text := source_string(event.get(key))))
        if not told:
            continue
        if not begun:
            begun = True
            found.add_session("avatar-events", "events.jsonl")
        kind = source_string(event.get("type")) or "event"
        speaker = source_string(event.get("source")) or kind
        at = source_time(event.get("time"))
        found.add_line(speaker, told, at, name)
        if event.get("status") == "goal_done":
            found.add_memory(f"Goal done: {told} ({source_string(event.get('rate'))})", name, at)
