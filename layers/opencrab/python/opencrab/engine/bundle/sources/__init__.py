"""Readers of agents from elsewhere, by name; each loads when it is asked for.

A reader takes the files of its source and returns what it found. It writes nothing, and knows
nothing of bundles.
"""

from collections.abc import Callable
from importlib import import_module

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, SourceFiles

SourceReader = Callable[[SourceFiles, Language], FoundAgent]

SOURCES = {
    "character-card": "character_card:read_character_card",
    "openclaw": "openclaw:read_openclaw_workspace",
    "chatgpt": "chatgpt:read_chatgpt_export",
    "claude": "claude:read_claude_export",
    "letta": "letta:read_letta_agent_file",
    "hermes": "hermes:read_hermes_home",
    "obsidian": "obsidian:read_obsidian_vault",
    "opencrab-plan": "opencrab_plan:read_plan_database",
    "avatar": "avatar:read_avatar_folder",
}
"""The readers by the name of their source."""


def read_source(source: str, files: SourceFiles, language: Language) -> FoundAgent:
    """Read a source; raises Invalid for an unknown one, and what its reader raises."""
    reader = SOURCES.get(source)
    if reader is None:
        raise Invalid(
            f"there is no source {source[:40]!r}",
            field="source",
            cure=f"use one of {', '.join(SOURCES)}",
        )
    module, _, name = reader.partition(":")
    read: SourceReader = getattr(import_module(f"{__name__}.{module}"), name)
    found = read(files, language)
    for folder in files.skipped:
        found.lose(folder, "not_supported")
    return found
