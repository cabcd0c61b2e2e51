"""Texts that tell a model the status of one of its agent's skills."""

from opencrab.domain.skills.skill import AcquiredSkill, SkillStatus
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_TOLD = Texts(__file__)


def skill_action_hint(skill: AcquiredSkill, language: Language) -> str:
    """Return when a skill will be used, or "" if it is used already or retired."""
    if skill.status is SkillStatus.CANDIDATE:
        return _TOLD["tried"][language]
    if skill.waits:
        return _TOLD["waits"][language]
    is_off = skill.status in {SkillStatus.QUARANTINED, SkillStatus.DISABLED}
    return _TOLD["off"][language] if is_off else ""


def skill_withheld_error(name: str, language: Language) -> tuple[str, str]:
    """Return message and remedy for a skill that the trial withholds in this turn."""
    return _TOLD["rests"][language].format(name=name), _TOLD["alone"][language]


def skill_not_created_note(why: str, language: Language) -> str:
    """Return the note that a lesson was stored without a skill, and why."""
    return _TOLD["not_made"][language].format(why=why)


def skill_file_not_written_note(why: str, language: Language) -> str:
    """Return the note that a skill is stored without its file, and why."""
    return _TOLD["no_file"][language].format(why=why)


def skill_file_differs_note(path: str, language: Language) -> str:
    """Return the note that the file of a skill has other words than the skill, which counts."""
    return _TOLD["differs"][language].format(path=path)
