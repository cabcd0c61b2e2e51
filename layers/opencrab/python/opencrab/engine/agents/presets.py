"""Peopling: what an agent is made of that begins as a founder or from a preset."""

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.errors import NotFound
from opencrab.domain.value import Language
from opencrab.domain.world.founders import Founder, Preset, founders, presets
from opencrab.engine.agents.creation import NewAgent, SoulDraft


def known() -> tuple[Founder | Preset, ...]:
    """Presets for newcomers first, then the founders."""
    return (*presets(), *founders())


def preset(key: str) -> Founder | Preset:
    """The preset or founder of this key; raises NotFound, naming those that there are."""
    found = next((each for each in known() if each.key == key), None)
    if found is None:
        keys = ", ".join(each.key for each in known())
        raise NotFound(f"there is no preset {key!r}", field="preset", cure=f"name one of {keys}")
    return found


def drafted(each: Founder | Preset, language: Language, name: str | None = None) -> NewAgent:
    """The new agent that a preset is, in a language; by its own name unless another is given."""
    words = each.words[language]
    return NewAgent(
        name=name or words.name,
        language=language,
        purpose=words.purpose,
        soul=SoulDraft(drives=each.drives),
        heartbeat=Heartbeat(instructions=words.instructions),
    )
