"""Crashes: a worker is killed at every point around a call and inside it, and its turn goes on.

A point lies before and after each call of a store, before each line of the action's own file that
runs, and after the last one. An explorer that finds nothing has proven that much, and no more: what
runs in other processes is not killed, and neither are `finally` and `with`, which still run.
"""

import threading
from collections.abc import Callable, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, cast

from opencrab.actions.custom.call import CallContext
from opencrab.actions.custom.declaration import CustomAction, declared_custom_action
from opencrab.domain.access.impact import Impact
from opencrab.domain.turn.action import Effect
from opencrab.ports.home import Home
from opencrab.testing.house import (
    AgentHouse,
    HouseTurn,
    ModelCall,
    ScriptedModels,
    installed_custom_actions,
)

_UNASKED = (Impact.READ, Impact.SELF, Impact.SHARED, Impact.EXTERNAL)
_CALL_THREAD = "custom-action"


class ActionWorkerKilled(BaseException):
    """The end of a worker's process: nothing that it knew survives."""


@dataclass(frozen=True)
class CrashReport:
    """What an explorer tried: the points by name, and how calls ended, by state, with counts."""

    points: tuple[str, ...]
    states: Mapping[str, int]


@dataclass
class CrashPoints:
    """The points of one run, in order; the worker dies at `kill_at`, counted from 1."""

    file: str
    kill_at: int = 0
    seen: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    armed: bool = False
    dead: bool = False
    owner: threading.Thread = field(default_factory=threading.current_thread)

    def reach(self, name: str) -> None:
        """Note a point; raises ActionWorkerKilled if the worker dies here, or is dead."""
        thread = threading.current_thread()
        if thread is not self.owner and thread.name != _CALL_THREAD:
            return
        if self.dead:
            raise ActionWorkerKilled
        if not self.armed:
            return
        self.seen.append(name)
        if len(self.seen) == self.kill_at:
            self.dead, self.armed = True, False
            raise ActionWorkerKilled

    def trace(self, frame: FrameType, _event: str, _value: Any) -> Any:
        """Follow the lines of the action's file: what `threading.settrace` calls."""
        is_call = threading.current_thread().name == _CALL_THREAD
        return self._line if is_call and frame.f_code.co_filename == self.file else None

    def _line(self, frame: FrameType, event: str, _value: Any) -> Any:
        if event in {"line", "return"}:
            where = "after" if event == "return" else "before"
            self.reach(f"{where} {Path(self.file).name}:{frame.f_lineno}")
        return self._line


class _Port:
    """A store whose calls are points."""

    def __init__(self, target: Any, name: str, points: CrashPoints) -> None:
        self._target, self._name, self._points = target, name, points

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)
        if not callable(inner):
            return inner

        def call(*arguments: Any, **named: Any) -> Any:
            self._points.reach(f"before {self._name}.{method}")
            answer = inner(*arguments, **named)
            self._points.reach(f"after {self._name}.{method}")
            return answer

        return call


class _Model:
    """A model with whose first answer the points begin, and with whose second one they end."""

    def __init__(self, target: Any, points: CrashPoints) -> None:
        self._target, self._points = target, points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def chat(self, *arguments: Any, **named: Any) -> Any:
        """Answer; points lie between the first answer of a run and the next request."""
        self._points.armed = False
        answer = self._target.chat(*arguments, **named)
        self._points.armed = bool(answer.calls) and not self._points.seen
        return answer


@dataclass(frozen=True)
class _Explorer:
    action: CustomAction
    arguments: Mapping[str, Any]
    values: Mapping[str, str]
    effects: Callable[[], int | Sized]
    reset: Callable[[], object]

    def play(self, kill_at: int = 0) -> tuple[CrashPoints, HouseTurn, int]:
        """Make the call in a new installation, where the worker dies at one point or at none.

        Returns the points, the turn, and how often the action took effect.
        """
        self.reset()
        points = CrashPoints(self.action.call.file, kill_at)
        with (
            TemporaryDirectory() as folder,
            installed_custom_actions(Path(folder), [self._watched(points)], self.values) as made,
        ):
            runtime, clock = made
            models = cast(ScriptedModels, runtime.models)
            models.wrap = lambda model: cast(Any, _Model(model, points))
            ports: Any = {
                name: _Port(getattr(runtime.home, name), name, points)
                for name in Home.__dataclass_fields__
                if getattr(runtime.home, name) is not None
            }
            home = replace(runtime.home, **ports)
            house = AgentHouse(replace(runtime, home=home), clock, policy=_UNASKED)
            turn = self._finish(house, points)
        made_effects = self.effects()
        count = made_effects if isinstance(made_effects, int) else len(made_effects)
        return points, turn, count

    def _finish(self, house: AgentHouse, points: CrashPoints) -> HouseTurn:
        before = threading.gettrace()
        threading.settrace(points.trace)
        try:
            turn = house.admit("go", ModelCall(self.action.name, self.arguments), "done")
            with suppress(ActionWorkerKilled):
                return house.finish(turn)
            # The worker's message becomes visible again, and another worker takes it.
            points.dead = False
            house.later(house.runtime.rules.visibility_seconds + 1)
            return house.finish(turn)
        finally:
            threading.settrace(before)

    def _watched(self, points: CrashPoints) -> CustomAction:
        """Return the action, whose calls leave their keys with the points."""
        call = self.action.call

        def run(**given: Any) -> Any:
            told = given.get(call.context_parameter)
            if isinstance(told, CallContext):
                points.keys.append(told.key)
            return call.function(**given)

        return replace(self.action, call=replace(call, function=run))


