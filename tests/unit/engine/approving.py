"""A turn of Ken's that waits for a human, as a worker leaves it."""

from datetime import timedelta
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.approvals.approval import Approval, ApprovalRules
from opencrab.domain.turn.record import (
    ActionCall,
    ApprovalRequest,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
)
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.approvals.approvals import Decider, open_approval
from opencrab.ports.turn.journal import TurnChange
from tests.unit.engine.known_world import World

CALL = ActionCall(id="c1", name="ws_write", arguments={"path": "メモ.md", "content": "海 🦀"})
OWNER = Decider(id="owner", is_owner=True)
DELEGATE = Decider(id="taro", is_owner=False)
STRANGER = Decider(id="jiro", is_owner=False)


def with_rules(world: World, **rules: Any) -> Agent:
    """Ken, whose approvals go by these rules from now on."""
    agent = world.runtime.home.agents.get("ken").agent
    return world.runtime.home.agents.save(agent.replaced(approvals=ApprovalRules(**rules)))


def asked(
    world: World, *, taint: bool = False, authority: Authority = Authority.OWNER, **rules: Any
) -> Approval:
    """An open approval and the turn that waits for it; a minute later than the one before."""
    world.clock.advance(60)
    agent = with_rules(world, **rules)
    turn = world.claimed(world.say("書いて", authority=authority)[1]).replaced(taint=taint)
    request = ApprovalRequest(
        n=turn.sequence + 1,
        call_id=CALL.id,
        name=CALL.name,
        argument_hash=CALL.argument_hash,
        what="writes メモ.md (ws_write)",
        touches="メモ.md",
    )
    fact = open_approval(turn, agent, request, Impact.SELF, world.clock.now())
    n = turn.sequence
    records = (
        ModelIntent(n=n, model="m", request_hash="h", reserved=0),
        ModelResult(n=n, state=CallState.COMPLETED, answer=ModelAnswer(calls=(CALL,))),
        request,
    )
    waiting = turn.replaced(status=TurnStatus.WAITING, sequence=request.n + 1)
    change = TurnChange(turn=waiting, expected=turn.sequence, records=records, facts=(fact,))
    world.runtime.home.journal.commit(change)
    return fact.read(Approval)


def later(world: World, minutes: float) -> None:
    """Let time pass."""
    world.clock.advance(timedelta(minutes=minutes).total_seconds())
