"""Progress: how far a goal has come, as the one value that every view of it is drawn from.

It is made of the goal, and of the turn that works on it now: however many turns went before, it
costs the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import Goal, GoalStatus, Task, TaskStatus, completion
from opencrab.domain.turn.record import (
    ActionIntent,
    ApprovalRequest,
    Call,
    CallResult,
    CallState,
    ModelIntent,
    ModelResult,
    Record,
    called,
    called_with,
)
from opencrab.domain.turn.transcript import Step, Transcript
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language, Value
from opencrab.engine.approvals.approvals import approval_id
from opencrab.engine.runtime import Runtime
from opencrab.engine.stored_record import resolved
from opencrab.engine.turn.call import what
from opencrab.ports.turn.action import one_line

_ARGUMENTS = 400
_RESULT = 800
_THINKING = 1_000
_NAME = 60
_THINKS = {
    Language.JA: "次にすることを考えています",
    Language.EN: "Thinking about what to do next",
}


class Standing(StrEnum):
    """Where a goal stands, its turn included: `waiting` is for somebody's approval."""

    PENDING = "pending"
    ACTIVE = "active"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    ABANDONED = "abandoned"

    @property
    def is_end(self) -> bool:
        """Whether nothing more will be done for it."""
        return self in {Standing.COMPLETED, Standing.ABANDONED}


class Mark(StrEnum):
    """What became of one action."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


class Deed(Value):
    """One action of the turn, in a sentence for people.

    The owner's has arguments and result as well, each on a line; the sentence of everybody else
    does not say what it is done with. `seconds` are known where both ends were recorded.
    """

    id: str
    action: str
    sentence: str
    mark: Mark
    seconds: float | None = None
    arguments: str | None = None
    result: str | None = None


class Asked(Value):
    """What waits for a human: what it does and what it touches."""

    approval_id: str
    what: str
    touches: str


class TaskProgress(Value):
    """One task; `confirmed` says that the journal knows of something that was done for it."""

    id: str
    name: str
    status: TaskStatus
    cause: str
    result: str | None
    confirmed: bool


class Summary(Value):
    """Where a goal stands, in a line."""

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


class Progress(Summary):
    """A goal's tasks, and what the turn that works on it does and has done.

    `step` counts the turn's model calls, `spent_micro_usd` is the turn's too. `current` is what
    happens now, be it an action or a thought; `thinking` is what the agent thought last. `over`
    says that nothing of all this will change any more.
    """

    instruction: str
    tasks: tuple[TaskProgress, ...]
    approval: Asked | None = None
    step: int = 0
    max_steps: int
    actions: tuple[Deed, ...] = ()
    current: Deed | None = None
    thinking: str | None = None
    spent_micro_usd: int = 0
    report: str
    unconfirmed: tuple[str, ...]
    over: bool


def summary(runtime: Runtime, goal: Goal) -> Summary:
    """Where a goal stands; of an open one its turn's header is read."""
    may_wait = goal.turn_id is not None and not goal.status.is_end and goal.pause is None
    turn = _header(runtime, goal.turn_id) if goal.turn_id and may_wait else None
    asks = turn is not None and turn.status is TurnStatus.WAITING
    return _summary(goal, asks=asks)


def progress(runtime: Runtime, goal: Goal, *, private: bool) -> Progress:
    """How far a goal has come; what the agent thinks and what its actions carry only if private."""
    asks = None
    seen = _Seen.of(runtime, goal, private=private)
    if seen is not None:
        asks = seen.asked()
    told = _summary(goal, asks=asks is not None)
    whole = Progress(
        **dict(told),
        instruction=goal.instruction,
        tasks=tuple(_task(task, private=private) for task in goal.tasks),
        approval=asks,
        max_steps=runtime.rules.max_steps,
        report=goal.report,
        unconfirmed=goal.unconfirmed,
        over=goal.status.is_end and (seen is None or seen.turn.status.is_end),
    )
    if seen is None:
        return whole
    deeds = tuple(seen.deeds())
    return whole.replaced(
        step=max(0, seen.turn.attempts - seen.transcript.failed_calls),
        actions=deeds,
        current=_current(deeds, seen),
        thinking=seen.thinking() if private else None,
        spent_micro_usd=seen.turn.spent,
    )


def _summary(goal: Goal, *, asks: bool) -> Summary:
    return Summary(
        id=goal.id,
        agent_id=goal.agent_id,
        name=goal.name,
        status=_standing(goal, asks=asks),
        pause_reason=goal.pause.reason if goal.pause else None,
        completion=_percent(goal),
        tasks_over=sum(task.status.is_end for task in goal.tasks),
        tasks_total=len(goal.tasks),
        session_id=goal.session_id,
        turn_id=goal.turn_id,
        created_at=goal.created_at,
        ended_at=goal.ended_at,
    )


def _percent(goal: Goal) -> int:
    """Completion of the plan; without one a goal is complete when it is completed."""
    if goal.tasks or goal.status is GoalStatus.COMPLETED:
        return completion(goal.tasks)
    return 0


