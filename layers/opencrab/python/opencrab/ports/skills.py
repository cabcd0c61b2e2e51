"""The standard skills of an installation: shipped ones, and the operator's own."""

from typing import Protocol

from opencrab.domain.skills.skill import StandardSkill


class StandardSkills(Protocol):
    """Skills in folders, read once."""

    def all(self) -> tuple[StandardSkill, ...]:
        """Return all standard skills, sorted by name."""

    def find(self, name: str) -> StandardSkill | None:
        """Return the standard skill of this name, or None."""
