"""Who reads a skill: by its owner's word, or by the label of the turn that taught these words."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.learning.skill_readers import (
    SKILL_READERS,
    learned_skill_document_names,
    learned_skill_readers,
    may_turn_read_learned_skill,
)
from opencrab.domain.memory.clearance import (
    NOTHING_WITHHELD,
    Clearance,
    Listeners,
    memory_clearance_of_turn,
)
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SourceType

NOW = datetime(2026, 11, 1, tzinfo=UTC)
LEARNED = AcquiredSkill(
    name="tea",
    description="Making tea",
    situation_pattern="tea",
    guidance="No sugar",
    source_type=SourceType.REFLECTION,
    created_at=NOW,
    updated_at=NOW,
)


def clearance_of(person: str) -> Clearance:
    session = Session(
        id="s1",
        participants=(Participant(agent_id="crab"),),
        created_by=person,
        created_at=NOW,
        updated_at=NOW,
    )
    return memory_clearance_of_turn(Authority.USER, person, session, Listeners())


def test_a_skill_without_a_label_is_for_turns_that_may_read_everything() -> None:
    assert may_turn_read_learned_skill(NOTHING_WITHHELD, LEARNED, None)
    assert not may_turn_read_learned_skill(clearance_of("yui"), LEARNED, None)
    assert learned_skill_readers("crab", LEARNED, NOTHING_WITHHELD) is None


def test_what_an_owner_wrote_or_approved_is_for_everybody() -> None:
    # A command that names no owner approves as "".
    for owner in ("owner", ""):
        assert may_turn_read_learned_skill(
            clearance_of("yui"), LEARNED.replaced(approved_by=owner), None
        )


def test_a_skill_is_read_by_those_who_may_read_the_label_of_its_turn() -> None:
    label = learned_skill_readers("crab", LEARNED, clearance_of("yui"))
    assert label is not None
    assert label.key == ("crab", SKILL_READERS, "tea")
    assert may_turn_read_learned_skill(clearance_of("yui"), LEARNED, label)
    assert not may_turn_read_learned_skill(clearance_of("ken"), LEARNED, label)


@pytest.mark.parametrize("field", ["description", "situation_pattern", "guidance"])
def test_a_label_is_of_these_words_only(field: str) -> None:
    label = learned_skill_readers("crab", LEARNED, clearance_of("yui"))
    counted = LEARNED.replaced(usage_count=3, version=2)
    assert may_turn_read_learned_skill(clearance_of("yui"), counted, label)
    changed = LEARNED.replaced(**{field: "my owner's secret"})
    assert not may_turn_read_learned_skill(clearance_of("yui"), changed, label)


def test_a_skill_and_its_label_have_the_same_id() -> None:
    assert learned_skill_document_names("tea") == ((SKILL, "tea"), (SKILL_READERS, "tea"))
