"""Skills in a turn: what every prompt tells of them, which fit a message, and what they say."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from opencrab.domain.agents.agent_state import AgentState, is_skill_enabled
from opencrab.domain.errors import Changed
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, StandardSkill
from opencrab.domain.text.terms import content_terms
from opencrab.domain.value import Language
from opencrab.ports.documents import Documents
from opencrab.ports.skills import StandardSkills

INDEX_BYTES = 3_000
"""Most that a prompt tells of all skills."""

TEXT_BYTES = 6 * 1024
"""Most of one skill's text that is loaded because it fits; use_skill reads all of it."""

_LINE_BYTES = 240
_READ_CHARACTERS = 4_000
_ALTERNATIVES = 30
_PATTERN_WEIGHT = 3
_ENOUGH = 3
"""A situation that is named, or three words in common: small talk has neither."""

_NO_WORDS = frozenset[str]()
_TRIES = 3
_SHORTEST_RUN = 2
_HEAD = {
    Language.JA: "スキル(use_skill で本文を読む):",
    Language.EN: "Skills (use_skill reads one):",
}
_MORE = {
    Language.JA: "- ほか{count}件は、状況に合うときに読み込まれます",
    Language.EN: "- {count} more are loaded when they fit",
}
_CUT = {
    Language.JA: "\n…(続きは use_skill で読めます)",
    Language.EN: "\n… (use_skill reads the rest)",
}


class OfferedSkill(NamedTuple):
    """A skill that counts for an agent: how it is told of, and in which situations it fits."""

    name: str
    descriptions: Mapping[Language, str]
    pattern: str
    on_trial: bool
    is_shipped: bool


class SkillIndex(NamedTuple):
    """What every prompt tells of skills: the names, standard ones first, and the text."""

    names: tuple[str, ...]
    text: str


def skills_of_agent(
    standard: Sequence[StandardSkill], mind: AgentState
) -> tuple[OfferedSkill, ...]:
    """The skills that count: standard ones that are switched on, then those that were acquired."""
    trying = {skill.name for skill in mind.skills if skill.on_trial}
    shipped = [
        OfferedSkill(
            one.name, one.descriptions, one.situation_pattern, one.name in trying, is_shipped=True
        )
        for one in standard
        if is_skill_enabled(one, mind)
    ]
    names = {one.name for one in standard}
    acquired = [
        OfferedSkill(
            skill.name,
            {Language.EN: skill.description},
            skill.situation_pattern,
            skill.name in trying,
            is_shipped=False,
        )
        for skill in mind.skills
        # A skill that was shipped since under the same name takes its place.
        if skill.name not in names
    ]
    return (*shipped, *acquired)


def skill_index(skills: Iterable[OfferedSkill], language: Language) -> SkillIndex:
    """Names and descriptions of the skills that an agent has, but for those on trial.

    Those come where they fit, so that withholding one changes nothing of what is said here.
    """
    told = [skill for skill in skills if skill.is_shipped or not skill.on_trial]
    if not told:
        return SkillIndex((), "")
    lines = [_HEAD[language]]
    room = INDEX_BYTES - len(lines[0].encode()) - len(_MORE[language].encode())
    for place, skill in enumerate(told):
        text = skill.descriptions.get(language) or next(iter(skill.descriptions.values()))
        line = f"- {skill.name}: {_within(text, _LINE_BYTES)}"
        room -= len(line.encode()) + 1
        if room < 0:
            lines.append(_MORE[language].format(count=len(told) - place))
            break
        lines.append(line)
    return SkillIndex(tuple(skill.name for skill in told), "\n".join(lines))


def skills_fitting_message(
    skills: Iterable[OfferedSkill], text: str, limit: int = 2
) -> tuple[str, ...]:
    """The skills that fit a message by their descriptions and situations, best first.

    Of those that fit alike, one that is on trial comes after all others.
    """
    read = text[:_READ_CHARACTERS]
    heard, folded = content_terms(read), _normalize_text(read)
    scored = (
        (_score(heard, folded, skill.descriptions.values(), skill.pattern), skill)
        for skill in skills
    )
    found = sorted(
        (-score, skill.on_trial, skill.name) for score, skill in scored if score >= _ENOUGH
    )
    return tuple(name for _, _, name in found[:limit])


def skill_text(
    name: str, standard: StandardSkills, facts: Documents, agent_id: str, language: Language
) -> str | None:
    """What a skill says, as much as may be loaded; None where it does not count."""
    shipped = standard.find(name)
    if shipped is not None:
        return _truncate_text(shipped.text(language), language)
    fact = facts.get(agent_id, SKILL, name)
    skill = fact.read(AcquiredSkill) if fact else None
    if skill is None or not skill.status.is_live or skill.tainted:
        return None
    return _truncate_text(skill.guidance, language)


def count_skill_use(facts: Documents, agent_id: str, names: Iterable[str], now: datetime) -> None:
    """Count the use of acquired skills, as well as it can be done beside everybody else."""
    for name in sorted(set(names)):
        for _ in range(_TRIES):
            fact = facts.get(agent_id, SKILL, name)
            if fact is None:
                break
            skill = fact.read(AcquiredSkill)
            counted = skill.replaced(usage_count=skill.usage_count + 1, last_used_at=now)
            try:
                facts.commit(fact.holding(counted))
            except Changed:
                continue
            break


def _score(heard: frozenset[str], folded: str, descriptions: Iterable[str], pattern: str) -> int:
    """Three for every situation that is named, and one for every word in common."""
    situations, words = _sought(tuple(descriptions), pattern)
    named = sum(_is_named(situation, heard, folded) for situation in situations)
    return _PATTERN_WEIGHT * named + len(words & heard)


@lru_cache(maxsize=512)
def _sought(
    descriptions: tuple[str, ...], pattern: str
) -> tuple[tuple[tuple[str, frozenset[str]], ...], frozenset[str]]:
    """What a skill is sought by, worked out once: situations with their words, and all words."""
    alternatives = [part.strip() for part in pattern.split("|")[:_ALTERNATIVES]]
    folded = [_normalize_text(part) for part in alternatives if part]
    situations = tuple(
        (part, content_terms(part) if part.isascii() else _NO_WORDS) for part in folded
    )
    return situations, content_terms(" ".join((*descriptions, *alternatives)))


def _is_named(situation: tuple[str, frozenset[str]], heard: frozenset[str], folded: str) -> bool:
    """Whether a message has a situation word for word, or every word of one that is in Latin."""
    sought, words = situation
    if sought.isascii():
        return bool(words) and words <= heard
    return len(sought) >= _SHORTEST_RUN and sought in folded


def _normalize_text(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _truncate_text(text: str, language: Language) -> str:
    if len(text.encode()) <= TEXT_BYTES:
        return text
    end = _CUT[language]
    return text.encode()[: TEXT_BYTES - len(end.encode())].decode(errors="ignore") + end


def _within(text: str, most: int) -> str:
    content = text.encode()
    if len(content) <= most:
        return text
    return content[: most - 3].decode(errors="ignore") + "…"
