"""What changes on evidence do to a mind, and how they are named and compared."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.learning.change import (
    MEMORIES,
    PINS,
    AdjustmentKind,
    LearnedSubject,
    adjustment_id,
    are_mixes_alike,
    describe_mix,
    is_learning_pinned,
    mix_of,
    with_learned_pin,
    with_mix,
    with_told_mix,
    without_learned_pin,
)
from opencrab.domain.models.routing import Use
from opencrab.domain.models.traffic_split import MIXES, Mix

NOW = datetime(2026, 11, 22, tzinfo=UTC)
MIX = Mix(purpose=Use.CONVERSATION, task_type="会話", weights={"cheap": 2 / 3, "dear": 1 / 3})


def test_a_mix_comes_goes_and_comes_back_as_it_was_told() -> None:
    mind = with_mix(AgentState(), MIX)
    assert mix_of(mind, "conversation/会話") == MIX
    told = describe_mix(MIX)
    assert told == {"weights": {"cheap": 0.6667, "dear": 0.3333}}
    assert with_told_mix(mind, MIX.subject, {}) == AgentState()
    again = with_told_mix(AgentState(), MIX.subject, told)
    assert describe_mix(mix_of(again, MIX.subject)) == told
    assert describe_mix(None) == {}


def test_a_mind_has_room_for_so_many_mixes_and_pins() -> None:
    mind = AgentState()
    for number in range(MIXES):
        mind = with_mix(mind, MIX.replaced(task_type=f"t{number}"))
    with pytest.raises(Refused):
        with_mix(mind, MIX)
    for number in range(PINS):
        mind = with_learned_pin(mind, LearnedSubject.of(f"skill:s{number}"))
    assert with_learned_pin(mind, LearnedSubject.of("skill:s1")) == mind
    with pytest.raises(Refused):
        with_learned_pin(mind, LearnedSubject.of("skill:more"))
    assert not is_learning_pinned(
        without_learned_pin(mind, LearnedSubject.of("skill:s1")), LearnedSubject.of("skill:s1")
    )


def test_mixes_are_alike_when_only_chance_tells_them_apart() -> None:
    one = {"weights": {"a": 0.7, "b": 0.3}}
    assert are_mixes_alike(one, {"weights": {"a": 0.65, "b": 0.3, "c": 0.05}})
    assert not are_mixes_alike(one, {"weights": {"a": 0.55, "b": 0.45}})
    assert not are_mixes_alike(
        {"weights": {"a": 0.51, "b": 0.49}}, {"weights": {"a": 0.49, "b": 0.51}}
    )
    assert are_mixes_alike({}, {})
    assert not are_mixes_alike({}, one)


def test_subjects_are_read_from_what_people_write() -> None:
    assert LearnedSubject.of("skill:good").kind is AdjustmentKind.SKILL
    assert LearnedSubject.of("models:conversation/a/b").name == "conversation/a/b"
    assert LearnedSubject.of(MEMORIES.text) == MEMORIES
    for text in ("", "skill:", "models:conversation", "models:no/x", "memory:m", "memories:m"):
        with pytest.raises(Invalid):
            LearnedSubject.of(text)


def test_ids_lie_in_order_of_time_and_are_the_same_for_the_same_causes() -> None:
    first, later = adjustment_id(NOW, "a", "bc"), adjustment_id(NOW + timedelta(seconds=1), "a")
    assert first < later
    assert adjustment_id(NOW, "a", "bc") == first != adjustment_id(NOW, "ab", "c")
