"""The effects of a turn on its goal: when the turn begins, pauses, ends or is abandoned."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from opencrab.domain.access.authority import Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Message
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.goals.goal import (
    GOAL,
    RECEIPTS,
    ActionReceipt,
    Goal,
    GoalStatus,
    Pause,
    Task,
    TaskStatus,
    goal_id_of_label,
    goal_message,
    goal_task_message,
)
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.goals import self_goals
from opencrab.engine.goals.conditions import check_task_preconditions
from opencrab.engine.goals.panel_notice import queue_goal_progress_panel
from opencrab.engine.goals.pausing import (
    AFTER_OWNER,
    align_turn_with_goal,
    goal_after_interruption,
    interrupt_goals_for_owner,
    pause_goal,
    require_goal_document,
)
from opencrab.engine.goals.queue import GoalBoard, dequeue_goal_and_begin_next, queue_goal
from opencrab.engine.goals.social.answers import goal_waiting_for_peers, is_goal_unanswered
from opencrab.engine.goals.turn_evidence import (
    goals_started_by_turn,
    last_speech_of_goal_turn,
    record_given_goal,
    why_goal_plan_was_refused,
)
from opencrab.engine.phrases import phrase_for_fault, system_phrase
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.observe import may_turn_channel_hear_everything
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.turn.action import one_line
from opencrab.ports.workspace.files import Files

_GOOD = {TurnStatus.COMPLETED, TurnStatus.IDLE}
_RESULT = 1_500
_REPORT = 8_000
_WHY = 300


@dataclass(frozen=True)
class _End:
    """The end of a turn: its status and its last speech."""

    status: TurnStatus
    speech: str


class GoalConsequence(Consequence):
    """Advances a goal when its turn ended well, and pauses it when the turn was interrupted."""

    def on_message(
        self, runtime: Runtime, session: Session, message: Message, profiles: Iterable[Profile]
    ) -> None:
        """Pause this session's goal for an owner's message; elsewhere goals give way to it."""
        if session.goal is None:
            interrupt_goals_for_owner(runtime, session, profiles)
            return
        for agent in (profile.agent for profile in profiles):
            why = system_phrase("interrupted", agent.language, text=message.text[:200])
            with suppress(Conflict, NotFound):
                pause_goal(runtime, agent.id, session.goal, by=message.principal_id, reason=why)

    def on_begin(self, work: TurnWork) -> None:
        """Stop or pause a turn whose goal was cancelled or paused before the turn began."""
        goal = work.served
        if goal is None or work.turn.stop is not None:
            return
        waits = goal.pause is not None and goal.pause.turn_waits
        if waits or goal.status is GoalStatus.ABANDONED:
            stored = align_turn_with_goal(work.runtime, goal, work.turn.id)
            work.turn = work.turn.replaced(stop=stored.stop)

    def try_resume(self, work: TurnWork) -> bool:
        """Resume a turn that was asked to pause if its goal was resumed; True if it goes on."""
        if work.turn.task is None:
            return False
        goal = require_goal_document(
            work.runtime.home.facts, work.turn.agent_id, work.turn.task
        ).read(Goal)
        if goal.pause is not None:
            return False
        stored = align_turn_with_goal(work.runtime, goal, work.turn.id)
        work.turn = work.turn.replaced(stop=stored.stop)
        return work.turn.stop is None or not work.turn.stop.pause

    def on_save(self, work: TurnWork, turn: Turn, facts: Sequence[Document]) -> None:
        """Update the progress panel in the channel of an instruction."""
        if turn.task is None or turn.channel is None or _is_by_itself(work, turn):
            return
        if turn.status is not TurnStatus.RUNNING or any(fact.kind == GOAL for fact in facts):
            key = f"{turn.id}-{turn.sequence}-{turn.status.value}"
            queue_goal_progress_panel(
                work.runtime.home.deliveries, turn.channel, turn.agent_id, turn.task, key=key
            )

    def may_write_on_close(self, work: TurnWork) -> bool:
        return work.turn.task is not None

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        return _following(work, ending)

    def on_abandon(self, runtime: Runtime, turn: Turn, why: str) -> FollowUp:
        return _release_abandoned_goal(runtime.home, runtime.clock, turn, why)


def _is_by_itself(work: TurnWork, turn: Turn) -> bool:
    """Check whether the turn serves a goal that was not given in a channel."""
    own = turn.source is Source.HEARTBEAT
    return own and (work.served is None or work.served.channel is None)


def _following(work: TurnWork, ending: TurnEnding) -> FollowUp:
    """Return the writes that follow from a turn's end for its goal and goals that it started.

    Documents and due items stay few, however much the turn did: all messages are one text, and of
    the started goals only the one that begins now is written.
    """
    status, speech = ending.status, ending.speech
    begun = goals_started_by_turn(work) if status in _GOOD else []
    if work.turn.task is None and not begun:
        return FollowUp()
    facts, now = work.runtime.home.facts, work.runtime.clock.now()
    board = GoalBoard.of(facts, work.profile, now)
    told: list[str] = []
    if work.turn.task is not None:
        goal = board.goal(goal_id_of_label(work.turn.task))
        if goal is not None and goal.turn_id == work.turn.id:
            goal = goal.replaced(spent_micro_usd=goal.spent_micro_usd + ending.turn.spent)
            _advance(
                work, board, goal, _End(status, speech or last_speech_of_goal_turn(work)), told
            )
    _line_up(work, board, begun, told)
    asked = "\n".join(_owner_requests(work, board))
    return FollowUp(board.facts, tuple(board.due), "\n".join(told), asked)


def _owner_requests(work: TurnWork, board: GoalBoard) -> list[str]:
    """Return the agent's requests to its owner, if its own goal waits now."""
    if work.turn.task is None:
        return []
    goal = board.goal(goal_id_of_label(work.turn.task))
    if goal is None:
        return []
    return self_goals.goal_pause_message_to_owner(goal, board, partial(_may_tell_channel, work))


