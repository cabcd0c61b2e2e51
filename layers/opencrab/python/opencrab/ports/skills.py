"""The standard skills of an installation: shipped ones, and the operator's own."""

from typing import Protocol

from opencrab.domain.learning.signals import CURRENT, SKILL_HOLDOUTS, SkillHoldouts
from opencrab.domain.skills.skill import StandardSkill
from opencrab.ports.documents import Documents


class StandardSkills(Protocol):
    """Skills in folders, read once."""

    def all(self) -> tuple[StandardSkill, ...]:
        """Return all standard skills, sorted by name."""

    def find(self, name: str) -> StandardSkill | None:
        """Return the standard skill of this name, or None."""


def load_skill_holdouts(facts: Documents, agent_id: str) -> SkillHoldouts | None:
    """Load how often an agent's skills are withheld; None before its first review; one read."""
    fact = facts.get(agent_id, SKILL_HOLDOUTS, CURRENT)
    return fact.read(SkillHoldouts) if fact else None
