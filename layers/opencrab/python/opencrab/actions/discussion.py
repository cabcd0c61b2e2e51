"""Facilitating a discussion: guidance for its agents, and its phase."""

from enum import StrEnum

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.turn.action import ActionResult, Effect, GuidanceGiven, PhaseSet
from opencrab.domain.value import MessageText, Value
from opencrab.ports.turn.action import ActionContext

group = Group("discussing")


class SettablePhase(StrEnum):
    DIVERGENT = "divergent"
    CONVERGENT = "convergent"
    CONCLUDED = "concluded"


class BroadcastGuidance(Value):
    text: MessageText = Field(description="What everybody should heed")
    more: bool = Field(default=False, description="True if you go on, for example with set_phase")


class SetPhase(Value):
    phase: SettablePhase


def _is_last(arguments: BroadcastGuidance, _result: ActionResult) -> bool:
    return not arguments.more


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Guide the discussion: {text}", "議論の指針を伝える: {text}"),
    ja="進行役として議論の全エージェントに指針を伝えます。人には見えません。"
    "more を true にしない限り、ターンは終わります。",
    ends_turn=_is_last,
)
def broadcast_guidance(arguments: BroadcastGuidance, context: ActionContext) -> ActionResult:
    """As the facilitator, guide all agents of this discussion. People do not see it.

    Ends your turn unless `more` is true.
    """
    _require_facilitator(context)
    if not arguments.text.strip():
        raise Invalid("text is blank", field="text", cure="write the guidance in words")
    return ActionResult.ok(GuidanceGiven(text=arguments.text), guided=True)


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Set the phase to {phase}", "議論の段階を{phase}にする"),
    ja="進行役として、議論の段階を変えます。concluded で議論が終わります。",
)
def set_phase(arguments: SetPhase, context: ActionContext) -> ActionResult:
    """As the facilitator, set the phase of this discussion; concluded ends it with this turn."""
    _require_facilitator(context)
    return ActionResult.ok(PhaseSet(phase=arguments.phase.value), phase=arguments.phase.value)


def _require_facilitator(context: ActionContext) -> None:
    if context.session.facilitator_id != context.agent.id:
        raise Refused(
            "only the facilitator of a session may do this",
            cure="say it with send_speech instead",
        )
