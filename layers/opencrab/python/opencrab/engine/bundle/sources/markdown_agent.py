"""Agents that are folders of Markdown: what SOUL.md, MEMORY.md and skills become."""

import re
from datetime import UTC, datetime
from pathlib import PurePosixPath

from opencrab.engine.bundle.found import (
    FoundAgent,
    FoundSkill,
    SourceFiles,
    front_matter_of_source,
    source_text,
)

_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_NAME_LINE = re.compile(
    r"^\s*[-*]?\s*\**\s*(?:name|名前|名字|姓名|名称|이름)\s*:?\**\s*[:：]?\s*(.+?)\s*$",
    re.IGNORECASE | re.MULTILINE,
)


def add_skill_of_source(found: FoundAgent, files: SourceFiles, path: str) -> None:
    """Add a `SKILL.md`; scripts beside it are noted as lost, since nothing of elsewhere is run."""
    entries, guidance = front_matter_of_source(source_text(files, path))
    folder = str(PurePosixPath(path).parent)
    name = entries.get("name") or PurePosixPath(folder).name
    found.skills.append(FoundSkill(name, entries.get("description", ""), guidance))
    beside = [each for each in files.names() if each.startswith(f"{folder}/") and each != path]
    for each in beside:
        found.lose(each, "script")


def add_daily_notes_of_source(found: FoundAgent, files: SourceFiles, path: str) -> None:
    """Add a note of a day: its paragraphs as memories of that day."""
    found.add_memories_of_markdown(source_text(files, path), path, source_day(path))


def source_day(path: str) -> datetime | None:
    """Return the day that a file's name has, or None."""
    day = _DAY.search(PurePosixPath(path).name)
    if day is None:
        return None
    try:
        return datetime(*map(int, day.groups()), tzinfo=UTC)  # type: ignore[arg-type, misc]
    except ValueError:
        return None


def name_in_source(text: str) -> str:
    """Return the name that a Markdown text gives in a line `Name: …`, or ""."""
    found = _NAME_LINE.search(text)
    name = found[1].strip("*_`\"' ") if found else ""
    return "" if name.startswith(("[", "(", "<", "{")) else name
