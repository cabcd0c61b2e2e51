"""Events of one turn: input, thoughts, actions and results.

The events of a turn only grow at their end, because its records do: a reader who has read some of
them continues with the next one.
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
    goal_document_id,
    goal_id_of_label,
    goal_task_message,
)
from opencrab.domain.turn.account import CallAccount, StepAccount, TurnAccount
from opencrab.domain.turn.record import CallResult, action_name_of_turn_call, arguments_of_turn_call
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language, Value
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.call import describe_call
from opencrab.ports.turn.action import one_line
from opencrab.ports.turn.journal import resolve_record_pointers

_TEXT = 4_000
_SUMMARY = 500
_NAME = 60
_GOOD = {TurnStatus.COMPLETED, TurnStatus.IDLE}
_SILENT = {Language.JA: "何も言わずに終わりました", Language.EN: "It ended without a word"}


class InputEvent(Value):
    """Input that started a turn; a text of more than 4,000 characters is cut."""

    time: datetime
    type: Literal["input"] = "input"
    source: Source
    text: str


class ThoughtEvent(Value):
    """The agent's judgment of the situation, and its next intention."""

    time: datetime
    type: Literal["thought"] = "thought"
    judgment: str
    intent: str


class ActionEvent(Value):
    """Start of an action, or of the wait for its approval."""

    time: datetime
    type: Literal["action"] = "action"
    summary: str


class ResultEvent(Value):
    """Result of an action, of a task, or of the whole turn."""

    time: datetime
    type: Literal["result"] = "result"
    status: Literal["done", "fail"]
    summary: str


class GoalEvent(Value):
    """Completion of a goal; `rate` is the share of its tasks that are done, as in "80%"."""

    time: datetime
    type: Literal["result"] = "result"
    status: Literal["goal_done"] = "goal_done"
    goal: str
    name: str
    rate: str


Event = InputEvent | ThoughtEvent | ActionEvent | ResultEvent | GoalEvent


@dataclass(frozen=True)
class TurnEvents:
    """A turn and its events so far.

    `busy` is true if its last action has not ended, `approving` if that action waits for a human.
    """

    turn: Turn
    events: tuple[Event, ...]
    busy: bool
    approving: bool


def insight_events_of_turn(runtime: Runtime, turn_id: str, language: Language) -> TurnEvents | None:
    """Return a turn as events; None if it, or a part of it, has expired."""
    try:
        recorded = runtime.home.journal.load(turn_id)
        records = resolve_record_pointers(recorded.records, runtime.home.blobs)
    except NotFound:
        return None
    account = TurnAccount.of(recorded.turn, records)
    events = tuple(_TurnEventReader(runtime, account, language).events())
    last = next((call for call in account.calls if call.is_busy), None)
    if last is None or recorded.turn.status.is_end:
        return TurnEvents(recorded.turn, events, busy=False, approving=False)
    return TurnEvents(recorded.turn, events, busy=True, approving=last.is_asked)


