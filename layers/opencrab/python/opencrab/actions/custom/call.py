"""One call of a custom action: what it is told, how long it may take, and what it may return."""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import value_with_surrogates_joined
from opencrab.ports.turn.action import ActionContext

log = logging.getLogger(__name__)

RESULT_BYTES = 256 * 1024
"""The most bytes of JSON of a result; of a larger one only the beginning is kept."""

MOST_HANGING = 8
"""Calls of one process that may run on after their time; then no other begins."""

_BEGINNING = 4_000
_DEEPEST = 60
_OWN = frozenset({Authority.OWNER, Authority.SELF})
_hanging = list[threading.Thread]()


class ActionFailed(Exception):
    """What an action raises if it has certainly done nothing; a model reads the message.

    `cure` says what the model can do instead.
    """

    def __init__(self, message: str, *, cure: str = "") -> None:
        super().__init__(message)
        self.cure = cure


class CallTimedOut(Exception):
    """The end of a call that took too long; an author's own TimeoutError is another."""


class OutcomeUnknown(Exception):
    """What an action raises if nobody knows whether it was done, such as after a lost answer."""


@dataclass(frozen=True)
class CallContext:
    """What one call of a custom action is told.

    `key` is its idempotency key: the same whenever the same call is made again, after a crash or by
    another worker, and of no other call. `authority` is that of whom the turn serves: owner, self,
    user, public or peer. `language` is the agent's: en or ja.
    """

    key: str
    agent_id: str
    agent_name: str
    authority: str
    language: str
    time_zone: str
    now: datetime
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    absent: Mapping[str, str] = field(default_factory=dict)

    def setting(self, name: str) -> str:
        """Return a value of `[actions.values]`, such as an address or a token.

        Raises ActionFailed, which the model reads, if it is not there or its variable is not set.
        """
        if name in self.absent:
            raise ActionFailed(
                f"actions.values.{name} lacks the variable {self.absent[name]}",
                cure=f"the owner can set {self.absent[name]}",
            )
        if name not in self.values:
            raise ActionFailed(
                f"there is no setting actions.values.{name}", cure="the owner can add it"
            )
        return self.values[name]


