"""The consequences of turns in this product: every capability that reacts to a turn.

They are called in this order, each only for turns that have one of its traits. Signals come last,
since they record what the others write.
"""

from typing import TYPE_CHECKING, Any, Final

from opencrab.engine.consequence import Consequences, TurnTrait
from opencrab.engine.consequence import consequence_in_module as lazily
from opencrab.engine.runtime import Runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from opencrab.ports.access.secrets import Secrets
    from opencrab.settings import Settings

ANY: Final = TurnTrait.ANY
BUSY: Final = TurnTrait.BUSY
UNASKED: Final = TurnTrait.UNASKED
TASK: Final = TurnTrait.TASK
CALLS: Final = TurnTrait.CALLS
APPROVAL: Final = TurnTrait.APPROVAL
PEER: Final = TurnTrait.PEER
SHARED: Final = TurnTrait.SHARED
DORMANT: Final = TurnTrait.DORMANT
LONG: Final = TurnTrait.LONG
OWN_LIFE: Final = TurnTrait.OWN_LIFE
REPORTED: Final = TurnTrait.REPORTED
OUTSIDE: Final = TurnTrait.OUTSIDE


CONSEQUENCES: Consequences[Runtime, Any] = Consequences(
    (lazily("goals.after_turn", "GoalConsequence"), {BUSY, TASK, CALLS}),
    (lazily("approvals.consequence", "ApprovalConsequence"), {APPROVAL}),
    (lazily("client_tools.calls", "ClientToolConsequence"), {OUTSIDE}),
    (lazily("discussion.turn_taking", "DiscussionConsequence"), {SHARED}),
    (
        lazily("discussion.outcome_turn", "OutcomeConsequence"),
        {TASK, CALLS, UNASKED, PEER},
    ),
    (lazily("peers.talking", "PeerConsequence"), {PEER}),
    (lazily("memory.compaction.trigger", "CompactionConsequence"), {LONG}),
    (
        lazily("autonomy.heartbeat_end", "HeartbeatConsequence"),
        {UNASKED, TASK, SHARED, DORMANT},
    ),
    (lazily("world.units", "WorldUnitConsequence"), {UNASKED}),
    (lazily("memory.belief_consequence", "BeliefTestConsequence"), {UNASKED}),
    (lazily("erasure.file_versions", "ForgottenFileConsequence"), {CALLS}),
    (
        lazily("conversation.purpose_question", "PurposeQuestionConsequence"),
        {OWN_LIFE},
    ),
    (lazily("webhooks.event_consequence", "WebhookEventConsequence"), {REPORTED}),
    (lazily("learning.signals", "SignalsConsequence"), {ANY}),
)


def configured_consequences(
    configured: "Settings",
    load: "Callable[..., Settings]",
    secrets: "Secrets",
    *,
    background: bool,
) -> Consequences[Runtime, Any]:
    """Return the consequences of turns; where there is an endpoint for telemetry, that as well.

    `background` says that a thread may send it later. Raises Invalid for settings of telemetry.
    """
    if not configured.get("telemetry.otlp.endpoint"):
        return CONSEQUENCES
    from opencrab.bootstrap.configuration.telemetry import consequences_with_telemetry

    return consequences_with_telemetry(
        CONSEQUENCES, configured, load, secrets, background=background
    )
