"""The consequences of turns in this product: every capability that reacts to a turn.

They are called in this order. Signals come last, since they record what the others write.
"""

from typing import Any

from opencrab.engine.approvals.consequence import ApprovalConsequence
from opencrab.engine.autonomy.heartbeat_end import HeartbeatConsequence
from opencrab.engine.consequence import Consequences
from opencrab.engine.conversation.purpose_question import PurposeQuestionConsequence
from opencrab.engine.discussion.outcome_turn import OutcomeConsequence
from opencrab.engine.discussion.turn_taking import DiscussionConsequence
from opencrab.engine.erasure.file_versions import ForgottenFileConsequence
from opencrab.engine.goals.after_turn import GoalConsequence
from opencrab.engine.learning.signals import SignalsConsequence
from opencrab.engine.memory.belief_consequence import BeliefTestConsequence
from opencrab.engine.memory.compaction.trigger import CompactionConsequence
from opencrab.engine.peers.talking import PeerConsequence
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.units import WorldUnitConsequence

CONSEQUENCES: Consequences[Runtime, Any] = Consequences(
    GoalConsequence(),
    ApprovalConsequence(),
    DiscussionConsequence(),
    OutcomeConsequence(),
    PeerConsequence(),
    CompactionConsequence(),
    HeartbeatConsequence(),
    WorldUnitConsequence(),
    BeliefTestConsequence(),
    ForgottenFileConsequence(),
    PurposeQuestionConsequence(),
    SignalsConsequence(),
)
