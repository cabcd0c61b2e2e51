"""Presets: ready-made agents for new users, and the founders of the first population."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives
from opencrab.domain.errors import NotFound
from opencrab.domain.value import Language, Name, ShortText, Value
from opencrab.domain.world.binding import WorldRole
from opencrab.engine.agents.creation import IdentityDraft, NewAgent, SoulDraft

WORLD_ROLE = "world_role"
"""The entry of an identity's metadata that holds the role which an agent would have in a world."""


class PresetTexts(Value):
    """An agent's name, purpose and heartbeat instructions in one language."""

    name: Name
    title: Name
    purpose: ShortText
    instructions: ShortText


class Preset(Value):
    """A ready-made agent for new users; without instructions it only answers messages."""

    key: str
    drives: Drives
    words: Mapping[Language, PresetTexts]


class FounderPreset(Preset):
    """A preset of the first population; `key` identifies it in every language."""

    role: WorldRole


class _Listed(Value):
    founders: tuple[FounderPreset, ...]
    presets: tuple[Preset, ...]


@cache
def _load_preset_file() -> _Listed:
    return _Listed.model_validate_json(Path(__file__).with_suffix(".json").read_bytes())


def founder_presets() -> tuple[FounderPreset, ...]:
    """Return the eight presets of the first population, in their order (Kingdom 10.8)."""
    return _load_preset_file().founders


def is_founder_preset(preset: FounderPreset, metadata: Mapping[str, object], purpose: str) -> bool:
    """Check whether an agent of a founder's name is the founder, and not an agent of the owner's.

    Founders of earlier releases have no role yet, but the preset's purpose.
    """
    return WORLD_ROLE in metadata or purpose in {each.purpose for each in preset.words.values()}


def newcomer_agent_presets() -> tuple[Preset, ...]:
    """Return the presets that are offered to new users."""
    return _load_preset_file().presets


def all_agent_presets() -> tuple[Preset, ...]:
    """Return all presets: those for new users first, then the founders."""
    return (*newcomer_agent_presets(), *founder_presets())


def find_preset(key: str) -> Preset:
    """Return the preset or founder of this key; raise NotFound, listing the known keys."""
    found = next((each for each in all_agent_presets() if each.key == key), None)
    if found is None:
        keys = ", ".join(each.key for each in all_agent_presets())
        raise NotFound(f"there is no preset {key!r}", field="preset", cure=f"use one of {keys}")
    return found


def agent_from_preset(each: Preset, language: Language, name: str | None = None) -> NewAgent:
    """Return the settings of a new agent made from a preset; `name` replaces the preset's name."""
    words = each.words[language]
    identity = IdentityDraft()
    if isinstance(each, FounderPreset):
        # Known before it is bound to a world, which takes its role from here.
        metadata = {WORLD_ROLE: each.role.value}
        identity = IdentityDraft(job_title=words.title, metadata=metadata)
    return NewAgent(
        name=name or words.name,
        language=language,
        purpose=words.purpose,
        soul=SoulDraft(drives=each.drives),
        identity=identity,
        heartbeat=Heartbeat(instructions=words.instructions),
    )