def explore_action_crashes(
    action: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    effects: Callable[[], int | Sized],
    reset: Callable[[], object],
    values: Mapping[str, str] | None = None,
) -> CrashReport:
    """Kill the worker at every point of a call, deliver it again, and check its effect class.

    Args:
        action: A function under `@action`.
        arguments: Those of a call that succeeds.
        effects: What was done in the outside world since the last reset, or how often.
        reset: Makes the outside world as it was.
        values: What stands for the settings below `[actions.values]`.

    Raises:
        AssertionError: A "pure" action did something, a "once" action was done twice, a "keyed" one
            not exactly once or not by its key; or the call failed without any crash. The message
            names the point.
    """
    declared = declared_custom_action(action)
    explorer = _Explorer(declared, arguments, values or {}, effects, reset)
    calm, turn, wanted = explorer.play()
    _check_calm(declared, turn, wanted)
    if declared.effect is Effect.KEYED:
        _check_keys(explorer, wanted)
    states = dict[str, int]()
    for number, point in enumerate(calm.seen, 1):
        points, ended, count = explorer.play(number)
        if not points.seen[number - 1 :]:
            raise AssertionError(f"{declared.name} runs otherwise each time: no point {point}")
        state = ended.calls[0].state if ended.calls else "none"
        states[state] = states.get(state, 0) + 1
        _check_crash(declared, f"killed {point}: the call is {state}", count, wanted)
        if len(set(points.keys)) > 1:
            raise AssertionError(f"{declared.name} had two keys, killed {point}")
    return CrashReport(tuple(calm.seen), states)


def _check_calm(declared: CustomAction, turn: HouseTurn, count: int) -> None:
    name = declared.name
    if not turn.calls or turn.calls[0].state != "completed":
        why = turn.calls[0].error if turn.calls else "it was not called"
        raise AssertionError(f"{name} failed without any crash: {why}")
    note = str((turn.calls[0].data or {}).get("note", ""))
    if note.startswith(("done, but", "done; the result")):
        raise AssertionError(f"{name}: {note}")
    if declared.effect is Effect.PURE and count:
        raise AssertionError(f"{name} is pure, and had {count} effects: declare it keyed or once")
    if declared.effect is not Effect.PURE and not count:
        raise AssertionError(f"{name} is {declared.effect}, and effects() shows nothing of it")


def _check_crash(declared: CustomAction, what: str, count: int, wanted: int) -> None:
    name, effect = declared.name, declared.effect
    if effect is Effect.PURE and count:
        raise AssertionError(f"{name} is pure, and had {count} effects, {what}")
    if effect is Effect.ONCE and count > wanted:
        raise AssertionError(f"{name} is once, and had {count} effects, not {wanted}, {what}")
    if effect is Effect.KEYED and count != wanted:
        raise AssertionError(f"{name} is keyed, and had {count} effects, not {wanted}, {what}")


def _check_keys(explorer: _Explorer, wanted: int) -> None:
    """Check that two calls with one key are one, and that two with two keys are two."""
    name = explorer.action.name
    for keys, expected, problem in (
        (("key-1", "key-1"), wanted, "was done again with the same context.key: send the key"),
        (("key-1", "key-2"), 2 * wanted, "took two calls for one: send context.key as it is"),
    ):
        explorer.reset()
        for key in keys:
            _call_once(explorer, key)
        made = explorer.effects()
        count = made if isinstance(made, int) else len(made)
        if count != expected:
            raise AssertionError(f"{name} {problem} ({count} effects, not {expected})")


def _call_once(explorer: _Explorer, key: str) -> None:
    call = explorer.action.call
    model = explorer.action.arguments.model_validate(dict(explorer.arguments))
    given = {each: getattr(model, each) for each in type(model).model_fields}
    given[call.context_parameter] = CallContext(
        key=key,
        agent_id="aki",
        agent_name="Aki",
        authority="owner",
        language="en",
        time_zone="UTC",
        now=datetime(2026, 1, 5, 9, 0, tzinfo=UTC),
        values=explorer.values,
    )
    call.function(**given)