def _may_tell_channel(work: TurnWork) -> bool:
    """Check whether the channel of the heartbeat, where the owner is asked, may hear the reason."""
    agent = work.profile.agent
    channel = agent.heartbeat.channel
    return channel is None or may_turn_channel_hear_everything(
        work.runtime, work.turn, agent, channel
    )


def _line_up(work: TurnWork, board: GoalBoard, begun: list[str], told: list[str]) -> None:
    """Begin the first of these goals if none is active; queue the others."""
    if len(begun) > 1:
        board.open_goals()
    for goal_id in begun:
        goal = board.goal(goal_id)
        if goal is None or goal.status.is_end or goal.pause is not None or goal.runs > 0:
            continue
        if board.agenda().current is None:
            goal = _prepare_next_turn(
                work.runtime.home.files, board, told, goal, _failed_tasks(work, goal)
            )
            board.put_goal(goal)
        queue_goal(board, goal, hops=work.turn.hops + 1)


def _release_abandoned_goal(home: Home, clock: Clock, turn: Turn, why: str) -> FollowUp:
    """Return the writes that pause the goal of a turn whose data could not be read."""
    if turn.task is None:
        return FollowUp()
    try:
        profile = home.agents.get(turn.agent_id)
    except NotFound:
        return FollowUp()
    board = GoalBoard.of(home.facts, profile, clock.now())
    goal = board.goal(goal_id_of_label(turn.task))
    if goal is None or goal.turn_id != turn.id:
        return FollowUp()
    if not goal.status.is_end:
        reason = phrase_for_fault(why[:1_000], profile.agent.language)
        waiting = goal.pause or Pause(reason=reason, by="opencrab", at=board.now)
        goal = goal.replaced(
            pause=waiting.replaced(turn_waits=False), taint=goal.taint or turn.taint
        )
        board.put_goal(goal)
    told: list[str] = []
    dequeue_goal_and_begin_next(board, goal, partial(_prepare_next_turn, home.files, board, told))
    return FollowUp(board.facts, tuple(board.due))


