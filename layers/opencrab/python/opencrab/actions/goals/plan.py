"""Setting the purpose, adding and planning goals, and starting their tasks."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused
from opencrab.domain.goals.condition import require_checkable_goal_conditions
from opencrab.domain.goals.goal import (
    CHILDREN,
    DEPTH,
    GOAL,
    OPEN_GOALS,
    Goal,
    GoalSource,
    Line,
    PlannedTask,
    goal_document_id,
    goal_id_of_label,
    with_plan,
)
from opencrab.domain.goals.plan import PLAN, abandoned_goal_plan_id, replan_goal
from opencrab.domain.goals.selection import (
    PROMISES,
    open_goal_limit,
    require_goal_room,
    require_valid_goal_deadline,
)
from opencrab.domain.goals.value_estimate import Horizon, ValueEstimate
from opencrab.domain.identifier import stable_id
from opencrab.domain.turn.action import ActionResult, Effect, GoalBegun
from opencrab.domain.value import GoalId, ShortText, Value
from opencrab.ports.turn.action import ActionContext

group = Group("planning")

_MILLION = 1_000_000


class SetPurpose(Value):
    purpose: Annotated[ShortText, Field(min_length=1, max_length=500)]


class AddGoal(Value):
    name: Line
    description: ShortText = ""
    horizon: Horizon = Field(
        Horizon.OBJECTIVE, description="An aspiration is never begun, it leads to objectives"
    )
    deadline: datetime | None = None


class PlanGoal(Value):
    goal_id: GoalId
    tasks: Annotated[tuple[PlannedTask, ...], Field(max_length=50)]


class StartTask(Value):
    task_id: Annotated[str, Field(max_length=20, description="G1 or G1-T2")]


def _purpose_impact(_arguments: SetPurpose, context: ActionContext) -> Impact:
    """Return SHARED in a tainted turn: a purpose is in every prompt, so a human must approve."""
    return Impact.SHARED if context.turn.taint else Impact.SELF


def _purpose_change(arguments: SetPurpose, context: ActionContext) -> TextChange:
    """The purpose as it is, and as it becomes."""
    now = context.reach.agents.get(context.agent.id).agent.purpose
    return TextChange(name="purpose", before=now or None, after=arguments.purpose)


def _version(_arguments: SetPurpose, context: ActionContext) -> dict[str, Any]:
    return {"version": context.reach.agents.get(context.agent.id).agent.version}


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Take as purpose: {purpose}", "目的にする: {purpose}"),
    ja="自分の目的を定めます。オーナーに尋ねて決めます。",
    prepare=_version,
    impact_of=_purpose_impact,
    change=_purpose_change,
)
def set_purpose(arguments: SetPurpose, context: ActionContext) -> ActionResult:
    """Set your purpose, as your owner told you."""
    if context.turn.authority is not Authority.OWNER:
        raise Invalid(
            "only the owner may set the purpose", cure="ask your owner which purpose to set"
        )
    agent = context.reach.agents.get(context.agent.id).agent
    if agent.purpose != arguments.purpose:
        if agent.version != context.prepared["version"]:
            raise Conflict(
                "your agent's settings were changed concurrently; the purpose was not set",
                cure="call set_purpose again",
            )
        changed = agent.replaced(purpose=arguments.purpose, updated_at=context.clock.now())
        context.reach.agents.save(changed)
    return ActionResult.ok(purpose=arguments.purpose)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Add the goal: {name}", "目標を加える: {name}"),
    ja="目標を加えます。続けて plan_goal で計画し、start_task で始めます。",
)
def add_goal(arguments: AddGoal, context: ActionContext) -> ActionResult:
    """Add a goal; then plan it with plan_goal and begin with start_task."""
    stored = context.reach.facts.get(context.agent.id, MIND, MIND)
    fact = stored or Document(owner=context.agent.id, kind=MIND, id=MIND, version=0, body={})
    mind = fact.read(AgentState)
    agenda = mind.agenda
    require_valid_goal_deadline(arguments.deadline, context.clock.now())
    _require_room(context, agenda, arguments.horizon)
    parent = _parent(context)
    turn, number = context.turn, agenda.last_number + 1
    source = _source(context)
    goal = Goal(
        id=f"G{number}",
        agent_id=context.agent.id,
        session_id=stable_id("task", context.agent.id, context.key),
        name=arguments.name,
        instruction=arguments.description,
        source=source,
        horizon=arguments.horizon,
        worth=PROMISES.get(source, ValueEstimate()),
        deadline=arguments.deadline,
        authority=turn.authority,
        door=turn.source,
        principal_id=turn.principal_id,
        taint=turn.taint,
        created_at=context.clock.now(),
    )
    result = ActionResult.ok(goal_id=goal.id, name=goal.name)
    if parent is not None:
        above = parent.read(Goal)
        goal = goal.replaced(depth=above.depth + 1, budget_micro_usd=above.left_micro_usd)
        result = result.keeping(parent.with_body(above.replaced(children=above.children + 1)))
    grown = agenda.replaced(last_number=number, open=(*agenda.open, goal.id))
    return result.keeping(
        fact.with_body(mind.replaced(agenda=grown)),
        new_fact(goal.agent_id, GOAL, goal_document_id(goal.id), goal),
    )


def _source(context: ActionContext) -> GoalSource:
    """Return the source of a goal added in this turn; the agent's own goals inherit theirs."""
    if context.turn.authority is not Authority.SELF:
        return GoalSource.OWNER
    return GoalSource.ROLE if context.goal is None else context.goal.source