def _standing(goal: Goal, *, asks: bool) -> Standing:
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


def _header(runtime: Runtime, turn_id: str) -> Turn | None:
    """A turn, unless it is due but not there yet, or its records have expired."""
    try:
        return runtime.home.journal.header(turn_id)
    except NotFound:
        return None


@dataclass(frozen=True)
class _Seen:
    """The turn that works on a goal, as its journal tells of it."""

    runtime: Runtime
    turn: Turn
    records: tuple[Record, ...]
    transcript: Transcript
    language: Language
    private: bool

    @classmethod
    def of(cls, runtime: Runtime, goal: Goal, *, private: bool) -> "_Seen | None":
        if goal.turn_id is None:
            return None
        try:
            recorded = runtime.home.journal.load(goal.turn_id)
        except NotFound:
            return None
        records = resolved(recorded.records, runtime.home.blobs)
        language = runtime.home.agents.get(goal.agent_id).agent.language
        transcript = Transcript.of(records)
        return cls(runtime, recorded.turn, records, transcript, language, private)

    def asked(self) -> Asked | None:
        """What the turn waits for, if a human has to decide it."""
        request, call = self.transcript.approval, self.transcript.pending
        if request is None or call is None or call.id != request.call_id:
            return None
        stop = self.turn.stop
        ends = self.turn.status.is_end or (stop is not None and not stop.pause)
        if ends or self.transcript.decision is not None:
            return None
        return Asked(
            approval_id=approval_id(self.turn, request.n),
            what=request.what,
            touches=request.touches,
        )

    def deeds(self) -> Iterator[Deed]:
        """Every action that the turn's model asked for, in order."""
        seconds = dict(_durations(self.records))
        for step in self.transcript.steps:
            for call in step.answer.calls:
                yield self._deed(step, call, seconds.get(call.id))

    def thinking(self) -> str | None:
        """The agent's last thoughts, and its words beside its last calls."""
        for step in reversed(self.transcript.steps):
            thought = step.answer.thought
            words = [thought.judgment, thought.intent] if thought else []
            if step.answer.calls:
                words.append(step.answer.text)
            said = "\n".join(dict.fromkeys(word.strip() for word in words if word.strip()))
            if said:
                return said if len(said) <= _THINKING else f"{said[: _THINKING - 1]}…"
        return None

    def _deed(self, step: Step, call: Call, seconds: float | None) -> Deed:
        result = step.results.get(call.id)
        return Deed(
            id=call.id,
            action=one_line(called(call), _NAME),
            sentence=self._sentence(call),
            mark=self._mark(call, result),
            seconds=seconds,
            arguments=_carried(call) if self.private else None,
            result=_told(result) if self.private else None,
        )

    def _sentence(self, call: Call) -> str:
        """What a call does; without its arguments for those who may not read them."""
        action = self.runtime.actions.find(called(call))
        if action is None:
            return one_line(called(call), _NAME)
        arguments = (called_with(call) or {}) if self.private else {}
        return what(action, arguments, self.language)

    def _mark(self, call: Call, result: CallResult | None) -> Mark:
        if result is not None:
            return Mark.DONE if result.state is CallState.COMPLETED else Mark.FAILED
        pending = self.transcript.pending
        if pending is None or pending.id != call.id:
            return Mark.PENDING
        if self.asked() is not None:
            return Mark.WAITING
        return Mark.RUNNING if self.turn.status is TurnStatus.RUNNING else Mark.PENDING


def _current(deeds: tuple[Deed, ...], seen: _Seen) -> Deed | None:
    """What happens now: an action that runs or waits, or the model's thinking."""
    for deed in deeds:
        if deed.mark in {Mark.RUNNING, Mark.WAITING}:
            return deed
    asking = isinstance(seen.transcript.open_intent, ModelIntent)
    if not asking or seen.turn.status is not TurnStatus.RUNNING:
        return None
    return Deed(id="", action="", sentence=_THINKS[seen.language], mark=Mark.RUNNING)


def _carried(call: Call) -> str:
    arguments = called_with(call)
    return one_line(call.raw if arguments is None else arguments, _ARGUMENTS)


def _told(record: CallResult | None) -> str | None:
    if record is None:
        return None
    result = record.result
    if result.success:
        return one_line(result.data or {"done": True}, _RESULT)
    return one_line(result.error or record.state.value, _RESULT)


def _durations(records: tuple[Record, ...]) -> Iterator[tuple[str, float]]:
    """How long each call took: from its intent, or from the end of what came before it.

    Nothing is said of a call that waited for a human in between without an intent after that.
    """
    begun: datetime | None = None
    for record in records:
        match record:
            case ModelResult() | ActionIntent():
                begun = record.at
            case ApprovalRequest():
                begun = None
            case CallResult():
                ran = record.state not in {CallState.REFUSED, CallState.CANCELLED}
                if ran and begun is not None and record.at is not None:
                    yield record.call_id, round((record.at - begun).total_seconds(), 3)
                begun = record.at
            case _:
                pass
