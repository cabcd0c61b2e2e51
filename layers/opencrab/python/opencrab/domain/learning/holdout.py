"""Trials of skills: which ones the coin may withhold, and which it does in a turn."""

from opencrab.domain.agents.agent_state import Mind
from opencrab.domain.statistics.hash_bucket import coin


def skill_pin(name: str) -> str:
    """What stands among a mind's pins for a skill that its owner keeps as it is."""
    return f"skill:{name}"


def tried(mind: Mind) -> frozenset[str]:
    """The skills that are on trial: the coin may withhold them, as no owner pinned them."""
    return frozenset(
        skill.name
        for skill in mind.skills
        if skill.on_trial and skill_pin(skill.name) not in mind.pinned
    )


def withheld(mind: Mind, turn_id: str, percent: int) -> frozenset[str]:
    """The skills that rest in a turn: each on its own, in this share of turns, always the same."""
    return frozenset(name for name in tried(mind) if coin("skill", turn_id, name) * 100 < percent)
