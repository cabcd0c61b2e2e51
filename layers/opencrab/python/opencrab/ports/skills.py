"""The standard skills of an installation: shipped ones, and the operator's own."""

from typing import Protocol

from opencrab.domain.skills.skill import StandardSkill


class StandardSkills(Protocol):
    """Skills in folders, read once."""

    def all(self) -> tuple[StandardSkill, ...]:
        """Every standard skill, in order of their names."""

    def find(self, name: str) -> StandardSkill | None:
        """The standard skill of this name."""
