"""The consequences of turns in this product: every capability that reacts to a turn.

They are called in this order, each only for turns that have one of its traits. Signals come last,
since they record what the others write.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from opencrab.engine.consequence import Consequences, TurnConsequence, TurnTrait
from opencrab.engine.runtime import Runtime

ANY: Final = TurnTrait.ANY
BUSY: Final = TurnTrait.BUSY
UNASKED: Final = TurnTrait.UNASKED
TASK: Final = TurnTrait.TASK
CALLS: Final = TurnTrait.CALLS
APPROVAL: Final = TurnTrait.APPROVAL
PEER: Final = TurnTrait.PEER
SHARED: Final = TurnTrait.SHARED
DORMANT: Final = TurnTrait.DORMANT
OWN_LIFE: Final = TurnTrait.OWN_LIFE


def _load_later(module: str, name: str) -> Callable[[], TurnConsequence[Runtime, Any]]:
    """Return what makes a consequence: its module of `engine` loads with the first call."""

    def make() -> TurnConsequence[Runtime, Any]:
        made: TurnConsequence[Runtime, Any] = getattr(
            import_module(f"opencrab.engine.{module}"), name
        )()
        return made

    return make


CONSEQUENCES: Consequences[Runtime, Any] = Consequences(
    (_load_later("goals.after_turn", "GoalConsequence"), {BUSY, TASK, CALLS}),
    (_load_later("approvals.consequence", "ApprovalConsequence"), {APPROVAL}),
    (_load_later("discussion.turn_taking", "DiscussionConsequence"), {SHARED}),
    (_load_later("discussion.outcome_turn", "OutcomeConsequence"), {TASK, CALLS, UNASKED, PEER}),
    (_load_later("peers.talking", "PeerConsequence"), {PEER}),
    (_load_later("memory.compaction.trigger", "CompactionConsequence"), {ANY}),
    (
        _load_later("autonomy.heartbeat_end", "HeartbeatConsequence"),
        {UNASKED, TASK, SHARED, DORMANT},
    ),
    (_load_later("world.units", "WorldUnitConsequence"), {UNASKED}),
    (_load_later("memory.belief_consequence", "BeliefTestConsequence"), {UNASKED}),
    (_load_later("erasure.file_versions", "ForgottenFileConsequence"), {CALLS}),
    (_load_later("conversation.purpose_question", "PurposeQuestionConsequence"), {OWN_LIFE}),
    (_load_later("learning.signals", "SignalsConsequence"), {ANY}),
)
