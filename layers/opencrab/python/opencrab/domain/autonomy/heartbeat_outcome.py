"""Heartbeat results: what an agent decided when a heartbeat woke it, and what came of it."""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value

BEAT_RESULT = "beat_result"
"""The kind of documents with heartbeat results; the id is the turn's."""

ACTIONS = 20
"""The most actions that a result names."""

_LEARNING = frozenset({
    "create_my_skill", "form_belief", "learn_from_experience", "learn_from_peer", "link_knowledge",
    "reflect_and_learn", "save_memory", "save_model_insight", "summarize_and_save", "test_belief",
})  # fmt: skip


class HeartbeatChoice(StrEnum):
    """What an agent did with a heartbeat: speak, learn, act in another way, or nothing."""

    SPEAK = "speak"
    LEARN = "learn"
    ACT = "act"
    IDLE = "idle"


class HeartbeatOutcome(Value):
    """The end of a heartbeat's turn: `actions` succeeded, each named once.

    It holds nobody's words, so that nothing of it must be forgotten.
    """

    turn_id: str
    decision: HeartbeatChoice
    status: TurnStatus
    actions: tuple[str, ...] = ()
    at: datetime


def heartbeat_decision_of_turn(
    succeeded: Collection[str], *, spoke: bool, has_acted: bool
) -> HeartbeatChoice:
    """Return the decision of a turn: speech first, then learning, then other acts."""
    if spoke:
        return HeartbeatChoice.SPEAK
    if not _LEARNING.isdisjoint(succeeded):
        return HeartbeatChoice.LEARN
    return HeartbeatChoice.ACT if has_acted else HeartbeatChoice.IDLE
