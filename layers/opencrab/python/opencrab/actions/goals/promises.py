"""Withdrawing a promise in time: it then counts neither as kept nor as broken."""

from typing import Annotated

from pydantic import Field

from opencrab.actions.goals.progress import group
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id
from opencrab.domain.goals.promise import PROMISE, Promise
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import GoalId, ShortText, Value
from opencrab.ports.turn.action import ActionContext

__all__ = ["group"]


class WithdrawPromise(Value):
    goal_id: GoalId
    reason: Annotated[ShortText, Field(min_length=1, max_length=500)]


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=(
        "Withdraw the promise of {goal_id}: {reason}",
        "{goal_id}の約束を取り下げる: {reason}",
    ),
    ja="期限の前に、守れない約束を理由を添えて取り下げます。約束した相手に伝わり、その目標は終わります。",
)
def withdraw_promise(arguments: WithdrawPromise, context: ActionContext) -> ActionResult:
    """Withdraw a promise that you cannot keep, before it is due, with a reason.

    Those to whom you made it hear of it, and its goal ends.
    """
    if not arguments.reason.strip():
        raise Invalid("the reason is blank", field="reason", cure="say why you cannot keep it")
    facts, agent_id = context.reach.facts, context.agent.id
    goal = facts.get(agent_id, GOAL, goal_document_id(arguments.goal_id))
    fact = None if goal is None else facts.get(agent_id, PROMISE, goal.read(Goal).session_id)
    if fact is None:
        raise NotFound(
            f"{arguments.goal_id} is no promise of yours", cure="name the goal of a promise"
        )
    promise, now = fact.read(Promise), context.clock.now()
    if not promise.is_open_at(now):
        raise Conflict(
            f"the promise of {arguments.goal_id} is due or settled already",
            cure="promises can be withdrawn only before they are due",
        )
    gone = promise.withdrawn(arguments.reason, now)
    result = ActionResult.ok(goal_id=promise.goal_id, withdrawn=True, session_id=promise.session_id)
    return result.keeping(fact.with_body(gone))
