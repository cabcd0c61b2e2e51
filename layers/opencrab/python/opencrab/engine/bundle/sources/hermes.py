"""Hermes Agent's home (`~/.hermes`): SOUL.md, memories, skills, cron and sessions; no keys."""

import re
from pathlib import PurePosixPath

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, FoundSchedule, SourceFiles, source_text
from opencrab.engine.bundle.sources.markdown_agent import add_skill_of_source, name_in_source
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_list,
    source_string,
    source_time,
)

_BETWEEN = re.compile(r"^§[ \t]*$", re.MULTILINE)
"""A line between two entries; a § within a line is part of an entry."""

_TOP = ("MEMORY.md", "USER.md")
"""Files that older homes, and copies of homes, have at the top; `memories` counts before them."""

_CONFIGS = re.compile(r"(^|/)(config\.ya?ml.*|\.env.*|auth\.json|.*\.lock)$")
_SESSION = re.compile(r"(^|/)sessions/session_[^/]+\.json$")
_MINUTES = re.compile(r"(?:every\s+)?(\d+)\s*([mhd])")


def read_hermes_home(files: SourceFiles, language: Language) -> FoundAgent:
    """Read a home: persona as traits, entries of memory as memories. Raises Invalid."""
    names = files.names()
    if not any(name in {"SOUL.md", "config.yaml"} or "memories/" in name for name in names):
        raise Invalid(
            "the folder has no SOUL.md, config.yaml or memories",
            field="source",
            cure="choose the home of Hermes, such as ~/.hermes",
        )
    found = FoundAgent("hermes", name="Hermes", language=language)
    for name in names:
        _add(found, files, name)
    return found


def _add(found: FoundAgent, files: SourceFiles, name: str) -> None:
    if _CONFIGS.search(name):
        found.lose(name, "configuration")
    elif name in _TOP and f"memories/{name}" in files.names():
        found.lose(name, "not_supported")
    elif name == "SOUL.md" or name in _TOP or name.startswith("memories/"):
        _add_texts(found, files, name)
    elif name.startswith("skills/"):
        # What lies beside a skill is noted with it.
        if name.endswith("/SKILL.md"):
            add_skill_of_source(found, files, name)
    elif name == "cron/jobs.json":
        _add_jobs(found, files, name)
    elif _SESSION.search(name):
        _add_session(found, files, name)
    else:
        found.lose(name.split("/", maxsplit=1)[0], "not_supported")


def _add_texts(found: FoundAgent, files: SourceFiles, name: str) -> None:
    text = source_text(files, name)
    if name == "SOUL.md":
        found.add_trait("Soul", text, name)
        found.name = name_in_source(text) or found.name
    elif name.rpartition("/")[2] == "USER.md":
        found.add_trait("User", _BETWEEN.sub("", text), name)
    elif name.endswith(".md"):
        for entry in _BETWEEN.split(text):
            found.add_memory(entry, name)
    else:
        found.lose(name, "not_supported")


def _add_jobs(found: FoundAgent, files: SourceFiles, name: str) -> None:
    content = source_json(files, name)
    for job in map(source_dict, source_list(source_dict(content).get("jobs", content))):
        title = source_string(job.get("name")) or source_string(job.get("id")) or "job"
        told, schedule = source_string(job.get("prompt")), job.get("schedule")
        rule = source_dict(schedule)
        when = source_string(schedule) or source_string(rule.get("expr"))
        minutes = rule.get("minutes")
        if every := _MINUTES.fullmatch(when.strip()):
            when = f"@every {every[1]}{every[2]}"
        elif not when and isinstance(minutes, int) and minutes > 0:
            when = f"@every {minutes}m"
        # A job without an agent only runs its script.
        if not when or not told.strip() or job.get("no_agent"):
            found.lose(title, "schedule")
            continue
        found.schedules.append(
            FoundSchedule(found.clean(title, name), when, found.clean(told, name))
        )


def _add_session(found: FoundAgent, files: SourceFiles, name: str) -> None:
    content = source_dict(source_json(files, name))
    session_id = PurePosixPath(name).stem
    found.add_session(session_id, source_string(content.get("title")) or session_id)
    for message in map(source_dict, source_list(content.get("messages"))):
        role, text = source_string(message.get("role")), source_string(message.get("content"))
        if role in {"user", "assistant"}:
            found.add_line(role, text, source_time(message.get("timestamp")), name)
