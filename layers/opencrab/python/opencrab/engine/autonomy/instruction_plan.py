"""Instruction plans: asked for at a review when the instructions are new, and put into schedules.

Without a change of instructions, purpose, time zone or channel nothing is asked or written.
"""

import json
from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.autonomy.instruction_plan import (
    INSTRUCTION_PLAN,
    InstructionPlan,
    PlanFlaw,
    PlannedGoal,
    autonomy_instruction_plan_key,
    instruction_schedule_id,
    is_instructed_schedule,
    is_schedule_alike,
)
from opencrab.domain.autonomy.schedule import (
    SCHEDULE,
    SCHEDULES,
    Schedule,
    ScheduleDraft,
    new_schedule,
    next_schedule_time,
)
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.identifier import stable_id
from opencrab.domain.money.budget import INSTALLATION
from opencrab.engine.autonomy.instruction_plan_prompt import autonomy_planned_goal_text
from opencrab.engine.autonomy.schedule_documents import (
    read_schedule_count,
    schedule_count_after,
    schedule_document,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.turn.action import one_line

_TRIES = 5
_CHANGED = "the instruction plan was changed concurrently"


def review_autonomy_instruction_plan(
    runtime: Runtime, agent: Agent, plan: InstructionPlan | None, now: datetime
) -> bool:
    """Ask for the plan of instructions that are new, or update what follows from the one there is.

    Returns True if something was written. Raises Changed when it was changed concurrently.
    """
    key = autonomy_instruction_plan_key(agent)
    if plan is None or plan.key != key:
        _begin_plan(runtime, agent, key, now)
        return True
    if plan.planned:
        return plan.place != schedule_place(runtime, agent) and apply_instruction_plan_to_schedules(
            runtime, agent
        )
    if not plan.asks_again(now) or _is_frozen(runtime.home, agent.id):
        return False
    stored = _plan_document(runtime.home.facts, agent.id)
    if stored is None:
        raise Changed(_CHANGED)
    asked = plan.replaced(asked_at=now)
    _request_plan(runtime.home, agent.id, asked)
    runtime.home.facts.commit(stored.with_body(asked))
    return True


def withdraw_autonomy_instruction_plan(runtime: Runtime, agent_id: str) -> None:
    """Delete the plan of instructions that are no more, with its schedules; safe to repeat."""
    for _ in range(_TRIES):
        stored = _plan_document(runtime.home.facts, agent_id)
        if stored is None:
            return
        gone = _schedules_to_remove(runtime.home.facts, agent_id, stored.read(InstructionPlan))
        try:
            runtime.home.facts.commit(stored.removed(), *gone)
        except Changed:
            continue
        return


def read_autonomy_instruction_plan(facts: Documents, agent: Agent) -> InstructionPlan | None:
    """Return the plan of an agent's present instructions; None if there is none, or not yet."""
    stored = _plan_document(facts, agent.id)
    plan = None if stored is None else stored.read(InstructionPlan)
    wanted = agent.heartbeat.acts_on_its_own and plan is not None
    return (
        plan
        if wanted and plan is not None and plan.key == autonomy_instruction_plan_key(agent)
        else None
    )


def apply_instruction_plan_to_schedules(runtime: Runtime, agent: Agent) -> bool:
    """Make and move the schedules of a plan; True if it was written. Safe to repeat."""
    for _ in range(_TRIES):
        stored = _plan_document(runtime.home.facts, agent.id)
        plan = None if stored is None else stored.read(InstructionPlan)
        place = schedule_place(runtime, agent)
        current = (
            plan is not None and plan.planned and plan.key == autonomy_instruction_plan_key(agent)
        )
        if stored is None or plan is None or not current or plan.place == place:
            return False
        change = _ScheduleChange.of(runtime, agent, plan)
        after = change.apply().replaced(place=place)
        try:
            runtime.home.facts.commit(stored.with_body(after), *change.writes)
        except Changed:
            continue
        return True
    raise Changed(_CHANGED)


def schedule_place(runtime: Runtime, agent: Agent) -> str:
    """Return what the schedules of a plan depend on beside it: the time zone and the channel."""
    channel = agent.heartbeat.channel
    told = "" if channel is None else channel.model_dump_json()
    return stable_id(agent_time_zone(agent.heartbeat, runtime.rules.time_zone), told)


@dataclass
class _ScheduleChange:
    """The schedules of a plan while they are made and moved; `writes` are the documents to write.

    An owner's schedule is never touched, and one that the owner has changed or deleted is theirs.
    """

    runtime: Runtime
    agent: Agent
    plan: InstructionPlan
    stored: dict[str, Document]
    writes: list[Document]

    @classmethod
    def of(cls, runtime: Runtime, agent: Agent, plan: InstructionPlan) -> "_ScheduleChange":
        found = runtime.home.facts.page(agent.id, SCHEDULE, limit=2 * SCHEDULES)
        return cls(runtime, agent, plan, {fact.id: fact for fact in found}, [])

    def apply(self) -> InstructionPlan:
        """Return the plan with its schedules, whose documents are then in `writes`."""
        goals, made = list[PlannedGoal](), 0
        for goal in self.plan.goals:
            if goal.schedule_id is not None:
                goals.append(self._moved(goal))
            elif goal.times and goal.flaw in {None, PlanFlaw.NO_CONDITION}:
                goals.append(self._scheduled(goal))
                made += goals[-1].schedule_id is not None
            else:
                goals.append(goal)
        if made:
            counted = read_schedule_count(self.runtime.home.facts, self.agent.id)
            self.writes.append(schedule_count_after(self.agent.id, counted, made))
        return self.plan.replaced(goals=tuple(goals))

    def _scheduled(self, goal: PlannedGoal) -> PlannedGoal:
        """Return a goal with its new schedule, or with the reason why it gets none."""
        zone = agent_time_zone(self.agent.heartbeat, self.runtime.rules.time_zone)
        known = [fact.read(Schedule) for fact in self.stored.values()]
        theirs = (each for each in known if not is_instructed_schedule(each))
        if any(is_schedule_alike(each, goal, zone) for each in theirs):
            return goal.replaced(flaw=PlanFlaw.OWNER_HAS_IT)
        if len(known) >= SCHEDULES:
            return goal.replaced(flaw=PlanFlaw.NO_ROOM, times="")
        draft = ScheduleDraft(
            name=one_line(goal.name, 100),
            when=goal.times,
            zone=zone,
            instructions=autonomy_planned_goal_text(goal, self.agent.language),
            channel=self.agent.heartbeat.channel,
        )
        schedule_id = instruction_schedule_id(self.plan.key, goal)
        made = new_schedule(schedule_id, self.agent.id, draft, self.runtime.clock.now())
        if schedule_id not in self.stored:
            self.stored[schedule_id] = schedule_document(made)
            self.writes.append(self.stored[schedule_id])
        return goal.replaced(schedule_id=schedule_id)

    def _moved(self, goal: PlannedGoal) -> PlannedGoal:
        """Return a goal whose schedule is in the agent's zone; one without it is done."""
        fact = self.stored.get(goal.schedule_id or "")
        if fact is None:
            return goal.replaced(done=True)
        schedule, now = fact.read(Schedule), self.runtime.clock.now()
        zone = agent_time_zone(self.agent.heartbeat, self.runtime.rules.time_zone)
        moved = schedule.replaced(zone=zone, channel=self.agent.heartbeat.channel)
        if not is_instructed_schedule(schedule) or moved == schedule:
            return goal
        if schedule.enabled and zone != schedule.zone:
            moved = moved.replaced(next_at=next_schedule_time(moved.when, zone, now))
        self.writes.append(schedule_document(moved.replaced(updated_at=now), fact))
        return goal


def _begin_plan(runtime: Runtime, agent: Agent, key: str, now: datetime) -> None:
    """Ask for a plan, store that it was asked for, and remove the schedules of the one before.

    A request whose plan is not stored yet waits for it: a crash between both loses nothing.
    """
    facts = runtime.home.facts
    plan = InstructionPlan(key=key, asked_at=now, begun_at=now)
    if not _is_frozen(runtime.home, agent.id):
        _request_plan(runtime.home, agent.id, plan)
    stored = _plan_document(facts, agent.id)
    if stored is None:
        facts.commit(new_fact(agent.id, INSTRUCTION_PLAN, INSTRUCTION_PLAN, plan))
    else:
        gone = _schedules_to_remove(facts, agent.id, stored.read(InstructionPlan))
        facts.commit(stored.with_body(plan), *gone)


def _schedules_to_remove(
    facts: Documents, agent_id: str, plan: InstructionPlan
) -> tuple[Document, ...]:
    """Return the writes that remove a plan's schedules, except those that the owner changed."""
    names = [(SCHEDULE, goal.schedule_id) for goal in plan.goals if goal.schedule_id]
    found = facts.get_many(agent_id, *names) if names else ()
    return tuple(fact.removed() for fact in found if is_instructed_schedule(fact.read(Schedule)))


def _request_plan(home: Home, agent_id: str, plan: InstructionPlan) -> None:
    """Queue the request for a plan; one that is lost is repeated by a later review."""
    told = {"v": 1, "agent": agent_id, "instructions": plan.key}
    wish = stable_id("instructions", agent_id, plan.key, str(plan.failures))
    home.compactions.send(
        json.dumps(told, separators=(",", ":")),
        group=wish,
        deduplication=f"{wish}-{int(plan.asked_at.timestamp())}",
    )


def _is_frozen(home: Home, agent_id: str) -> bool:
    return home.switches.is_frozen(INSTALLATION) or home.switches.is_frozen(agent_id)


def _plan_document(facts: Documents, agent_id: str) -> Document | None:
    return facts.get(agent_id, INSTRUCTION_PLAN, INSTRUCTION_PLAN)
