"""Progress of a goal, as the one value from which every view is drawn.

It is made from the goal and its current turn alone: it costs the same however many turns went
before.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal, Task, TaskStatus
from opencrab.domain.turn.account import CallAccount, TurnAccount
from opencrab.domain.turn.record import (
    ActionCall,
    CallResult,
    CallState,
    ModelAnswer,
    action_name_of_turn_call,
    arguments_of_turn_call,
)
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language, Value
from opencrab.engine.approvals.approvals import approval_id
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.call import describe_call
from opencrab.ports.home import Home
from opencrab.ports.turn.action import one_line
from opencrab.ports.turn.journal import Journal, resolve_record_pointers

_ARGUMENTS = 400
_RESULT = 800
_THINKING = 1_000
_NAME = 60
_THINKS = {
    Language.JA: "次にすることを考えています",
    Language.EN: "Thinking about what to do next",
}


class Standing(StrEnum):
    """Status of a goal with its turn; `waiting` is for an approval.

    `answered` is completed with words only: the journal has no action that was done for it.
    """

    PENDING = "pending"
    ACTIVE = "active"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    ANSWERED = "answered"
    ABANDONED = "abandoned"

    @property
    def is_end(self) -> bool:
        """True if no more work will be done for the goal."""
        return self in {Standing.COMPLETED, Standing.ANSWERED, Standing.ABANDONED}


class ActionStatus(StrEnum):
    """Outcome of one action."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


class ActionProgress(Value):
    """One action of the turn, as a sentence for people.

    Owners also get arguments and result, each on a line; for others the sentence leaves the
    arguments out. `seconds` is known if both start and end were recorded.
    """

    id: str
    action: str
    sentence: str
    mark: ActionStatus
    seconds: float | None = None
    arguments: str | None = None
    result: str | None = None
    reason: str | None = None


class PendingApproval(Value):
    """A call that waits for approval: what it does and what it touches."""

    approval_id: str
    what: str
    touches: str


class TaskProgress(Value):
    """One task; `confirmed` says that the journal has an action that was done for it."""

    id: str
    name: str
    status: TaskStatus
    cause: str
    result: str | None
    confirmed: bool


class GoalSummary(Value):
    """The progress of a goal in one line."""

    id: str
    agent_id: str
    name: str
    status: Standing
    pause_reason: str | None
    completion: int
    tasks_over: int
    tasks_total: int
    session_id: str
    turn_id: str | None
    created_at: datetime
    ended_at: datetime | None


class Progress(GoalSummary):
    """A goal's tasks, and what the turn that works on it does and has done.

    `step` counts the turn's model calls, `spent_micro_usd` is the turn's too. `current` is what
    happens now, be it an action or a thought; `thinking` is what the agent thought last. `over`
    says that nothing of all this will change any more.
    """

    instruction: str
    tasks: tuple[TaskProgress, ...]
    approval: PendingApproval | None = None
    step: int = 0
    max_steps: int
    actions: tuple[ActionProgress, ...] = ()
    current: ActionProgress | None = None
    thinking: str | None = None
    spent_micro_usd: int = 0
    report: str
    unconfirmed: tuple[str, ...]
    over: bool


def goal_summary(journal: Journal, goal: Goal) -> GoalSummary:
    """Return a goal's summary; for an open goal its turn's header is read."""
    may_wait = goal.turn_id is not None and not goal.status.is_end and goal.pause is None
    turn = _header(journal, goal.turn_id) if goal.turn_id and may_wait else None
    asks = turn is not None and turn.status is TurnStatus.WAITING
    return _summary(goal, asks=asks)


def goal_progress(runtime: Runtime, goal: Goal, *, private: bool) -> Progress:
    """Return a goal's progress; thoughts, arguments and results only if `private`."""
    account = _account(runtime.home, goal)
    asks = None if account is None else _pending_approval(account)
    whole = Progress(
        **dict(_summary(goal, asks=asks is not None)),
        instruction=goal.instruction,
        tasks=tuple(_task(task, private=private) for task in goal.tasks),
        approval=asks,
        max_steps=runtime.rules.max_steps,
        report=goal.report,
        unconfirmed=goal.unconfirmed,
        over=goal.status.is_end and (account is None or account.turn.status.is_end),
    )
    if account is None:
        return whole
    language = runtime.home.agents.get(goal.agent_id).agent.language
    deeds = tuple(_deeds(_Showing(runtime, language, private), account))
    return whole.replaced(
        step=max(0, account.turn.attempts - account.failed_calls),
        actions=deeds,
        current=_current(deeds, account, language),
        thinking=_thinking(account) if private else None,
        spent_micro_usd=account.turn.spent,
    )


def _summary(goal: Goal, *, asks: bool) -> GoalSummary:
    return GoalSummary(
        id=goal.id,
        agent_id=goal.agent_id,
        name=goal.name,
        status=_standing(goal, asks=asks),
        pause_reason=goal.pause.reason if goal.pause else None,
        completion=goal.completion_percent,
        tasks_over=sum(task.status.is_end for task in goal.tasks),
        tasks_total=len(goal.tasks),
        session_id=goal.session_id,
        turn_id=goal.turn_id,
        created_at=goal.created_at,
        ended_at=goal.ended_at,
    )


