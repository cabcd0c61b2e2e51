"""Closing: what the end of a turn means for the goal that it served."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from opencrab.domain.document import Fact
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import (
    RECEIPTS,
    Goal,
    GoalStatus,
    Pause,
    Receipt,
    Task,
    TaskStatus,
    goal_message,
    goal_of,
    task_message,
)
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.record import called
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.goals import self_goals
from opencrab.engine.goals.conditions import cleared
from opencrab.engine.goals.queue import Board, line_up, released
from opencrab.engine.phrases import phrase
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import Work
from opencrab.ports.turn.action import one_line

_GOOD = {TurnStatus.COMPLETED, TurnStatus.IDLE}
_RESULT = 1_500
_REPORT = 8_000
_WHY = 300


@dataclass(frozen=True)
class Consequence:
    """Facts and due items to be written with a turn's end, and what is told about it.

    They are few, however much the turn did: all that is told is one text, and of the goals that it
    began only the one is written that begins now. What is `asked` the owner is to hear.
    """

    facts: tuple[Fact, ...] = ()
    due: tuple[DueItem, ...] = ()
    told: str = ""
    asked: str = ""


@dataclass(frozen=True)
class _End:
    """How a turn ended, and the last thing that it said."""

    status: TurnStatus
    speech: str


def consequence(work: Work, header: Turn, status: TurnStatus, speech: str) -> Consequence:
    """What follows from a turn's end for its goal, and for goals that it began; read anew.

    `header` is the turn with its last call settled.
    """
    begun = _begun(work) if status in _GOOD else []
    if work.turn.task is None and not begun:
        return Consequence()
    facts, now = work.runtime.home.facts, work.runtime.clock.now()
    board = Board.of(facts, work.profile, now)
    told: list[str] = []
    if work.turn.task is not None:
        goal = board.goal(goal_of(work.turn.task))
        if goal is not None and goal.turn_id == work.turn.id:
            goal = goal.replaced(spent_micro_usd=goal.spent_micro_usd + header.spent)
            _advance(work, board, goal, _End(status, speech or _spoken(work)), told)
    _line_up(work, board, begun, told)
    asked = "\n".join(_asked(work, board))
    return Consequence(board.facts, tuple(board.due), "\n".join(told), asked)


def _asked(work: Work, board: Board) -> list[str]:
    """What the agent needs its owner for, where its own goal waits now."""
    if work.turn.task is None:
        return []
    goal = board.goal(goal_of(work.turn.task))
    return [] if goal is None else self_goals.asks_aloud(goal, board)


def _line_up(work: Work, board: Board, begun: list[str], told: list[str]) -> None:
    """Begin with the first of these goals where none is carried out; the others wait in line."""
    if len(begun) > 1:
        board.open_goals()
    for goal_id in begun:
        goal = board.goal(goal_id)
        if goal is None or goal.status.is_end or goal.pause is not None or goal.runs > 0:
            continue
        if board.agenda().current is None:
            goal = _prepared(work.runtime, board, told, goal, _failed(work, goal))
            board.put_goal(goal)
        line_up(board, goal, hops=work.turn.hops + 1)


def abandoned(runtime: Runtime, turn: Turn, why: str) -> Consequence:
    """What follows for its goal when a turn ends whose world cannot be read any more."""
    if turn.task is None:
        return Consequence()
    try:
        profile = runtime.home.agents.get(turn.agent_id)
    except NotFound:
        return Consequence()
    board = Board.of(runtime.home.facts, profile, runtime.clock.now())
    goal = board.goal(goal_of(turn.task))
    if goal is None or goal.turn_id != turn.id:
        return Consequence()
    if not goal.status.is_end:
        pause = goal.pause or Pause(reason=why[:1_000], by="opencrab", at=board.now)
        goal = goal.replaced(pause=pause.replaced(turn_waits=False))
        board.put_goal(goal)
    told: list[str] = []
    released(board, goal, partial(_prepared, runtime, board, told))
    return Consequence(board.facts, tuple(board.due))


def _spoken(work: Work) -> str:
    """The last thing that the turn said with an action."""
    spoken = [effect.text for effect in work.transcript.effects if effect.kind == "spoke"]
    return spoken[-1] if spoken else ""


def _begun(work: Work) -> list[str]:
    """Goals that this turn took up; its own goes on anyway."""
    own = None if work.turn.task is None else goal_of(work.turn.task)
    names = [
        effect.goal
        for effect in work.transcript.effects
        if effect.kind == "goal_begun" and effect.goal != own
    ]
    return list(dict.fromkeys(names))


def _advance(work: Work, board: Board, goal: Goal, end: _End, told: list[str]) -> None:
    """Move a goal on by one turn: to its next task, to its report, to its end, or to a pause."""
    if not goal.status.is_end:
        if end.status in _GOOD:
            goal = _settled(work, board, goal, end, told)
        elif (kept := self_goals.after_trouble(work, goal, end.status)) is not None:
            goal = kept
        else:
            _interrupted(work, board, goal, end.status, told)
            return
    if not goal.status.is_end and goal.pause is None:
        goal = _prepared(work.runtime, board, told, goal, _failed(work, goal))
    if goal.status.is_end:
        goal = self_goals.learned(board, goal)
    elif goal.pause is not None:
        goal = goal.replaced(pause=goal.pause.replaced(turn_waits=False))
        told.extend(self_goals.asks(goal))
    board.put_goal(goal)
    if goal.status.is_end or goal.pause is not None or self_goals.is_resting(goal):
        released(board, goal, partial(_prepared, work.runtime, board, told))
    else:
        # One that was resumed beside another goes on when that one has ended.
        line_up(board, goal, hops=work.turn.hops + 1)


def _prepared(
    runtime: Runtime, board: Board, told: list[str], goal: Goal, failed: Sequence[Task] = ()
) -> Goal:
    """The goal whose next turn may begin; one of its own that cannot go on is planned anew.

    `failed` are tasks that this turn has failed.
    """
    own, stuck = self_goals.is_own(goal), [*failed]
    if not (own and stuck):
        goal, blocked = cleared(runtime.home.files, board, goal, first=own)
        told.extend(map(task_message, blocked))
        stuck += blocked
    return self_goals.repaired(goal, stuck, board)


def _failed(work: Work, goal: Goal) -> list[Task]:
    """Tasks of a goal that this turn has failed."""
    mine = (task for task in goal.tasks if task.turn_id == work.turn.id)
    return [task for task in mine if task.status is TaskStatus.FAIL]


def _interrupted(work: Work, board: Board, goal: Goal, status: TurnStatus, told: list[str]) -> None:
    """A turn that did not end well is never repeated without somebody's explicit yes."""
    now = work.runtime.clock.now()
    decided = work.transcript.decision
    rejected = status is TurnStatus.STOPPED and decided is not None and not decided.approved
    key = "goal_rejected" if rejected else f"goal_{status.value}"
    reason = phrase(key, work.profile.agent.language)
    pause = goal.pause or Pause(reason=reason, by="opencrab", at=now)
    task = goal.current
    if task is not None:
        goal = goal.with_task(task.replaced(receipts=_together(task.receipts, work)))
    else:
        goal = goal.replaced(receipts=_together(goal.receipts, work))
    goal = goal.replaced(
        pause=pause.replaced(turn_waits=False), taint=goal.taint or work.turn.taint
    )
    told.extend(self_goals.asks(goal))
    board.put_goal(goal)
    released(board, goal, partial(_prepared, work.runtime, board, told))


