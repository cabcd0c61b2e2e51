"""Readers of an acquired skill: the label of the turn that taught it, stored beside the skill.

In a document of its own, so that the release before, which does not know it, still reads the skill.
"""

import json

from opencrab.domain.document import Document
from opencrab.domain.identifier import content_hash
from opencrab.domain.memory.clearance import Clearance
from opencrab.domain.skills.skill import SKILL, AcquiredSkill
from opencrab.domain.value import Value

SKILL_READERS = "skill_readers"
"""The kind of documents that label skills taught in turns whose audience is narrower; the id is the
name of the skill."""


class SkillReaders(Value):
    """The label of the turn that taught a skill, and the hash of the words that it taught."""

    readers: str
    sha256: str


def learned_skill_readers(
    agent_id: str, skill: AcquiredSkill, clearance: Clearance
) -> Document | None:
    """Return the document that labels a skill as its turn taught it; None if only owners read it.

    An earlier label may stay: it is of other words.
    """
    if clearance.whole:
        return None
    label = SkillReaders(readers=clearance.label, sha256=_words_hash(skill))
    body = label.model_dump()
    return Document(owner=agent_id, kind=SKILL_READERS, id=skill.name, version=0, body=body)


def may_turn_read_learned_skill(
    clearance: Clearance, skill: AcquiredSkill, label: Document | None
) -> bool:
    """Check whether a turn may read a skill.

    What an owner wrote or approved is for everybody; what the agent learned is for those who may
    read the label of these words, without a label for turns that may read everything.
    """
    if clearance.whole or skill.approved_by is not None:
        return True
    if label is None:
        return False
    told = label.read(SkillReaders)
    return told.sha256 == _words_hash(skill) and clearance.reads(told.readers)


def learned_skill_document_names(name: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return kind and id of the two documents of a skill: itself and its label."""
    return (SKILL, name), (SKILL_READERS, name)


def _words_hash(skill: AcquiredSkill) -> str:
    words = (skill.description, skill.situation_pattern, skill.guidance)
    return content_hash(json.dumps(words, ensure_ascii=False).encode())
