"""Skill text: what a model is told of where a skill of its agent stands."""

from opencrab.domain.skills.skill import AcquiredSkill, SkillStatus
from opencrab.domain.value import Language

_OFF = {
    Language.EN: "it is not used until an owner approves it or switches it on",
    Language.JA: "オーナーが承認するか有効にするまで使われません",
}
_TRIED = {
    Language.EN: "it is on trial: where it fits it comes by itself in most turns, until its effect "
    "is known",
    Language.JA: "試行中です。効果がわかるまで、合う場面の多くで自動的に読み込まれます",
}
_WAITS = {
    Language.EN: "it waits until there is room for it on trial, and is not used until then",
    Language.JA: "試行の空きを待っています。それまで使われません",
}
_RESTS = {
    Language.EN: "the skill {name!r} rests in this turn: it is being measured",
    Language.JA: "スキル {name!r} は効果を測るため、このターンでは使えません",
}
_ALONE = {
    Language.EN: "go on without it",
    Language.JA: "使わずに進めてください",
}


def hint_on(skill: AcquiredSkill, language: Language) -> str:
    """When a skill is used, where that is not at once and always."""
    if skill.status is SkillStatus.CANDIDATE:
        return _TRIED[language]
    if skill.waits:
        return _WAITS[language]
    is_off = skill.status in {SkillStatus.QUARANTINED, SkillStatus.DISABLED}
    return _OFF[language] if is_off else ""


def rests(name: str, language: Language) -> tuple[str, str]:
    """That a skill is withheld in this turn, and what to do then."""
    return _RESTS[language].format(name=name), _ALONE[language]


def not_made(why: str, language: Language) -> str:
    """That something was learned, but no skill was made of it."""
    told = {
        Language.EN: f"kept as an experience only, no skill was made of it: {why}",
        Language.JA: f"経験としてだけ残しました。スキルにはなっていません: {why}",
    }
    return told[language]