def _standing(goal: Goal, *, asks: bool) -> Standing:
    if goal.has_only_words:
        return Standing.ANSWERED
    if goal.status.is_end:
        return Standing(goal.status.value)
    if goal.pause is not None:
        return Standing.PAUSED
    return Standing.WAITING if asks else Standing(goal.status.value)


def _task(task: Task, *, private: bool) -> TaskProgress:
    return TaskProgress(
        id=task.id,
        name=task.name,
        status=task.status,
        cause=task.cause,
        result=task.result if private else None,
        confirmed=task.confirmed,
    )


def _header(journal: Journal, turn_id: str) -> Turn | None:
    """Return a turn's header; None before its admission and after its expiry."""
    try:
        return journal.header(turn_id)
    except NotFound:
        return None


def _account(home: Home, goal: Goal) -> TurnAccount | None:
    """Return the account of the goal's current turn from its journal, or None."""
    if goal.turn_id is None:
        return None
    try:
        recorded = home.journal.load(goal.turn_id)
    except NotFound:
        return None
    return TurnAccount.of(recorded.turn, resolve_record_pointers(recorded.records, home.blobs))


def _pending_approval(account: TurnAccount) -> PendingApproval | None:
    """Return the call that waits for a human's approval, or None."""
    pending, turn = account.pending, account.turn
    ends = turn.status.is_end or (turn.stop is not None and not turn.stop.pause)
    if ends or pending is None or pending.request is None or not pending.is_asked:
        return None
    request = pending.request
    return PendingApproval(
        approval_id=approval_id(turn, request.n), what=request.what, touches=request.touches
    )


def _thinking(account: TurnAccount) -> str | None:
    """Return the agent's last thoughts, and its words beside its last calls; or None."""
    for answer in reversed([step.answer for step in account.answered_steps if step.answer]):
        if said := _reason(answer):
            return said
    return None


def _reason(answer: ModelAnswer) -> str | None:
    """Return what the agent judged and meant to do in an answer; None if it did not say."""
    thought = answer.thought
    words = [thought.judgment, thought.intent] if thought else []
    if answer.calls:
        words.append(answer.text)
    said = "\n".join(dict.fromkeys(word.strip() for word in words if word.strip()))
    return (said if len(said) <= _THINKING else f"{said[: _THINKING - 1]}…") or None


@dataclass(frozen=True)
class _Showing:
    """The language of action descriptions, and whether private details are shown."""

    runtime: Runtime
    language: Language
    private: bool

    def describe_action(
        self, told: CallAccount, mark: ActionStatus, answer: ModelAnswer | None
    ) -> ActionProgress:
        """Describe an action in a sentence, with the reason that came with its call."""
        return ActionProgress(
            id=told.call.id,
            action=one_line(action_name_of_turn_call(told.call), _NAME),
            sentence=self._sentence(told.call),
            mark=mark,
            seconds=told.seconds,
            arguments=_arguments_excerpt(told.call) if self.private else None,
            result=_result_excerpt(told.result) if self.private else None,
            reason=_reason(answer) if self.private and answer is not None else None,
        )

    def _sentence(self, call: ActionCall) -> str:
        """Describe a call, without its arguments unless private details are shown."""
        action = self.runtime.actions.find(action_name_of_turn_call(call))
        if action is None:
            return one_line(action_name_of_turn_call(call), _NAME)
        arguments = (arguments_of_turn_call(call) or {}) if self.private else {}
        return describe_call(action, arguments, self.language)


def _deeds(showing: _Showing, account: TurnAccount) -> Iterator[ActionProgress]:
    """Yield every action that the turn's model called, in order."""
    pending, asks = account.pending, _pending_approval(account) is not None
    runs = account.turn.status is TurnStatus.RUNNING
    now = ActionStatus.WAITING if asks else ActionStatus.RUNNING if runs else ActionStatus.PENDING
    for step in account.answered_steps:
        for call in step.calls:
            mark = now if call is pending else ActionStatus.PENDING
            if call.result is not None:
                done = call.result.state is CallState.COMPLETED
                mark = ActionStatus.DONE if done else ActionStatus.FAILED
            yield showing.describe_action(call, mark, step.answer)


def _current(
    deeds: tuple[ActionProgress, ...], account: TurnAccount, language: Language
) -> ActionProgress | None:
    """Return what happens now: an action that runs or waits, or the model's thinking."""
    for deed in deeds:
        if deed.mark in {ActionStatus.RUNNING, ActionStatus.WAITING}:
            return deed
    if not account.is_thinking or account.turn.status is not TurnStatus.RUNNING:
        return None
    return ActionProgress(id="", action="", sentence=_THINKS[language], mark=ActionStatus.RUNNING)


def _arguments_excerpt(call: ActionCall) -> str:
    arguments = arguments_of_turn_call(call)
    return one_line(call.raw if arguments is None else arguments, _ARGUMENTS)


def _result_excerpt(record: CallResult | None) -> str | None:
    if record is None:
        return None
    result = record.result
    if result.success:
        return one_line(result.data or {"done": True}, _RESULT)
    return one_line(result.error or record.state.value, _RESULT)
