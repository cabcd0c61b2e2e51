"""Skills in a turn: the index in every prompt, those that fit a message, and their texts."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from opencrab.domain.agents.agent_state import AgentState, is_skill_in_agent_state
from opencrab.domain.errors import Changed
from opencrab.domain.learning.skill_readers import (
    SKILL_READERS,
    learned_skill_document_names,
    may_turn_read_learned_skill,
)
from opencrab.domain.memory.clearance import Clearance
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, StandardSkill
from opencrab.domain.text.terms import content_terms_of_text
from opencrab.domain.value import Language
from opencrab.ports.documents import Documents
from opencrab.ports.models.model import NO_TEXT, PromptText, TrustedText, label_text_for_model_call
from opencrab.ports.skills import StandardSkills

INDEX_BYTES = 3_000
"""The most bytes of the skill index in a prompt."""

TEXT_BYTES = 6 * 1024
"""The most bytes of a skill's text in a prompt; use_skill reads all of it."""

_LINE_BYTES = 240
_READ_CHARACTERS = 4_000
_ALTERNATIVES = 30
_PATTERN_WEIGHT = 3
_ENOUGH = 3
"""The lowest score of a fitting skill: one situation, or three common words."""

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
_FOLDERS = {
    Language.JA: "{folders} には、あなたとオーナーのノートがあります。関係しそうなことは、"
    "答える前にそこを調べます。",
    Language.EN: "There are notes of yours and your owner's in {folders}: look there before you "
    "answer what they may be about.",
}
_CUT = {
    Language.JA: "\n…(続きは use_skill で読めます)",
    Language.EN: "\n… (use_skill reads the rest)",
}


class OfferedSkill(NamedTuple):
    """A skill that an agent may use: its descriptions, and the situations that it fits."""

    name: str
    descriptions: Mapping[Language, str]
    pattern: str
    on_trial: bool
    is_shipped: bool


class SkillIndex(NamedTuple):
    """The part of every prompt about skills: their names, standard ones first, and the text."""

    names: tuple[str, ...]
    text: PromptText


def skills_of_agent(
    standard: Sequence[StandardSkill], mind: AgentState
) -> tuple[OfferedSkill, ...]:
    """Return the skills in use: standard ones that are enabled, then acquired ones."""
    trying = {skill.name for skill in mind.skills if skill.on_trial}
    shipped = [
        OfferedSkill(
            one.name, one.descriptions, one.situation_pattern, one.name in trying, is_shipped=True
        )
        for one in standard
        if is_skill_in_agent_state(one, mind)
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


def unreadable_skills(
    facts: Documents, agent_id: str, mind: AgentState, clearance: Clearance
) -> frozenset[str]:
    """Return the names of the agent's own skills that a turn may not read, by their labels.

    One read, and none for turns that may read everything.
    """
    if clearance.whole or not mind.skills:
        return frozenset()
    names = [name for one in mind.skills for name in learned_skill_document_names(one.name)]
    found = facts.get_many(agent_id, *names)
    labels = {fact.id: fact for fact in found if fact.kind == SKILL_READERS}
    readable = {
        fact.id
        for fact in found
        if fact.kind == SKILL
        and may_turn_read_learned_skill(clearance, fact.read(AcquiredSkill), labels.get(fact.id))
    }
    return frozenset(one.name for one in mind.skills) - readable


def agent_skills_index(
    skills: Iterable[OfferedSkill], language: Language, folders: Sequence[str] = ()
) -> SkillIndex:
    """Build the index of an agent's skills with descriptions, without acquired ones on trial.

    `folders` are those with files that some of the skills are about.

    A skill on trial is loaded only when it fits, so that withholding it does not change this text.
    """
    told = [skill for skill in skills if skill.is_shipped or not skill.on_trial]
    if not told:
        return SkillIndex((), NO_TEXT)
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
    if folders:
        named = " ".join(f"{folder}/" for folder in folders)
        lines.append(_FOLDERS[language].format(folders=named))
    # Whoever learned or approved a skill that counts has vouched for its words.
    return SkillIndex(tuple(skill.name for skill in told), TrustedText("\n".join(lines)))


def skills_fitting_message(
    skills: Iterable[OfferedSkill], text: str, limit: int = 2
) -> tuple[str, ...]:
    """Return the skills that fit a message by description and situation, best first.

    With equal scores, a skill on trial comes last.
    """
    read = text[:_READ_CHARACTERS]
    heard, folded = content_terms_of_text(read), _normalize_text(read)
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
) -> PromptText | None:
    """Return a skill's text, cut to TEXT_BYTES; None if the skill is not in use."""
    shipped = standard.find(name)
    if shipped is not None:
        return TrustedText(_truncate_text(shipped.text(language), language))
    fact = facts.get(agent_id, SKILL, name)
    skill = fact.read(AcquiredSkill) if fact else None
    if skill is None or not skill.status.is_live or skill.tainted:
        return None
    return label_text_for_model_call(
        _truncate_text(skill.guidance, language), tainted=skill.tainted
    )


def count_skill_use(facts: Documents, agent_id: str, names: Iterable[str], now: datetime) -> None:
    """Count the use of acquired skills; a count is lost after repeated conflicts."""
    for name in sorted(set(names)):
        for _ in range(_TRIES):
            fact = facts.get(agent_id, SKILL, name)
            if fact is None:
                break
            skill = fact.read(AcquiredSkill)
            counted = skill.replaced(usage_count=skill.usage_count + 1, last_used_at=now)
            try:
                facts.commit(fact.with_body(counted))
            except Changed:
                continue
            break


def _score(heard: frozenset[str], folded: str, descriptions: Iterable[str], pattern: str) -> int:
    """Return three for every situation that is named plus one for every common word."""
    runs, situations, words = _sought(tuple(descriptions), pattern)
    named = sum(run in folded for run in runs) + sum(each <= heard for each in situations)
    return _PATTERN_WEIGHT * named + len(words & heard)


@lru_cache(maxsize=512)
def _sought(
    descriptions: tuple[str, ...], pattern: str
) -> tuple[tuple[str, ...], tuple[frozenset[str], ...], frozenset[str]]:
    """Return the texts of a skill's situations, the words of ASCII ones, and all its words; cached.

    A message names a situation if it has its text, or all words of an ASCII one.
    """
    alternatives = [part.strip() for part in pattern.split("|")[:_ALTERNATIVES]]
    folded = [_normalize_text(part) for part in alternatives if part]
    runs = (part for part in folded if not part.isascii() and len(part) >= _SHORTEST_RUN)
    situations = (content_terms_of_text(part) for part in folded if part.isascii())
    words = content_terms_of_text(" ".join(descriptions))
    return tuple(runs), tuple(filter(None, situations)), words


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
