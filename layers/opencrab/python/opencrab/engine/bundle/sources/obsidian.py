"""An Obsidian vault: its notes and attachments become the agent's vault, with their links."""

import re

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.bundle.found import FoundAgent, SourceFiles

_SKIPPED = re.compile(r"(^|/)\.[^/]")
"""Hidden files and folders: settings, the bin, and what plugins keep beside the notes."""

VAULT = "vault"


def read_obsidian_vault(files: SourceFiles, language: Language) -> FoundAgent:
    """Read a vault; settings and plugins of Obsidian are left out. Raises Invalid."""
    names = files.names()
    if not any(name.endswith(".md") for name in names):
        raise Invalid(
            "the folder has no notes (.md)", field="source", cure="choose the folder of the vault"
        )
    found = FoundAgent("obsidian", name=files.name, language=language)
    for name in names:
        if _SKIPPED.search(name):
            found.lose(name.split("/")[0], "not_supported")
        else:
            found.add_file(f"{VAULT}/{name}", files.read(name))
    return found
