"""Core memories: few, small, and of clean words alone."""

from datetime import UTC, datetime
from typing import Any

import pytest

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.agents.core_memory import (
    CORE_BYTES,
    CORE_MEMORIES,
    agent_with_core_memory,
    agent_without_core_memory,
)
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.errors import Refused
from opencrab.domain.memory.memory import Memory

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def memory(number: int = 1, content: str = "太郎は私のオーナー", **changes: Any) -> Memory:
    fields: dict[str, Any] = {"category": "core", "created_at": NOW, "updated_at": NOW} | changes
    return Memory(id=f"m{number}", content=content, **fields)


def held(mind: AgentState) -> list[str]:
    return [each.content for each in mind.core]


def test_a_core_memory_is_held_as_it_is_now() -> None:
    mind = agent_with_core_memory(AgentState(), memory(hearing=Hearing.SESSION, session_id="s1"))
    assert held(agent_with_core_memory(mind, memory(2, "b"))) == ["太郎は私のオーナー", "b"]
    changed = agent_with_core_memory(mind, memory(content="花子は私のオーナー", session_id="s1"))
    (core,) = changed.core
    assert (core.content, core.hearing, core.session_id) == (
        "花子は私のオーナー",
        Hearing.PRIVATE,
        "s1",
    )


@pytest.mark.parametrize("change", [{"category": "fact"}, {"tainted": True}])
def test_what_is_no_clean_core_memory_leaves_the_mind(change: dict[str, Any]) -> None:
    mind = agent_with_core_memory(AgentState(), memory())
    assert held(agent_with_core_memory(mind, memory(**change))) == []


def test_what_is_not_held_changes_nothing() -> None:
    mind = agent_with_core_memory(AgentState(), memory())
    assert agent_without_core_memory(mind, "m2") is mind
    assert agent_without_core_memory(mind, "m1") == AgentState()


def test_there_is_no_room_for_more_than_a_few() -> None:
    mind = AgentState()
    for number in range(CORE_MEMORIES):
        mind = agent_with_core_memory(mind, memory(number, str(number)))
    with pytest.raises(Refused, match="20 core memories"):
        agent_with_core_memory(mind, memory(99))
    assert held(agent_with_core_memory(mind, memory(3, "三")))[3] == "三"


def test_all_together_have_a_size() -> None:
    half = "蟹" * (CORE_BYTES // 6)
    mind = agent_with_core_memory(
        agent_with_core_memory(AgentState(), memory(1, half)), memory(2, half)
    )
    with pytest.raises(Refused, match="bytes"):
        agent_with_core_memory(mind, memory(3, "蟹蟹"))
