"""A desk of Aki, from which actions among agents are called for whoever asks."""

from typing import Any

from opencrab.actions import GROUPS, Registry
from opencrab.domain.access.authority import Authority
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.record import ActionCall
from opencrab.domain.turn.transcript import Transcript
from opencrab.engine.turn.call import context_of_turn_call
from opencrab.engine.turn.observe import load_turn_work
from tests.e2e.house import House
from tests.e2e.meeting import meets

REGISTRY = Registry(GROUPS)


def gathered(house: House, *names: str) -> None:
    """Agents of one owner, the first of which is asked in session `s`."""
    for name in names:
        meets(house, name)
    house.session(house.home.agents.get(names[0]).agent)


def act(house: House, action_name: str, /, **said: Any) -> ActionResult:
    """Call an action in a turn of the owner, or `by` whom it says, and store what it writes."""
    authority = said.pop("by", Authority.OWNER)
    house.calls["acts"] += 1
    (turn,) = house.say("please", f"m{house.calls['acts']}", authority=authority)
    work = load_turn_work(house.runtime, turn, Transcript())
    call = ActionCall(id=f"c{house.calls['acts']}", name=action_name, arguments=said)
    action = REGISTRY.find(action_name)
    assert action is not None
    context = context_of_turn_call(work, call, {})
    result = action.run(action.arguments.model_validate(said), context)
    if result.facts:
        house.home.facts.commit(*result.facts, due=result.due)
    return result