class _TurnEventReader:
    """A single pass over the account of one turn."""

    def __init__(self, runtime: Runtime, account: TurnAccount, language: Language) -> None:
        self._runtime = runtime
        self._account = account
        self._turn = account.turn
        self._language = language
        self._time = account.turn.created_at
        self._ended: set[str] = set()

    def events(self) -> Iterator[Event]:
        """Yield all events in order."""
        yield InputEvent(time=self._time, source=self._turn.source, text=_cut(self._trigger()))
        for step in self._account.steps:
            yield from self._thought(step)
            for call in step.calls:
                yield from self._action(call)
        if self._turn.status.is_end:
            self._time = max(self._time, self._turn.ended_at or self._time)
            yield from self._end()
            yield from self._ends()

    def _trigger(self) -> str:
        """Return the text of the line that started the turn, "" if there is none."""
        turn = self._turn
        if not turn.trigger_line:
            return ""
        lines = self._runtime.home.journal.lines(
            turn.session_id, after=turn.trigger_line - 1, limit=1
        )
        return lines[0].text if lines and lines[0].sequence == turn.trigger_line else ""

    def _thought(self, step: StepAccount) -> Iterator[Event]:
        answer, self._time = step.answer, step.at or self._time
        if answer is None:
            return
        words = answer.text.strip() if answer.calls else ""
        judgment = (answer.thought.judgment.strip() if answer.thought else "") or words
        intent = answer.thought.intent.strip() if answer.thought else ""
        if not judgment and not intent:
            return
        if not intent and step.calls:
            intent = self._sentence(step.calls[0])
        yield ThoughtEvent(time=self._time, judgment=_cut(judgment), intent=_cut(intent))

    def _action(self, call: CallAccount) -> Iterator[Event]:
        """Yield an action and its result; a call that was rejected before it ran yields nothing."""
        begun_at = call.begun_at or (call.ended_at if call.ran else None)
        if begun_at is not None:
            yield ActionEvent(time=begun_at, summary=self._sentence(call))
        self._time = call.ended_at or begun_at or self._time
        if call.result is None or not call.ran:
            return
        status, summary = self._outcome(call, call.result)
        yield ResultEvent(time=self._time, status=status, summary=one_line(summary, _SUMMARY))
        for effect in call.result.result.side_effects:
            if effect.kind == "goal_ended":
                yield from self._goal_done(effect.goal)

    def _outcome(
        self, call: CallAccount, record: CallResult
    ) -> tuple[Literal["done", "fail"], str]:
        sentence = self._sentence(call)
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
        """Yield the turn's result, unless its last action ended the turn."""
        turn, good = self._turn, self._turn.status in _GOOD
        answered = [step for step in self._account.steps if step.answer is not None]
        last = answered[-1] if answered else None
        if good and last is not None and last.ends_turn:
            return
        words = last.answer.text.strip() if last and last.answer and not last.calls else ""
        summary = (words if good else turn.note) or _SILENT[self._language]
        yield ResultEvent(
            time=self._time,
            status="done" if good else "fail",
            summary=one_line(summary, _SUMMARY),
        )

    def _ends(self) -> Iterator[Event]:
        """Yield the task and the goal that ended with the turn, but not by one of its actions."""
        goal = self._goal(self._turn.task)
        if goal is None:
            return
        task = goal.task(self._turn.task or "")
        mine = task is not None and task.turn_id == self._turn.id and task.id not in self._ended
        if task is not None and mine and task.status.is_end:
            failed = task.status is TaskStatus.FAIL
            told = one_line(goal_task_message(task), _SUMMARY)
            yield ResultEvent(time=self._time, status="fail" if failed else "done", summary=told)
        reached = goal.status is GoalStatus.COMPLETED and goal.turn_id == self._turn.id
        if reached and goal.id not in self._ended:
            yield from self._goal_done(goal.id)

    def _goal_done(self, goal_id: str) -> Iterator[Event]:
        self._ended.add(goal_id)
        goal = self._goal(goal_id)
        if goal is not None:
            rate = f"{goal.completion_percent}%"
            yield GoalEvent(time=self._time, goal=goal.id, name=goal.name, rate=rate)

    def _goal(self, label: str | None) -> Goal | None:
        if label is None:
            return None
        fact = self._runtime.home.facts.get(
            self._turn.agent_id, GOAL, goal_document_id(goal_id_of_label(label))
        )
        return None if fact is None else fact.read(Goal)

    def _sentence(self, told: CallAccount) -> str:
        """Describe a call in the agent's language."""
        call = told.call
        action = self._runtime.actions.find(action_name_of_turn_call(call))
        if action is None:
            return one_line(action_name_of_turn_call(call), _NAME)
        return one_line(
            describe_call(action, arguments_of_turn_call(call) or {}, self._language), _SUMMARY
        )


def _cut(text: str) -> str:
    """Cut a text to the longest that an event may have."""
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
