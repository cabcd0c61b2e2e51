"""Simulated: a stand-in for a model that lives an agent's day, for `opencrab admin simulate`.

It reads what a turn is for and does what a tolerable model would: it plans some goals and does
others at once, finishes tasks, learns, reports, and is silent where it has nothing to say. The same
request gets the same answer; a seed makes it another day.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencrab.adapters.providers.scripted.instruction_plan import asked_instructions, scripted_plan
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import (
    UNWATCHED,
    AnswerWatch,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)

NAME = "scripted:simulated"

PRICE = Price(input_per_million=250_000, output_per_million=2_000_000)
"""That of a small hosted model, in micro-dollars for a million tokens."""

_BYTES_PER_TOKEN = 4
_TASK = re.compile(r"\bG[1-9][0-9]*-T[1-9][0-9]?\b")
_GOAL = re.compile(r"\bG[1-9][0-9]*\b")
_TASKS = 5
_PLANNED_SHARE = 3
_SILENT_SHARE = 2


@dataclass(frozen=True)
class _Situation:
    """What a request is about: the message that started the turn, and the calls since."""

    trigger: str
    note: str
    done: tuple[CallReturn, ...]
    chance: int

    def has_called(self, name: str) -> bool:
        return any(result.name == name for result in self.done)


class SimulatedModel:
    """A deterministic ChatModel without a network: works on goals, learns, is mostly silent."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._info = ModelInfo(name=NAME, max_input_tokens=128_000, price=PRICE)
        self.calls = 0

    @property
    def info(self) -> ModelInfo:
        return self._info

    def encode(self, request: ChatRequest) -> bytes:
        turns = [_plain(turn) for turn in request.turns]
        schemas = [schema.model_dump(mode="json") for schema in request.actions]
        body = {"system": request.system, "actions": schemas, "turns": turns}
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

    def chat(
        self,
        request: ChatRequest,
        body: bytes,
        watch: AnswerWatch = UNWATCHED,  # noqa: ARG002 - it answers at once
    ) -> ModelAnswer:
        self.calls += 1
        calls, text = self._answer(request)
        said = json.dumps([text, [dict(call.arguments or {}) for call in calls]])
        usage = Usage(
            input_tokens=-(-len(body) // _BYTES_PER_TOKEN),
            output_tokens=-(-len(said) // _BYTES_PER_TOKEN),
        )
        finish = "tool_calls" if calls else "stop"
        return ModelAnswer(text=text, calls=calls, usage=usage, finish=finish, model=NAME)

    def _answer(self, request: ChatRequest) -> tuple[tuple[ActionCall, ...], str]:
        if (instructions := asked_instructions(request)) is not None:
            return (), scripted_plan(instructions, lambda _words: None)
        situation = self._situation(request)
        calls = _calls(situation)
        return calls, "" if calls else _words(situation)

    def _situation(self, request: ChatRequest) -> _Situation:
        said = [
            (place, turn)
            for place, turn in enumerate(request.turns)
            if isinstance(turn, ChatMessage) and turn.role == "user"
        ]
        named = [(place, turn) for place, turn in said if turn.name]
        place, trigger = (named or said)[-1]
        done = tuple(turn for turn in request.turns[place:] if isinstance(turn, CallReturn))
        note = said[-1][1].text
        digest = hashlib.sha256(f"{self._seed}\n{trigger.text}".encode()).digest()
        return _Situation(trigger.text, note, done, int.from_bytes(digest[:4], "big"))


class OnlyModel:
    """`ports.models.model.Models` with one model, whatever name is asked for."""

    def __init__(self, model: SimulatedModel) -> None:
        self._model = model

    @property
    def routing(self) -> Routing:
        return Routing(default=self._model.info.name)

    def get(self, name: str | None) -> SimulatedModel:  # noqa: ARG002 - the port's
        return self._model

    def refresh(self, version: int) -> None:
        """Do nothing: there are no preferences."""


def _calls(situation: _Situation) -> tuple[ActionCall, ...]:
    """Return the next tool calls; empty once the turn has its result."""
    task, goal = _TASK.search(situation.trigger), _GOAL.search(situation.trigger)
    if task is not None:
        return _task_calls(situation, task[0])
    if goal is not None:
        return _goal_calls(situation, goal[0])
    return _unasked_calls(situation)


def _task_calls(situation: _Situation, task: str) -> tuple[ActionCall, ...]:
    if not situation.has_called("ws_write"):
        written = {"path": f"notes/{task}.md", "content": f"What came of {task}.\n"}
        return (_call("ws_write", written),)
    if not situation.has_called("finish_task"):
        return (_call("finish_task", {"task_id": task, "result": f"{task} is done"}),)
    return (_report(situation),)


def _goal_calls(situation: _Situation, goal: str) -> tuple[ActionCall, ...]:
    planned = situation.chance % _PLANNED_SHARE == 0 and "plan_goal" in situation.note
    if planned and not situation.has_called("plan_goal"):
        return (_call("plan_goal", {"goal_id": goal, "tasks": _plan()}),)
    if not situation.has_called("learn_from_experience"):
        lesson = {
            "experience": f"worked on {goal}",
            "outcome": "success",
            "lesson": f"step {situation.chance % 97} is better done first",
        }
        return (_call("learn_from_experience", lesson),)
    return (_report(situation),)


def _unasked_calls(situation: _Situation) -> tuple[ActionCall, ...]:
    if situation.done:
        return ()
    if situation.chance % _SILENT_SHARE == 0:
        return (_call("send_noreact", {"reason": "nothing new"}),)
    lesson = {
        "experience": "looked at what happened",
        "outcome": "success",
        "lesson": f"events of kind {situation.chance % 89} are worth a look",
    }
    return (_call("learn_from_experience", lesson),)


def _words(situation: _Situation) -> str:
    return f"I looked at it ({situation.chance % 1_000})."


def _report(situation: _Situation) -> ActionCall:
    return _call("report", {"summary": f"Done, in {situation.chance % 1_000} small steps."})


def _plan() -> list[Mapping[str, Any]]:
    return [
        {"name": f"step {number}", "precondition": "none", "postcondition": f"note {number}"}
        for number in range(1, _TASKS + 1)
    ]


def _call(name: str, arguments: dict[str, Any]) -> ActionCall:
    return ActionCall(id=name, name=name, arguments=arguments)


def _plain(turn: ChatMessage | CallReturn) -> Any:
    if isinstance(turn, CallReturn):
        return {"role": "action", "name": turn.name, "content": turn.content}
    calls = [[call.name, call.arguments] for call in turn.calls]
    return {"role": turn.role, "name": turn.name, "content": turn.text, "calls": calls}
