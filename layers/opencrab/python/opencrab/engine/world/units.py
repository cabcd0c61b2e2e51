"""World units: each turn of a bound agent's own uses one, and it goes on until all are used.

Kingdom calls such a turn a tick, and all of an allocation a cycle. A turn that sent messages has
paid for them already; one that sent none pays for having been, whatever it did.
"""

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.turn.record import action_name_of_turn_call
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.world.binding import WorldBinding
from opencrab.engine.agents.heartbeat_queue import hasten_agent_heartbeat
from opencrab.engine.agents.vital_signs import agent_vital_signs_document, store_event_for_agent
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.engine.world_outbox import stored_world

UNITS_LEFT = "world.units"
"""The type of the event that tells an agent of units to use, which wakes it."""

_SENDS = "world_send"
_NOTHING = FollowUp()


class WorldUnitConsequence(Consequence):
    """Charges a bound agent's own turn, and lets the next one follow while units are left."""

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        if work.profile.agent.world is None or not _is_charged(work, ending.status):
            return _NOTHING
        if _has_sent(work):
            return _NOTHING
        stored = stored_world(work.runtime.home.facts, work.turn.agent_id)
        world = None if stored is None else stored.read(WorldBinding)
        if stored is None or world is None or not world.units:
            return _NOTHING
        return FollowUp(facts=(stored.with_body(world.replaced(units=world.units - 1)),))

    def after_close(self, work: TurnWork) -> None:
        if work.profile.agent.world is not None and _is_own(work):
            announce_world_units(work.runtime, work.turn.agent_id, work.turn)


def announce_world_units(runtime: Runtime, agent_id: str, after: Turn | None = None) -> None:
    """Wake a bound agent that has units to use and acts on its own; safe to repeat.

    `after` is the turn that has just used one. Of an agent whose turns have led to nothing for long
    nothing more is asked in this cycle.
    """
    facts = runtime.home.facts
    stored, vitals = stored_world(facts, agent_id), agent_vital_signs_document(facts, agent_id)
    if stored is None or vitals is None:
        return
    world, signs = stored.read(WorldBinding), vitals.read(VitalSigns)
    given_up = after is not None and signs.in_vain >= runtime.rules.autonomy.dormant_after
    if not world.units or not signs.heartbeat.acts_on_its_own or given_up:
        return
    if not signs.has_pending_input:
        now = runtime.clock.now()
        told = AgentEvent(
            id=runtime.clock.new_id(),
            type=UNITS_LEFT,
            source=world.world_id,
            text=f"cycle {world.cycle}: {world.units}",
            authority=Authority.SELF,
            tainted=False,
            at=now,
        )
        store_event_for_agent(runtime, agent_id, told)
    hasten_agent_heartbeat(runtime, agent_id)


def _is_own(work: TurnWork) -> bool:
    """Check whether the turn is a bound agent's own, not one that a person asked for."""
    turn = work.turn
    return turn.is_autonomous and turn.authority is Authority.SELF


def _is_charged(work: TurnWork, status: TurnStatus) -> bool:
    """Check whether an own turn lived: one without budget did not begin."""
    return _is_own(work) and not (status is TurnStatus.EXHAUSTED and work.turn.attempts == 0)


def _has_sent(work: TurnWork) -> bool:
    return any(
        result.success and action_name_of_turn_call(call) == _SENDS
        for call, result in work.transcript.ended_calls
    )
