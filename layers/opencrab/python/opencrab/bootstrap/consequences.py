"""What follows turns in this product: every capability that has something to do when one moves.

The order is that in which they are asked. Signals come last: they tell of what the others write.
"""

from typing import Any

from opencrab.engine.approvals.consequence import ApprovalConsequence
from opencrab.engine.autonomy.heartbeat_end import HeartbeatConsequence
from opencrab.engine.consequence import Consequences
from opencrab.engine.discussion.turn_taking import DiscussionConsequence
from opencrab.engine.goals.after_turn import GoalConsequence
from opencrab.engine.learning.signals import SignalsConsequence
from opencrab.engine.memory.compaction.trigger import CompactionConsequence
from opencrab.engine.runtime import Runtime

CONSEQUENCES: Consequences[Runtime, Any] = Consequences(
    GoalConsequence(),
    ApprovalConsequence(),
    DiscussionConsequence(),
    CompactionConsequence(),
    HeartbeatConsequence(),
    SignalsConsequence(),
)