@dataclass(frozen=True)
class CustomValues:
    """The settings below `[actions.values]`; `absent` names the variable that one lacks."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CustomCall:
    """How calls of one action are made: its function, and what it declares of them."""

    name: str
    file: str
    function: Callable[..., Any]
    context_parameter: str
    effect: Effect
    shared: bool = False
    taints: bool = True
    seconds: float = 30.0

    def run(
        self, arguments: Mapping[str, Any], context: ActionContext, values: CustomValues
    ) -> ActionResult:
        """Make a call.

        Raises Unavailable if nobody knows whether an action that changes something was done.
        """
        if not self.shared and not (context.turn.authority in _OWN and context.clearance.whole):
            return ActionResult.failure(
                f"{self.name} is for the owner alone, and others read here: use it where only the "
                "owner does"
            )
        given = dict(arguments)
        if self.context_parameter:
            given[self.context_parameter] = _call_context(context, values)
        try:
            result = run_bounded(lambda: _result(self.function(**given)), self.seconds)
        except ActionFailed as error:
            return self._failed(error, context)
        except (OutcomeUnknown, CallTimedOut) as error:
            said = _clean(str(error))[:_BEGINNING] or "nobody can tell"
            return self._unknown(f"{self.name}: {said}")
        except BaseException as error:  # noqa: BLE001 - raised in the call's thread: no signal to us
            what = f"{type(error).__name__} {place_in_file(error, self.file)}"
            # Its words are left out: they may hold a key, or a page of a foreign server.
            log.warning("custom action %s raised %s", self.name, what)
            return self._unknown(f"{self.name} raised {what}")
        return self._marked(result)

    def _failed(self, error: ActionFailed, context: ActionContext) -> ActionResult:
        said = f"{error}: {error.cure}" if error.cure else str(error)
        said = _clean(said)[:_BEGINNING] or f"{self.name} failed"
        if context.repeats:
            # This try did nothing; that of the worker which has ended may have.
            return self._unknown(f"an earlier try was interrupted, and the next one: {said}")
        return self._marked(ActionResult.failure(said))

    def _unknown(self, why: str) -> ActionResult:
        """End a call that may have been done, unless it does nothing that could be."""
        if self.effect is Effect.PURE:
            return self._marked(ActionResult.failure(why))
        # The engine records that nobody knows whether it was done.
        raise Unavailable(why)

    def _marked(self, result: ActionResult) -> ActionResult:
        return result.replaced(taint=True) if self.taints else result


def run_bounded(function: Callable[[], Any], seconds: float) -> Any:
    """Return what a function does, or raise what it raises, in a thread of its own.

    Raises CallTimedOut after so many seconds, as no thread can be ended from outside; ActionFailed,
    as nothing was begun, while too many earlier ones run on.
    """
    _hanging[:] = [thread for thread in _hanging if thread.is_alive()]
    if len(_hanging) >= MOST_HANGING:
        raise ActionFailed(f"{len(_hanging)} earlier calls hang", cure="restart OpenCrab")
    done = list[Any]()
    failed = list[BaseException]()

    def work() -> None:
        try:
            done.append(function())
        except BaseException as error:  # noqa: BLE001 - raised where the call was made
            failed.append(error)

    thread = threading.Thread(target=work, name="custom-action", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if done:
        return done[0]
    _hanging.append(thread)
    raise CallTimedOut(f"it did not end within {seconds:g} seconds")


def place_in_file(error: BaseException, file: str) -> str:
    """Return `at FILE:LINE`, the last place of an error in a file or beside it; "" without one."""
    folder, found = Path(file).parent, ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if folder in path.parents:
            found = f"at {path.relative_to(folder)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _call_context(context: ActionContext, values: CustomValues) -> CallContext:
    return CallContext(
        key=context.key,
        agent_id=context.agent.id,
        agent_name=context.agent.name,
        authority=context.turn.authority.value,
        language=context.agent.language.value,
        time_zone=context.time_zone,
        now=context.clock.now(),
        values=values.values,
        absent=values.absent,
    )


def _result(returned: Any) -> ActionResult:
    """Return what a model is told of a returned value: a dict, or anything else that is JSON."""
    try:
        plain = _json_value(returned, _DEEPEST)
    except Exception as error:  # noqa: BLE001 - it may be a mapping or a model of the author's own
        # It was done, so that a model must not take it for a failure and do it again.
        note = f"done, but what it returned is no JSON: {type(error).__name__}"
        return ActionResult.ok(note=note)
    data = plain if isinstance(plain, dict) else {"result": plain}
    text = json.dumps(data, ensure_ascii=False)
    size = len(text.encode())
    if size > RESULT_BYTES:
        note = f"done; the result has {size} bytes, and this is its beginning"
        return ActionResult.ok(note=note, beginning=text[:_BEGINNING])
    return ActionResult(success=True, data=data)


def _json_value(value: Any, depth: int) -> Any:
    """Return a value as JSON has it: keys as text, tuples as lists, halves of characters repaired.

    Raises TypeError for what JSON does not have, ValueError for what is not finite or too deep.
    """
    if depth < 0:
        raise ValueError
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, Mapping):
        return {_clean(str(key)): _json_value(each, depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_value(each, depth - 1) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "model_dump"):
        return _json_value(value.model_dump(mode="json"), depth - 1)
    if isinstance(value, str):
        return _clean(value)
    json.dumps(value, allow_nan=False)
    return value


def _clean(text: str) -> str:
    """Return a text without NUL and lone surrogates, which no store takes."""
    return str(value_with_surrogates_joined(text)).replace("\x00", "")
