"""OpenClaw: the workspace of an agent, or the folder `~/.openclaw` with its workspace."""

import re
from pathlib import PurePosixPath
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, FoundSchedule, SourceFiles, source_text
from opencrab.engine.bundle.sources.markdown_agent import (
    add_daily_notes_of_source,
    add_skill_of_source,
    name_in_source,
)
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_json_of_text,
    source_list,
    source_string,
    source_time,
)

_PERSONA = {"SOUL.md": "Soul", "IDENTITY.md": "Identity", "USER.md": "User"}
_INSTRUCTIONS = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "BOOT.md")
_CONFIGS = re.compile(r"(^|/)(openclaw|clawdbot|moltbot)\.json(\.bak.*)?$|(^|/)(credentials|\.env)")
_JOBS = re.compile(r"(^|/)cron(/jobs)?\.json$")
_SESSION = re.compile(r"(^|/)sessions/[^/]+\.jsonl$")
_SKIPPED = re.compile(
    r"(^|/)((\.git|node_modules|\.venv|__pycache__|logs|media|browser)/|\.DS_Store$)"
)
_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000


def read_openclaw_workspace(files: SourceFiles, language: Language) -> FoundAgent:
    """Read a workspace: persona as traits, memory as memories, skills, cron jobs and sessions.

    Instruction files become files to read, and no configuration is taken over. Raises Invalid.
    """
    names = files.names()
    root = _workspace(names)
    found = FoundAgent("openclaw", language=language)
    for name in names:
        if _SKIPPED.search(name):
            found.lose(name.split("/")[0] if "/" in name else name, "not_supported")
        elif _CONFIGS.search(name):
            found.lose(name, "configuration")
        elif _JOBS.search(name):
            _add_jobs(found, files, name)
        elif _SESSION.search(name):
            _add_session(found, files, name)
        elif name.startswith(root):
            _add(found, files, name, name.removeprefix(root))
        elif name.endswith("/SKILL.md"):
            add_skill_of_source(found, files, name)
        else:
            found.lose(name, "not_supported")
    found.name = found.name or PurePosixPath(files.name).stem.strip(".") or "OpenClaw"
    return found


def _workspace(names: tuple[str, ...]) -> str:
    """Return the folder of the workspace as a prefix: where SOUL.md or a file beside it lies."""
    marks = {*_PERSONA, "MEMORY.md", "AGENTS.md"}
    places = sorted(
        (name for name in names if PurePosixPath(name).name in marks),
        key=lambda name: (name.count("/"), name),
    )
    if not places:
        raise Invalid(
            "the folder has no SOUL.md, IDENTITY.md, MEMORY.md or AGENTS.md",
            field="source",
            cure="choose the workspace, such as ~/.openclaw/workspace",
        )
    return places[0].rpartition("/")[0] + "/" if "/" in places[0] else ""


def _add(found: FoundAgent, files: SourceFiles, name: str, path: str) -> None:
    if path in _PERSONA:
        text = source_text(files, name)
        found.add_trait(_PERSONA[path], text, path)
        if path == "IDENTITY.md":
            found.name = name_in_source(text)
    elif path in {"MEMORY.md", "memory.md"}:
        found.add_memories_of_markdown(source_text(files, name), path)
    elif path.startswith("memory/") and path.endswith(".md"):
        add_daily_notes_of_source(found, files, name)
    elif path.startswith("skills/"):
        if path.endswith("/SKILL.md"):
            add_skill_of_source(found, files, name)
    else:
        if path in _INSTRUCTIONS:
            found.lose(path, "instructions_as_file")
        found.add_file(f"imported/openclaw/{path}", files.read(name))


def _add_jobs(found: FoundAgent, files: SourceFiles, name: str) -> None:
    content = source_json(files, name)
    for job in map(source_dict, source_list(source_dict(content).get("jobs", content))):
        payload = source_dict(job.get("payload"))
        told = source_string(payload.get("message")) or source_string(payload.get("text"))
        title = source_string(job.get("name")) or source_string(job.get("id")) or "job"
        when, zone = _rule(job.get("schedule"))
        if not when or not told.strip():
            found.lose(title, "schedule")
            continue
        found.schedules.append(
            FoundSchedule(found.clean(title, name), when, found.clean(told, title), zone)
        )


def _rule(schedule: Any) -> tuple[str, str]:
    """Return a rule of ours and its time zone; "" for one that has none."""
    if isinstance(schedule, str):
        return schedule, "UTC"
    told = source_dict(schedule)
    zone = source_string(told.get("tz")) or "UTC"
    cron = source_string(told.get("expr")) or source_string(told.get("expression"))
    every = told.get("everyMs")
    if cron:
        return cron, zone
    if not isinstance(every, int) or every < _MINUTE:
        return "", zone
    for length, unit in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if every % length == 0 or unit == "m":
            return f"@every {every // length}{unit}", zone
    return "", zone


def _add_session(found: FoundAgent, files: SourceFiles, name: str) -> None:
    session_id = PurePosixPath(name).stem
    found.add_session(session_id, session_id)
    for line in source_text(files, name).split("\n"):
        if not line.strip():
            continue
        try:
            entry = source_dict(source_json_of_text(line, name))
        except Invalid:
            found.lose(name, "unreadable")
            continue
        said = source_dict(entry.get("message")) or entry
        role = source_string(said.get("role"))
        if role not in {"user", "assistant"}:
            continue
        content = said.get("content")
        parts = [content] if isinstance(content, str) else source_list(content)
        text = "\n".join(
            part if isinstance(part, str) else source_string(source_dict(part).get("text"))
            for part in parts
        )
        at = source_time(entry.get("timestamp") or said.get("timestamp"))
        found.add_line(role, text, at, name)
    found.drop_empty_session(name)
