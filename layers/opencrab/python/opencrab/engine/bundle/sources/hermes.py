"""Hermes Agent's home (`~/.hermes`, or its backup): SOUL.md, memories, skills and cron; no keys."""

import hashlib
import re
from collections import Counter
from pathlib import PurePosixPath
from zoneinfo import ZoneInfo

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import (
    FoundAgent,
    FoundSchedule,
    SourceFiles,
    front_matter_of_source,
    source_text,
)
from opencrab.engine.bundle.sources.hermes_sessions import (
    add_hermes_database,
    add_hermes_session_file,
)
from opencrab.engine.bundle.sources.markdown_agent import add_skill_of_source, name_in_source
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json,
    source_list,
    source_string,
)

_BETWEEN = re.compile(r"^§[ \t]*$", re.MULTILINE)
"""A line between two entries; a § within a line is part of an entry."""

_TOP = ("MEMORY.md", "USER.md")
"""Files that older homes, and copies of homes, have at the top; `memories` counts before them."""

_MARKS = re.compile(
    r"(.*/)?(?:SOUL\.md|config\.yaml|state\.db|cron/jobs\.json|(?:memories|memory)/[A-Z]+\.md)"
)
_MEMORIES = re.compile(r"(?:memories|memory)/")
_CONFIGS = re.compile(r"config\.ya?ml.*|\.env.*|auth\.json")
_SESSION = re.compile(r"sessions/(?:session_[^/]+\.json|[^/]+\.jsonl)")
_MINUTES = re.compile(r"(?:every\s+)?(\d+)\s*([mhd])")
_ZONE = re.compile(r"^timezone:[ \t]*[\"']?([A-Za-z0-9_+/-]+)", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WORDS = re.compile(r"^(?!\s*#)\s*\S", re.MULTILINE)


def read_hermes_home(files: SourceFiles, language: Language) -> FoundAgent:
    """Read a home: persona as traits, entries of memory as memories. Raises Invalid."""
    names = files.names()
    root = _home(names)
    found = FoundAgent("hermes", name="Hermes", language=language)
    own = [name for name in names if name.startswith(root)]
    for name in sorted(set(names).difference(own)):
        found.lose(name.split("/", maxsplit=1)[0], "not_supported")
    taken = frozenset[str]()
    if f"{root}state.db" in own:
        taken = add_hermes_database(found, files, f"{root}state.db")
    _add_skills(found, files, root)
    for name in own:
        path = name.removeprefix(root)
        if path != "state.db" and not path.startswith("skills/"):
            _add(found, files, root, path, taken)
    return found


def _home(names: tuple[str, ...]) -> str:
    """Return the folder of the home as a prefix: where most of what a home has lies.

    Of a home with profiles it is the home itself: a profile is chosen as a source of its own.
    """
    marks = Counter(found[1] or "" for name in names if (found := _MARKS.fullmatch(name)))
    homes = [each for each in marks if "profiles/" not in each] or list(marks)
    if not homes:
        raise Invalid(
            "the folder has no SOUL.md, config.yaml or memories",
            field="source",
            cure="choose the home of Hermes, such as ~/.hermes",
        )
    return min(homes, key=lambda each: (-marks[each], each.count("/"), each))


def _add(
    found: FoundAgent, files: SourceFiles, root: str, path: str, taken: frozenset[str]
) -> None:
    name = f"{root}{path}"
    if _CONFIGS.fullmatch(path):
        found.lose(path, "configuration")
    elif path.endswith((".lock", "-wal", "-shm")):
        # Of a program that runs; what it wrote is read with its database.
        return
    elif path in _TOP and f"{root}memories/{path}" in files.names():
        found.lose(path, "not_supported")
    elif path == "SOUL.md" or path in _TOP or _MEMORIES.match(path):
        _add_texts(found, files, name, path)
    elif path == "cron/jobs.json":
        _add_jobs(found, files, name, _zone(files, root))
    elif _SESSION.fullmatch(path):
        add_hermes_session_file(found, files, name, taken)
    else:
        found.lose(path.split("/", maxsplit=1)[0], "not_supported")


def _add_texts(found: FoundAgent, files: SourceFiles, name: str, path: str) -> None:
    text = source_text(files, name)
    if path == "SOUL.md":
        if not _WORDS.search(_COMMENT.sub("", text)):
            # What older releases wrote there for a person to fill in.
            found.lose(path, "empty")
            return
        found.add_trait("Soul", text, path)
        found.name = name_in_source(text) or found.name
    elif path.rpartition("/")[2] == "USER.md":
        found.add_trait("User", _BETWEEN.sub("", text), path)
    elif path.endswith(".md"):
        for entry in _BETWEEN.split(text):
            found.add_memory(entry, path)
    else:
        found.lose(path, "not_supported")


def _add_skills(found: FoundAgent, files: SourceFiles, root: str) -> None:
    """Add the skills that are this agent's own: not those of Hermes as it brought them."""
    folder = f"{root}skills/"
    names = [name for name in files.names() if name.startswith(folder)]
    brought = _brought_skills(files, f"{folder}.bundled_manifest")
    for name in names:
        if not name.endswith("/SKILL.md"):
            # What lies beside a skill is noted with it.
            continue
        place = name.removesuffix("SKILL.md")
        if "/." in name.removeprefix(root):
            found.lose("skills that were put away", "not_supported")
        elif _is_as_brought(files, place, brought):
            found.lose("skills that come with Hermes", "not_supported")
        else:
            add_skill_of_source(found, files, name)


def _brought_skills(files: SourceFiles, manifest: str) -> dict[str, str]:
    """Return the digests of the skills that Hermes brought, by name."""
    if manifest not in files.names():
        return {}
    lines = (line.strip().partition(":") for line in source_text(files, manifest).split("\n"))
    return {name: digest for name, _, digest in lines}


def _is_as_brought(files: SourceFiles, folder: str, brought: dict[str, str]) -> bool:
    """Return if a skill is one that Hermes brought and nobody changed, by Hermes' own digest."""
    entries, _ = front_matter_of_source(source_text(files, f"{folder}SKILL.md"))
    known = brought.get(entries.get("name") or PurePosixPath(folder).name)
    if not known:
        # Lists of old releases have names alone.
        return known is not None
    within = (name.removeprefix(folder) for name in files.names() if name.startswith(folder))
    digest = hashlib.md5(usedforsecurity=False)
    for path in sorted(map(PurePosixPath, within)):
        digest.update(str(path).encode())
        digest.update(files.read(f"{folder}{path}"))
    return digest.hexdigest() == known


def _zone(files: SourceFiles, root: str) -> str:
    """Return the time zone of the home's settings, by which its cron lines go, or UTC."""
    config = f"{root}config.yaml"
    given = _ZONE.search(source_text(files, config)) if config in files.names() else None
    if given is None:
        return "UTC"
    try:
        return ZoneInfo(given[1]).key
    except (ValueError, OSError):
        return "UTC"


def _add_jobs(found: FoundAgent, files: SourceFiles, name: str, zone: str) -> None:
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
        if script := source_string(job.get("script")):
            found.lose(f"{title}: {script}", "script")
        if job.get("no_agent") and script:
            # Such a job only runs its script.
            continue
        if not when or not told.strip():
            found.lose(title, "schedule")
            continue
        found.schedules.append(
            FoundSchedule(found.clean(title, name), when, found.clean(told, name), zone)
        )
