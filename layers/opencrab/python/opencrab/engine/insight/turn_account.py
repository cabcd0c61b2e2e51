"""Telling: one turn as what came in, what was thought, what was done, and what came of it.

The events of a turn only ever grow at their end, because its records do: whoever has read some of
them goes on with the next one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from opencrab.domain.access.authority import Source
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import (
    GOAL,
    Goal,
    GoalStatus,
    TaskStatus,
    completion,
    goal_key,
    goal_of,
    task_message,
)
from opencrab.domain.turn.record import (
    ActionIntent,
    Answer,
    ApprovalRequest,
    Call,
    CallResult,
    CallState,
    ModelResult,
    Record,
    called,
    called_with,
)
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language, Value
from opencrab.engine.runtime import Runtime
from opencrab.engine.stored_record import resolved
from opencrab.engine.turn.call import what
from opencrab.ports.turn.action import one_line

_TEXT = 4_000
_SUMMARY = 500
_NAME = 60
_GOOD = {TurnStatus.COMPLETED, TurnStatus.IDLE}
_RAN = {CallState.COMPLETED, CallState.FAILED, CallState.UNKNOWN}
_SILENT = {Language.JA: "何も言わずに終わりました", Language.EN: "It ended without a word"}


class InputTold(Value):
    """Something came in and started a turn; a very long text is cut."""

    time: datetime
    type: Literal["input"] = "input"
    source: Source
    text: str


class ThoughtTold(Value):
    """What the agent made of the situation, and what it meant to do next."""

    time: datetime
    type: Literal["thought"] = "thought"
    judgment: str
    intent: str


class ActionTold(Value):
    """An action was begun, or its approval was asked for."""

    time: datetime
    type: Literal["action"] = "action"
    summary: str


class ResultTold(Value):
    """What came of an action, of a task, or of the whole turn."""

    time: datetime
    type: Literal["result"] = "result"
    status: Literal["done", "fail"]
    summary: str


class GoalTold(Value):
    """A goal was reached; `rate` is the share of its tasks that are done, as in "80%"."""

    time: datetime
    type: Literal["result"] = "result"
    status: Literal["goal_done"] = "goal_done"
    goal: str
    name: str
    rate: str


Event = InputTold | ThoughtTold | ActionTold | ResultTold | GoalTold


@dataclass(frozen=True)
class Told:
    """A turn and its events so far.

    `busy` says that its last action has neither a result nor an end, `approving` that this action
    waits for a human.
    """

    turn: Turn
    events: tuple[Event, ...]
    busy: bool
    approving: bool


def tell(runtime: Runtime, turn_id: str, language: Language) -> Told | None:
    """A turn as events; None when it, or a part of it, is no longer kept."""
    try:
        recorded = runtime.home.journal.load(turn_id)
        records = resolved(recorded.records, runtime.home.blobs)
    except NotFound:
        return None
    teller = _Teller(runtime, recorded.turn, records, language)
    events = tuple(teller.events())
    transcript, over = Transcript.of(records), recorded.turn.status.is_end
    asked = transcript.approval is not None and transcript.decision is None
    busy = teller.doing is not None and not over
    return Told(recorded.turn, events, busy=busy, approving=busy and asked)


class _Teller:
    """Goes through the records of one turn, once."""

    def __init__(
        self, runtime: Runtime, turn: Turn, records: tuple[Record, ...], language: Language
    ) -> None:
        self._runtime = runtime
        self._turn = turn
        self._records = records
        self._language = language
        self._time = turn.created_at
        self._calls: dict[str, Call] = {}
        self._begun: set[str] = set()
        self._ended: set[str] = set()
        self._last: Answer | None = None
        self._ends_turn = False
        self.doing: str | None = None

    def events(self) -> Iterator[Event]:
        """Everything, in order."""
        yield InputTold(time=self._time, source=self._turn.source, text=_cut(self._trigger()))
        for record in self._records:
            self._time = max(self._time, getattr(record, "at", None) or self._time)
            match record:
                case ModelResult(answer=Answer()):
                    yield from self._answered(record.answer)
                case ActionIntent() | ApprovalRequest():
                    yield from self._begin(record.call_id)
                case CallResult():
                    yield from self._result(record)
                case _:
                    pass
        if self._turn.status.is_end:
            self._time = max(self._time, self._turn.ended_at or self._time)
            yield from self._end()
            yield from self._ends()

    def _trigger(self) -> str:
        """The words that started the turn."""
        turn = self._turn
        if not turn.trigger_line:
            return ""
        lines = self._runtime.home.journal.lines(
            turn.session_id, after=turn.trigger_line - 1, limit=1
        )
        return lines[0].text if lines and lines[0].sequence == turn.trigger_line else ""

    def _answered(self, answer: Answer | None) -> Iterator[Event]:
        if answer is None:
            return
        self._last, self._ends_turn, thought = answer, False, answer.thought
        self._calls.update({call.id: call for call in answer.calls})
        words = answer.text.strip() if answer.calls else ""
        judgment = (thought.judgment.strip() if thought else "") or words
        intent = thought.intent.strip() if thought else ""
        if not judgment and not intent:
            return
        if not intent and answer.calls:
            intent = self._sentence(answer.calls[0].id)
        yield ThoughtTold(time=self._time, judgment=_cut(judgment), intent=_cut(intent))

    def _begin(self, call_id: str) -> Iterator[Event]:
        if call_id not in self._begun:
            self._begun.add(call_id)
            self.doing = call_id
            yield ActionTold(time=self._time, summary=self._sentence(call_id))

    def _result(self, record: CallResult) -> Iterator[Event]:
        """What came of a call; one that never ran is only the model's business."""
        if record.call_id == self.doing:
            self.doing = None
        self._ends_turn = self._ends_turn or record.ends_turn
        if record.state not in _RAN or record.invalid:
            return
        yield from self._begin(record.call_id)
        self.doing = None
        status, summary = self._outcome(record)
        yield ResultTold(time=self._time, status=status, summary=one_line(summary, _SUMMARY))
        for effect in record.result.side_effects:
            if effect.kind == "goal_ended":
                yield from self._goal_done(effect.goal)

    def _outcome(self, record: CallResult) -> tuple[Literal["done", "fail"], str]:
        sentence = self._sentence(record.call_id)
        if not record.result.success:
            return "fail", f"{sentence}: {record.result.error or record.state.value}"
        said = sentence
        for effect in record.result.side_effects:
            if effect.kind == "task_ended":
                self._ended.add(effect.task)
                failed = effect.status == TaskStatus.FAIL.value
                return ("fail" if failed else "done"), effect.message
            if effect.kind == "spoke":
                said = effect.text
        return "done", said

    def _end(self) -> Iterator[Event]:
        """How the turn ended, unless its last action has said so."""
        turn, answer = self._turn, self._last
        good = turn.status in _GOOD
        if good and self._ends_turn:
            return
        words = answer.text.strip() if answer is not None and not answer.calls else ""
        summary = (words if good else turn.note) or _SILENT[self._language]
        yield ResultTold(
            time=self._time,
            status="done" if good else "fail",
            summary=one_line(summary, _SUMMARY),
        )

    def _ends(self) -> Iterator[Event]:
        """The task and the goal that ended with the turn, and not by an action of it."""
        goal = self._goal(self._turn.task)
        if goal is None:
            return
        task = goal.task(self._turn.task or "")
        mine = task is not None and task.turn_id == self._turn.id and task.id not in self._ended
        if task is not None and mine and task.status.is_end:
            failed = task.status is TaskStatus.FAIL
            told = one_line(task_message(task), _SUMMARY)
            yield ResultTold(time=self._time, status="fail" if failed else "done", summary=told)
        reached = goal.status is GoalStatus.COMPLETED and goal.turn_id == self._turn.id
        if reached and goal.id not in self._ended:
            yield from self._goal_done(goal.id)

    def _goal_done(self, goal_id: str) -> Iterator[Event]:
        self._ended.add(goal_id)
        goal = self._goal(goal_id)
        if goal is not None:
            rate = f"{completion(goal.tasks)}%"
            yield GoalTold(time=self._time, goal=goal.id, name=goal.name, rate=rate)

    def _goal(self, label: str | None) -> Goal | None:
        if label is None:
            return None
        fact = self._runtime.home.facts.get(self._turn.agent_id, GOAL, goal_key(goal_of(label)))
        return None if fact is None else fact.read(Goal)

    def _sentence(self, call_id: str) -> str:
        """What a call does, in the agent's language."""
        call = self._calls.get(call_id)
        if call is None:
            return call_id
        action = self._runtime.actions.find(called(call))
        if action is None:
            return one_line(called(call), _NAME)
        return one_line(what(action, called_with(call) or {}, self._language), _SUMMARY)


def _cut(text: str) -> str:
    """A text that is not too long for one event."""
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