def _advance(work: TurnWork, board: GoalBoard, goal: Goal, end: _End, told: list[str]) -> None:
    """Advance a goal by one turn: to its next task, its report, its end, or a pause."""
    if goal.status.is_end:
        # It was cancelled while its turn went on reading.
        goal = goal.replaced(taint=goal.taint or work.turn.taint)
    elif end.status in _GOOD:
        goal = _advance_after_success(work, board, goal, end, told)
    elif (kept := _goal_that_goes_on(work, goal, end.status)) is not None:
        goal = kept
    else:
        _pause_interrupted_goal(work, board, goal, end.status, told)
        return
    failed = _failed_tasks(work, goal)
    self_goals.record_failed_tasks(board, goal, failed)
    if not goal.status.is_end and goal.pause is None:
        goal = _prepare_next_turn(work.runtime.home.files, board, told, goal, failed)
    if goal.status.is_end:
        goal = self_goals.record_goal_outcome(board, goal)
    elif goal.pause is not None:
        goal = goal.replaced(pause=goal.pause.replaced(turn_waits=False))
        told.extend(self_goals.goal_pause_reason_for_owner(goal))
    record_given_goal(work, board, goal, failed, end.status)
    board.put_goal(goal)
    if goal.status.is_end or goal.pause is not None or self_goals.is_goal_resting(goal):
        dequeue_goal_and_begin_next(
            board, goal, partial(_prepare_next_turn, work.runtime.home.files, board, told)
        )
    else:
        # One that was resumed beside another goes on when that one has ended.
        wait = AFTER_OWNER if end.status is TurnStatus.STOPPED else timedelta(0)
        queue_goal(board, goal, hops=work.turn.hops + 1, wait=wait)


def _goal_that_goes_on(work: TurnWork, goal: Goal, status: TurnStatus) -> Goal | None:
    """Return the goal after a turn that did not end well, unless a person must resume it."""
    stop = work.turn.stop
    if status is TurnStatus.STOPPED and stop is not None and stop.is_takeover and not goal.pause:
        kept = goal.replaced(taint=goal.taint or work.turn.taint)
        return _keep_receipts(work, goal_after_interruption(kept))
    return self_goals.goal_after_failed_turn(work, goal, status)


def _keep_receipts(work: TurnWork, goal: Goal) -> Goal:
    """Return a goal with what its turn has done so far."""
    task = goal.current
    if task is None:
        return goal.replaced(receipts=_together(goal.receipts, work))
    return goal.with_task(task.replaced(receipts=_together(task.receipts, work)))


def _prepare_next_turn(
    files: Files, board: GoalBoard, told: list[str], goal: Goal, failed: Sequence[Task] = ()
) -> Goal:
    """Check the next task's preconditions; mark a stuck self-set goal to be replanned.

    `failed` are tasks that this turn has failed.
    """
    own, stuck = self_goals.is_self_set_goal(goal), [*failed]
    if not (own and stuck):
        goal, blocked = check_task_preconditions(files, board, goal, first=own)
        told.extend(map(goal_task_message, blocked))
        stuck += blocked
    return self_goals.goal_after_failed_tasks(goal, stuck, board)


def _failed_tasks(work: TurnWork, goal: Goal) -> list[Task]:
    """Return the tasks of a goal that this turn has failed."""
    mine = (task for task in goal.tasks if task.turn_id == work.turn.id)
    return [task for task in mine if task.status is TaskStatus.FAIL]


def _pause_interrupted_goal(
    work: TurnWork, board: GoalBoard, goal: Goal, status: TurnStatus, told: list[str]
) -> None:
    """Pause a goal whose turn did not end well; only a person may resume it."""
    now = work.runtime.clock.now()
    decided = work.transcript.decision
    rejected = status is TurnStatus.STOPPED and decided is not None and not decided.approved
    key = "goal_rejected" if rejected else f"goal_{status.value}"
    reason = system_phrase(key, work.profile.agent.language)
    waiting = goal.pause or Pause(reason=reason, by="opencrab", at=now)
    goal = _keep_receipts(work, goal).replaced(
        pause=waiting.replaced(turn_waits=False), taint=goal.taint or work.turn.taint
    )
    told.extend(self_goals.goal_pause_reason_for_owner(goal))
    board.put_goal(goal)
    dequeue_goal_and_begin_next(
        board, goal, partial(_prepare_next_turn, work.runtime.home.files, board, told)
    )