def _require_room(context: ActionContext, agenda: Agenda, horizon: Horizon) -> None:
    """Raise Conflict if OPEN_GOALS goals are open, Invalid if this horizon is full.

    Goals are only counted by horizon if the horizon's limit could be reached.
    """
    authority = context.turn.authority
    if len(agenda.open) >= OPEN_GOALS:
        raise Conflict(f"you have {OPEN_GOALS} open goals", cure="complete or abandon one first")
    if authority is not Authority.SELF or len(agenda.open) < open_goal_limit(horizon, authority):
        return
    names = ((GOAL, goal_document_id(goal_id)) for goal_id in agenda.open)
    found = context.reach.facts.get_many(context.agent.id, *names)
    taken = sum(fact.read(Goal).horizon is horizon for fact in found)
    require_goal_room(horizon, taken, authority)


def _parent(context: ActionContext) -> Document | None:
    """Return the goal that this turn serves, else None.

    Raises Refused if that goal may have no more subgoals.
    """
    if context.goal is None:
        return None
    fact, goal = find_open_goal_for_action(context, context.goal.id)
    if goal.depth >= DEPTH or goal.children >= CHILDREN:
        raise Refused(
            f"goal {goal.id} has reached the limit of subgoals ({CHILDREN}, {DEPTH} levels deep)",
            cure="do what is left in its own tasks, or say in the report what is still to do",
        )
    return fact


def _begins(_arguments: PlanGoal, result: ActionResult) -> bool:
    return bool((result.data or {}).get("begins"))


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Plan {goal_id}", "{goal_id}の計画を立てる"),
    ja="目標を5〜10のタスクに分け、それぞれの前と後に成り立つことを書きます。後から変えられません。",
    ends_turn=_begins,
)
def plan_goal(arguments: PlanGoal, context: ActionContext) -> ActionResult:
    """Split a goal into 5 to 10 tasks, each with conditions before and after; cannot be undone."""
    fact, goal = _own_goal(context, arguments.goal_id)
    if goal.stuck:
        return _planned_anew(arguments, context)
    require_checkable_goal_conditions(arguments.tasks)
    return _with_plan(context, fact, with_plan(goal, arguments.tasks))


