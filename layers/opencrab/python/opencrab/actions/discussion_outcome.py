"""The outcome of a discussion: one agent writes it, those with tasks take them over or decline."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from opencrab.actions.discussion import group
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.conversation.session import OBSERVER
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    TASKS,
    DiscussionOutcome,
    OutcomeState,
    OutcomeTask,
    Points,
    TaskAnswer,
    discussion_partners,
    is_discussion_outcome_turn,
    is_discussion_task_answer_turn,
    same_discussion_participant_name,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused
from opencrab.domain.goals.condition import parse_goal_conditions
from opencrab.domain.goals.goal import GOAL, OPEN_GOALS, Goal, GoalSource, Line, goal_document_id
from opencrab.domain.goals.promise import PROMISE, Promise, promised_goal_id
from opencrab.domain.goals.selection import PROMISES, require_valid_goal_deadline
from opencrab.domain.turn.action import ActionResult, Effect, GoalBegun, SpeechSent
from opencrab.domain.value import Language, Name, ShortText, Value
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import ActionContext, one_line

__all__ = ["group"]

_TEXTS = Texts(__file__)


class AgentTask(Value):
    who: Name = Field(description="A participant's name")
    what: Line
    due: datetime = Field(description="With time zone, as 2026-02-17T18:00:00Z")
    done_when: Line | None = Field(None, description="What holds then; file:PATH is checked")


class WriteOutcome(Value):
    decisions: Points = ()
    open_points: Points = ()
    tasks: Annotated[tuple[AgentTask, ...], Field(max_length=TASKS)] = ()


class AnswerTask(Value):
    task: Annotated[int, Field(ge=1, le=TASKS, description="Its number")]
    takes_over: bool
    reason: Annotated[ShortText, Field(max_length=500, description="Why not")] = ""


@group.action(
    impact=Impact.SPEECH,
    effect=Effect.TRANSACTIONAL,
    sentences=("Write the outcome of the discussion", "議論の結果を書く"),
    ja="終わった議論の結果を書きます。決まったこと、残った論点、誰が何をいつまでにするかを、求められたターンで一度だけ書きます。",
    ends_turn=True,
)
def write_outcome(arguments: WriteOutcome, context: ActionContext) -> ActionResult:
    """Write the outcome of a discussion that has ended: decisions, open points, who does what.

    Only in the turn in which you are asked for it, and once.
    """
    if not is_discussion_outcome_turn(context.turn):
        raise Refused(
            "nobody asked you for an outcome in this turn", cure="say it with send_speech instead"
        )
    if not (arguments.decisions or arguments.open_points or arguments.tasks):
        raise Invalid("the outcome is empty", cure="write what was decided, or what is open")
    stored = context.reach.facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, context.session.id)
    before = None if stored is None else stored.read(DiscussionOutcome)
    if before is not None and before.state is OutcomeState.WRITTEN:
        raise Conflict("the outcome was written already", cure="end your turn with send_noreact")
    ended_by, now = context.session.ended_by, context.clock.now()
    if ended_by is None:
        raise Conflict("the discussion has not ended", cure="say it with send_speech instead")
    outcome = DiscussionOutcome(
        session_id=context.session.id,
        ended_by=ended_by,
        agent_ids=context.session.agent_ids,
        state=OutcomeState.WRITTEN,
        writer_id=context.agent.id,
        decisions=arguments.decisions,
        open_points=arguments.open_points,
        tasks=_tasks(arguments.tasks, context, now),
        turn_id=context.turn.id,
        at=now,
    )
    fact = (
        new_fact(INSTALLATION_FACTS, DISCUSSION_OUTCOME, outcome.session_id, outcome)
        if stored is None
        else stored.with_body(outcome)
    )
    text = _outcome_text(outcome, context.agent.language)
    return ActionResult.ok(SpeechSent(text=text), written=True).keeping(fact)


def _tasks(
    wanted: tuple[AgentTask, ...], context: ActionContext, now: datetime
) -> tuple[OutcomeTask, ...]:
    """Return the tasks with the agents that they name; raise Invalid for one that cannot be."""
    there = _participants(context) if wanted else {}
    return tuple(_task(number, task, there, context, now) for number, task in enumerate(wanted, 1))


def _task(
    number: int,
    task: AgentTask,
    there: dict[str, Agent],
    context: ActionContext,
    now: datetime,
) -> OutcomeTask:
    agent = _participant_of_name(task.who, there)
    require_valid_goal_deadline(task.due, now)
    parse_goal_conditions(task.done_when or "")
    asked = OutcomeTask(
        number=number,
        agent_id=agent.id,
        name=agent.name,
        what=task.what,
        done_when=task.done_when or "",
        due=task.due,
    )
    if context.session.payer is not None:
        return _not_asked(asked, "public", context.agent.language)
    if agent.owner != context.agent.owner:
        return _not_asked(asked, "other_owner", context.agent.language)
    return asked


def _not_asked(task: OutcomeTask, why: str, language: Language) -> OutcomeTask:
    return task.replaced(answer=TaskAnswer.NOT_ASKED, reason=_TEXTS[why][language])


def _participants(context: ActionContext) -> dict[str, Agent]:
    """Return the agents of the discussion that may speak, by id."""
    found = {}
    for part in context.session.participants:
        if part.role == OBSERVER:
            continue
        try:
            found[part.agent_id] = context.reach.agents.get(part.agent_id).agent
        except NotFound:
            continue
    return found


def _participant_of_name(who: str, there: dict[str, Agent]) -> Agent:
    """Return the participant of a name, or of an id; raise Invalid unless it is exactly one."""
    if who in there:
        return there[who]
    found = [agent for agent in there.values() if same_discussion_participant_name(agent.name, who)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{one_line(agent.name)} ({agent.id})" for agent in there.values())
    what = "is not in this discussion" if not found else "is the name of several participants"
    raise Invalid(
        f"{one_line(who)!r} {what}; they are: {names}",
        field="tasks",
        cure="name one of them, or leave the task to the open points",
    )


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=(
        "Answer task {task}: takes it over: {takes_over}",
        "タスク{task}への回答: 引き受ける: {takes_over}",
    ),
    ja="議論の結果であなたに割り当てられたタスクを引き受けるか、理由を書いて断ります。引き受けると約束になり、あなたの目標になります。",
    ends_turn=lambda _arguments, result: not (result.data or {}).get("left"),
    for_peers=True,
)
def answer_task(arguments: AnswerTask, context: ActionContext) -> ActionResult:
    """Take over a task that the outcome of a discussion gives you, or decline it with a reason.

    To take it over is a promise to the others, and becomes a goal of yours.
    """
    stored, outcome, task = _asked_task(arguments.task, context)
    left = len(outcome.tasks_of(context.agent.id)) - 1
    if not arguments.takes_over:
        if not arguments.reason.strip():
            raise Invalid("a refusal needs a reason", field="reason", cure="say why")
        declined = task.replaced(answer=TaskAnswer.DECLINED, reason=arguments.reason)
        result = ActionResult.ok(task=task.number, takes_over=False, left=left)
        return result.keeping(stored.with_body(outcome.with_task(declined)))
    if task.due <= context.clock.now():
        raise Conflict(f"the due time of task {task.number} has passed", cure="decline it")
    mind, goal = _goal(task, context)
    promise = _promise(task, goal, context)
    taken = task.replaced(answer=TaskAnswer.TAKEN_OVER, promise_id=promise.id)
    return ActionResult.ok(
        GoalBegun(goal=goal.id),
        task=task.number,
        takes_over=True,
        goal_id=goal.id,
        promise_id=promise.id,
        left=left,
    ).keeping(
        stored.with_body(outcome.with_task(taken)),
        mind,
        new_fact(goal.agent_id, GOAL, goal_document_id(goal.id), goal),
        new_fact(goal.agent_id, PROMISE, promise.id, promise),
    )


def _asked_task(
    number: int, context: ActionContext
) -> tuple[Document, DiscussionOutcome, OutcomeTask]:
    """Return the task that this agent is asked about; raise Refused, NotFound or Conflict."""
    if not is_discussion_task_answer_turn(context.turn):
        raise Refused("nobody asked you about a task in this turn", cure="answer when asked")
    stored = context.reach.facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, context.session.id)
    if stored is None:
        raise NotFound("this discussion has no outcome", cure="end your turn with send_noreact")
    outcome = stored.read(DiscussionOutcome)
    mine = outcome.tasks_of(context.agent.id)
    task = next((each for each in mine if each.number == number), None)
    if task is None:
        numbers = ", ".join(str(each.number) for each in mine) or "none"
        raise Conflict(
            f"task {number} is not yours to answer", cure=f"your open ones are: {numbers}"
        )
    return stored, outcome, task


def _goal(task: OutcomeTask, context: ActionContext) -> tuple[Document, Goal]:
    """Return the promised goal with the agent's changed state; raise Conflict without room."""
    agent, turn, language = context.agent, context.turn, context.agent.language
    stored = context.reach.facts.get(agent.id, MIND, MIND)
    fact = stored or Document(owner=agent.id, kind=MIND, id=MIND, version=0, body={})
    mind = fact.read(AgentState)
    agenda, number = mind.agenda, mind.agenda.last_number + 1
    if len(agenda.open) >= OPEN_GOALS:
        raise Conflict(f"you have {OPEN_GOALS} open goals", cure="decline it: you have no room")
    there = _participants(context)
    others = (there[each].name for each in _partners(context) if each in there)
    said = _TEXTS["goal"][language].format(
        what=task.what, due=_due(task.due), names=", ".join(map(one_line, others))
    )
    checked = _TEXTS["goal_done"][language].format(what=task.done_when) if task.done_when else ""
    goal = Goal(
        id=f"G{number}",
        agent_id=agent.id,
        session_id=promised_goal_id(context.session.id, task.number),
        name=task.what,
        instruction=said + checked,
        source=GoalSource.SOCIAL,
        worth=PROMISES[GoalSource.SOCIAL],
        deadline=task.due,
        authority=Authority.SELF,
        door=Source.HEARTBEAT,
        principal_id=agent.id,
        principal_name=agent.name,
        taint=turn.taint,
        created_at=context.clock.now(),
    )
    grown = agenda.replaced(last_number=number, open=(*agenda.open, goal.id))
    return fact.with_body(mind.replaced(agenda=grown)), goal


