"""Skill text: what a model is told of where a skill of its agent stands."""

from opencrab.domain.skills.skill import AcquiredSkill, SkillStatus
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_TOLD = Texts(__file__)


def skill_hint(skill: AcquiredSkill, language: Language) -> str:
    """When a skill is used, where that is not at once and always."""
    if skill.status is SkillStatus.CANDIDATE:
        return _TOLD["tried"][language]
    if skill.waits:
        return _TOLD["waits"][language]
    is_off = skill.status in {SkillStatus.QUARANTINED, SkillStatus.DISABLED}
    return _TOLD["off"][language] if is_off else ""


def skill_withheld_error(name: str, language: Language) -> tuple[str, str]:
    """That a skill is withheld in this turn, and what to do then."""
    return _TOLD["rests"][language].format(name=name), _TOLD["alone"][language]


def skill_not_made_text(why: str, language: Language) -> str:
    """That something was learned, but no skill was made of it."""
    return _TOLD["not_made"][language].format(why=why)
