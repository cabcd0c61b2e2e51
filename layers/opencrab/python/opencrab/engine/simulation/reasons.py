"""Reasons of turns in a simulation: by what happened around an agent, not by what it decided."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule, next_schedule_time
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal, goal_id_of_label
from opencrab.domain.turn.turn import UNASKED, Trigger
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Value
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages
from opencrab.ports.turn.journal import Journal

_LATELY = 60
_LATE = timedelta(minutes=2)
"""How late a schedule's turn may be: the sweep that starts it passes every minute."""


class SimulatedTurn(Value):
    """A turn that called a model: its start, its trigger, and the goal or task it served.

    `heard` says whether somebody else had spoken in its session before; None for a session in
    which nobody else can.
    """

    id: str
    at: datetime
    trigger: Trigger
    task: str | None = None
    heard: bool | None = None


def simulated_turns_without_reason(
    turns: Iterable[SimulatedTurn],
    told: Iterable[datetime],
    goals: Mapping[str, Goal],
    schedules: Iterable[Schedule] = (),
) -> set[str]:
    """Return the ids of turns that nothing around the agent explains.

    A turn for a goal needs that goal to be open at the time, one among others that somebody else
    spoke before, one of a schedule its time. An agent's instructions are planned once. A turn that
    no message started needs an event of the agent that no earlier such turn consumed; it consumes
    all earlier events, or else those at the very same time.
    """
    found, unseen, listed, planned = set[str](), sorted(told), list(schedules), False
    for turn in sorted(turns, key=lambda each: each.at):
        if turn.task is not None:
            holds = _was_open(goals.get(goal_id_of_label(turn.task)), turn.at)
        elif turn.heard is not None:
            holds = turn.heard
        elif turn.trigger is Trigger.SCHEDULE and listed:
            holds = any(_was_due(each, turn.at) for each in listed)
        elif turn.trigger is Trigger.COMPACTION:
            holds, planned = not planned, True
        elif turn.trigger in UNASKED:
            until = [at for at in unseen if at < turn.at] or [at for at in unseen if at == turn.at]
            unseen, holds = unseen[len(until) :], bool(until)
        else:
            holds = True
        if not holds:
            found.add(turn.id)
    return found


def simulated_turn(journal: Journal, row: UsageRow) -> SimulatedTurn:
    """Return the turn of a ledger row; if its header has expired, only what the row says."""
    try:
        turn = journal.header(row.turn_id)
    except NotFound:
        return SimulatedTurn(id=row.turn_id, at=row.at, trigger=row.trigger)
    return SimulatedTurn(
        id=turn.id,
        at=turn.created_at,
        trigger=turn.trigger,
        task=turn.task,
        heard=_has_heard_others(journal, turn.session_id, turn.agent_id, turn.trigger_line),
    )


def schedules_in_simulation(home: Home, agent_id: str) -> list[Schedule]:
    """Return an agent's schedules."""
    return [fact.read(Schedule) for fact in all_pages(home.facts, agent_id, SCHEDULE)]


def _has_heard_others(journal: Journal, session_id: str, agent_id: str, line: int) -> bool | None:
    """Check whether another one spoke up to a line; None if all lines are the agent's own."""
    lines = journal.lines(session_id, after=max(line - _LATELY, 0), limit=_LATELY)
    nobody = {agent_id, OPENCRAB.id}
    before = [each for each in lines if each.sequence <= line and each.kind is LineKind.SPEECH]
    if any(each.speaker_id not in nobody for each in before):
        return True
    return False if any(each.speaker_id not in nobody for each in lines) else None


def _was_open(goal: Goal | None, at: datetime) -> bool:
    if goal is None or at < goal.created_at:
        return False
    return goal.ended_at is None or at <= goal.ended_at


def _was_due(schedule: Schedule, at: datetime) -> bool:
    return next_schedule_time(schedule.when, schedule.zone, at - _LATE) <= at
