"""Peopling: what an agent is made of that begins as a founder or from a preset."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives
from opencrab.domain.errors import NotFound
from opencrab.domain.value import Language, Name, ShortText, Value
from opencrab.domain.world.binding import WorldRole
from opencrab.engine.agents.creation import NewAgent, SoulDraft


class PresetTexts(Value):
    """What an agent is called, what for, and what it does when it wakes, in one language.

    `title` is the name of its role.
    """

    name: Name
    title: Name
    purpose: ShortText
    instructions: ShortText


class Preset(Value):
    """An agent that a newcomer may begin with; without instructions it only answers."""

    key: str
    drives: Drives
    words: Mapping[Language, PresetTexts]


class FounderPreset(Preset):
    """A personality to make an agent of; `key` names it whatever the language."""

    role: WorldRole


class _Listed(Value):
    founders: tuple[FounderPreset, ...]
    presets: tuple[Preset, ...]


@cache
def _load_preset_file() -> _Listed:
    return _Listed.model_validate_json(Path(__file__).with_suffix(".json").read_bytes())


def founder_presets() -> tuple[FounderPreset, ...]:
    """The eight of the first population, in their order (Kingdom 10.8)."""
    return _load_preset_file().founders


def newcomer_presets() -> tuple[Preset, ...]:
    """What newcomers may choose from."""
    return _load_preset_file().presets


def all_presets() -> tuple[Preset, ...]:
    """Presets for newcomers first, then the founders."""
    return (*newcomer_presets(), *founder_presets())


def find_preset(key: str) -> Preset:
    """The preset or founder of this key; raises NotFound, naming those that there are."""
    found = next((each for each in all_presets() if each.key == key), None)
    if found is None:
        keys = ", ".join(each.key for each in all_presets())
        raise NotFound(f"there is no preset {key!r}", field="preset", cure=f"use one of {keys}")
    return found


def agent_from_preset(each: Preset, language: Language, name: str | None = None) -> NewAgent:
    """The new agent that a preset is, in a language; by its own name unless another is given."""
    words = each.words[language]
    return NewAgent(
        name=name or words.name,
        language=language,
        purpose=words.purpose,
        soul=SoulDraft(drives=each.drives),
        heartbeat=Heartbeat(instructions=words.instructions),
    )