def _settled(work: Work, board: Board, goal: Goal, end: _End, told: list[str]) -> Goal:
    """The goal after a turn that ended well but perhaps did not say what became of its task."""
    goal = goal.replaced(taint=goal.taint or work.turn.taint)
    task = goal.current
    if task is not None:
        silent = end.status is TurnStatus.IDLE
        if self_goals.goes_on(work, goal, silent=silent):
            return goal.with_task(task.replaced(receipts=_together(task.receipts, work)))
        ended = self_goals.overdue(work, goal, silent=silent) or _ended(work, task, end)
        told.append(task_message(ended))
        return goal.with_task(ended)
    if goal.stuck and work.turn.task == goal.id:
        return self_goals.unrepaired(goal, board)
    return _reported(work, goal, end, told)


def _reported(work: Work, goal: Goal, end: _End, told: list[str]) -> Goal:
    """The goal after a turn that served none of its tasks: what it said last is the report."""
    now, language = work.runtime.clock.now(), work.profile.agent.language
    reporting = work.turn.task == goal.id and (
        not goal.tasks or all(task.status.is_end for task in goal.tasks)
    )
    planned_now = bool(goal.tasks) and not any(task.status.is_end for task in goal.tasks)
    if not reporting or planned_now:
        return goal
    receipts = _together(goal.receipts, work)
    if self_goals.gives_up(work, goal, end.status):
        return goal.replaced(status=GoalStatus.ABANDONED, receipts=receipts, ended_at=now)
    if end.status is TurnStatus.IDLE and not goal.tasks:
        reason = phrase("goal_idle", language)
        return goal.replaced(pause=Pause(reason=reason, by="opencrab", at=now), receipts=receipts)
    if (why := _refused_plan(work)) is not None and not (goal.tasks or receipts):
        reason = phrase("goal_unplanned", language, why=one_line(why, _WHY))
        return goal.replaced(pause=Pause(reason=reason, by="opencrab", at=now))
    goal = goal.replaced(
        status=GoalStatus.COMPLETED, report=end.speech[:_REPORT], receipts=receipts, ended_at=now
    )
    done = bool(receipts) or any(task.confirmed for task in goal.tasks)
    if not done:
        goal = goal.replaced(unconfirmed=(phrase("nothing_done", language),))
    told.append(_unconfirmed(goal, language))
    return goal


def _refused_plan(work: Work) -> str | None:
    """Why the last plan of this turn was refused; None where there was none, or it was taken."""
    ended = work.transcript.ended_calls
    answers = [result for call, result in ended if called(call) == "plan_goal"]
    return None if not answers or answers[-1].success else answers[-1].error or ""


def _ended(work: Work, task: Task, end: _End) -> Task:
    receipts = _together(task.receipts, work)
    ended = task.replaced(receipts=receipts, ended_at=work.runtime.clock.now())
    if end.status is TurnStatus.IDLE:
        cause = phrase("task_silent", work.profile.agent.language)
        return ended.replaced(status=TaskStatus.FAIL, cause=cause)
    return ended.replaced(status=TaskStatus.DONE, result=end.speech[:_RESULT])


def _together(earlier: tuple[Receipt, ...], work: Work) -> tuple[Receipt, ...]:
    return tuple(dict.fromkeys((*earlier, *work.receipts)))[:RECEIPTS]


def _unconfirmed(goal: Goal, language: Language) -> str:
    told = goal_message(goal)
    if goal.unconfirmed:
        told += "\n" + phrase("unconfirmed", language, what=", ".join(goal.unconfirmed))
    return told