def _advance_after_success(
    work: TurnWork, board: GoalBoard, goal: Goal, end: _End, told: list[str]
) -> Goal:
    """Return the goal after a turn that ended well, perhaps without finishing its task."""
    goal = goal.replaced(taint=goal.taint or work.turn.taint)
    task = goal.current
    if task is not None:
        silent = end.status is TurnStatus.IDLE
        if self_goals.task_continues_next_turn(work, goal, silent=silent):
            return goal.with_task(task.replaced(receipts=_together(task.receipts, work)))
        ended = self_goals.fail_overdue_task(work, goal, silent=silent) or _finish_task(
            work, task, end
        )
        told.append(goal_task_message(ended))
        return goal.with_task(ended)
    if goal.stuck and work.turn.task == goal.id:
        return self_goals.goal_after_failed_replan(goal, board)
    if (waits := goal_waiting_for_peers(work, board, goal)) is not None:
        return waits.replaced(receipts=_together(goal.receipts, work))
    done = _complete_with_report(work, goal, end, told)
    heard = work.turn.channel is not None and bool(end.speech)
    if done.status is GoalStatus.COMPLETED and is_goal_unanswered(board, done, heard=heard):
        told.clear()
        return done.replaced(status=GoalStatus.ABANDONED)
    return done


def _complete_with_report(work: TurnWork, goal: Goal, end: _End, told: list[str]) -> Goal:
    """Complete a goal after its last turn, with the turn's last speech as the report."""
    now, language = work.runtime.clock.now(), work.profile.agent.language
    reporting = work.turn.task == goal.id and (
        not goal.tasks or all(task.status.is_end for task in goal.tasks)
    )
    planned_now = bool(goal.tasks) and not any(task.status.is_end for task in goal.tasks)
    if not reporting or planned_now:
        return goal
    receipts = _together(goal.receipts, work)
    if self_goals.does_turn_give_up_own_goal(work, goal, end.status):
        return goal.replaced(status=GoalStatus.ABANDONED, receipts=receipts, ended_at=now)
    silent = end.status is TurnStatus.IDLE and not self_goals.is_goal_met(goal, work)
    if silent and not goal.tasks:
        reason = system_phrase("goal_idle", language)
        return goal.replaced(pause=Pause(reason=reason, by="opencrab", at=now), receipts=receipts)
    if (why := why_goal_plan_was_refused(work)) is not None and not (goal.tasks or receipts):
        reason = system_phrase("goal_unplanned", language, why=_plan_fault(why, language))
        return goal.replaced(pause=Pause(reason=reason, by="opencrab", at=now))
    idle = self_goals.does_turn_end_own_goal_idle(work, goal, end.status, spoke=bool(end.speech))
    goal = goal.replaced(
        status=GoalStatus.ABANDONED if idle else GoalStatus.COMPLETED,
        report=end.speech[:_REPORT],
        receipts=receipts,
        ended_at=now,
    )
    if not goal.has_deeds:
        goal = goal.replaced(unconfirmed=(system_phrase("nothing_done", language),))
    if not idle:
        told.append(_completion_message(goal, language))
    return goal


def _plan_fault(why: str, language: Language) -> str:
    return phrase_for_fault(one_line(why, _WHY), language, kind="plan")


def _finish_task(work: TurnWork, task: Task, end: _End) -> Task:
    receipts = _together(task.receipts, work)
    ended = task.replaced(receipts=receipts, ended_at=work.runtime.clock.now())
    if end.status is TurnStatus.IDLE:
        cause = system_phrase("task_silent", work.profile.agent.language)
        return ended.replaced(status=TaskStatus.FAIL, cause=cause)
    return ended.replaced(status=TaskStatus.DONE, result=end.speech[:_RESULT])


def _together(earlier: tuple[ActionReceipt, ...], work: TurnWork) -> tuple[ActionReceipt, ...]:
    return tuple(dict.fromkeys((*earlier, *receipts_of_turn(work))))[:RECEIPTS]


def _completion_message(goal: Goal, language: Language) -> str:
    told = goal_message(goal)
    if goal.unconfirmed:
        told += "\n" + system_phrase("unconfirmed", language, what=", ".join(goal.unconfirmed))
    return told