def _planned_anew(arguments: PlanGoal, context: ActionContext) -> ActionResult:
    fact, goal = _own_goal(context, arguments.goal_id)
    if goal.authority is not Authority.SELF:
        raise Refused(
            f"the plan of {goal.id} is fixed: the goal was given to you",
            cure="fail the task and report what could not be done",
        )
    require_checkable_goal_conditions(arguments.tasks)
    anew, old = replan_goal(goal, arguments.tasks, context.clock.now())
    kept = new_fact(goal.agent_id, PLAN, abandoned_goal_plan_id(goal.id, old.revision), old)
    return _with_plan(context, fact, anew).keeping(kept)


def _with_plan(context: ActionContext, fact: Document, goal: Goal) -> ActionResult:
    """Return a result that stores a goal with its new plan; raises Invalid if it costs too much."""
    _require_affordable(context, goal)
    own = context.goal is not None and context.goal.id == goal.id
    goal = goal.replaced(taint=goal.taint or context.turn.taint)
    return ActionResult.ok(
        goal_id=goal.id,
        tasks=[{"id": task.id, "name": task.name} for task in goal.tasks],
        begins=own,
        next="the tasks begin now, each in a turn of its own" if own else "start_task begins it",
    ).keeping(fact.with_body(goal))


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Begin with {task_id}", "{task_id}を始める"),
    ja="目標のタスクに取りかかります。この番のあとで、順番に始まります。",
)
def start_task(arguments: StartTask, context: ActionContext) -> ActionResult:
    """Begin to carry out a goal: its tasks run in order, after this turn and goals before it."""
    _, goal = _own_goal(context, goal_id_of_label(arguments.task_id))
    if goal.runs:
        raise Conflict(f"{goal.id} has already begun", cure="wait: its tasks run one after another")
    if goal.horizon is Horizon.ASPIRATION:
        raise Conflict(f"{goal.id} is an aspiration", cure="add an objective that serves it")
    if goal.pause is not None:
        raise Conflict(
            f"{goal.id} is paused: {goal.pause.reason}", cure="wait until your owner resumes it"
        )
    return ActionResult.ok(GoalBegun(goal=goal.id), goal_id=goal.id, begins="after this turn")


def find_open_goal_for_action(context: ActionContext, goal_id: str) -> tuple[Document, Goal]:
    """Return an open goal of the agent with its document; raises NotFound, Conflict if ended."""
    fact = context.reach.facts.get(context.agent.id, GOAL, goal_document_id(goal_id))
    if fact is None:
        raise NotFound(f"there is no goal {goal_id!r}", cure="add it with add_goal")
    goal = fact.read(Goal)
    if goal.status.is_end:
        raise Conflict(f"{goal.id} has ended", cure="add a new goal")
    return fact, goal


def _own_goal(context: ActionContext, goal_id: str) -> tuple[Document, Goal]:
    """Return an open goal that this turn may plan and start; raises Refused for another's."""
    fact, goal = find_open_goal_for_action(context, goal_id)
    turn = context.turn
    serves = context.goal is not None and context.goal.id == goal.id
    same = (goal.authority, goal.principal_id) == (turn.authority, turn.principal_id)
    if not (serves or same or turn.authority is Authority.OWNER):
        raise Refused(f"goal {goal.id} was not set by you", cure="add your own goal")
    return fact, goal


def _require_affordable(context: ActionContext, goal: Goal) -> None:
    """Raise Invalid if the estimated cost exceeds the goal's or the agent's daily budget."""
    estimated = sum(task.estimated_micro_usd for task in goal.tasks)
    limits = (goal.left_micro_usd, context.agent.day_limit_micro_usd)
    most = min((limit for limit in limits if limit is not None), default=None)
    if most is not None and estimated > most:
        raise Invalid(
            f"the plan is estimated at ${estimated / _MILLION:.2f}, but the budget is "
            f"${most / _MILLION:.2f}",
            field="tasks",
            cure="plan fewer or cheaper tasks",
        )