def _promise(task: OutcomeTask, goal: Goal, context: ActionContext) -> Promise:
    return Promise(
        id=goal.session_id,
        agent_id=goal.agent_id,
        name=context.agent.name,
        to=_partners(context),
        what=task.what,
        done_when=task.done_when,
        due=task.due,
        goal_id=goal.id,
        session_id=context.session.id,
        turn_id=context.turn.id,
        made_at=goal.created_at,
    )


def _partners(context: ActionContext) -> tuple[str, ...]:
    """Return the agents that a promise in this discussion is made to: all others in it."""
    everybody = discussion_partners(context.session)
    return tuple(each for each in everybody if each != context.agent.id)


def _outcome_text(outcome: DiscussionOutcome, language: Language) -> str:
    """Return the outcome as it is said in the discussion."""
    rows = [_TEXTS["head"][language]]
    for key, points in (("decisions", outcome.decisions), ("open_points", outcome.open_points)):
        if points:
            rows += [_TEXTS[key][language], *(f"- {each}" for each in points)]
    if outcome.tasks:
        rows.append(_TEXTS["tasks"][language])
    for task in outcome.tasks:
        done = _TEXTS["done_when"][language].format(what=task.done_when) if task.done_when else ""
        row = _TEXTS["task"][language].format(
            number=task.number,
            name=one_line(task.name),
            what=task.what,
            due=_due(task.due),
            done=done,
        )
        rows.append(row)
    return "\n".join(rows)


def _due(due: datetime) -> str:
    return f"{due:%Y-%m-%d %H:%M %Z}".rstrip()
