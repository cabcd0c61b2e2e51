"""Scripts for the scripted model: what it will answer, or how it will fail, in order."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencrab.adapters.providers.wire.blocks import sort_leading_blocks
from opencrab.adapters.providers.wire.lenient import raw_wire_tool_arguments, wire_tool_arguments
from opencrab.adapters.providers.wire.text import repair_wire_text
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.record import ActionCall, ModelAnswer, Reflection
from opencrab.ports.models.model import CallReturn, ChatMessage, ChatRequest

_SHORT_NAMES = {
    "unavailable": Fault.SERVER_ERROR,
    "never_sent": Fault.UNREACHABLE,
    "refused": Fault.AUTH,
    "invalid": Fault.BAD_REQUEST,
}
_ERRORS = {**{fault.value: fault for fault in Fault}, **_SHORT_NAMES}
_TOLD = {
    Fault.SERVER_ERROR: "the script says that the provider does not answer",
    Fault.UNREACHABLE: "the script says that there is no connection",
    Fault.AUTH: "the script says that the provider refuses the key",
    Fault.BAD_REQUEST: "the script says that the provider refuses the request",
    Fault.NONSENSE: "the script says that the answer is not JSON: '<html>'",
}
_FIELDS = {"text", "calls", "error", "usage", "delay_ms", "when"}
_CALL_FIELDS = {"name", "arguments"}


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call of a script; arguments as text are parsed like a model's, malformed ones too."""

    name: str
    arguments: dict[str, Any] | str

    def read(self, call_id: str) -> ActionCall:
        """Return the call as a provider would have sent it."""
        arguments = wire_tool_arguments(self.arguments)
        unread = raw_wire_tool_arguments(self.arguments) if arguments is None else ""
        return ActionCall(id=call_id, name=self.name, arguments=arguments, raw=unread)


@dataclass(frozen=True)
class ScriptedAnswer:
    """One answer of a script; `when` limits it to user messages that contain this text.

    `error` is the name of a fault, or a short name for a usual one.
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    error: str = ""
    usage: Usage | None = None
    delay_ms: int = 0
    when: str = ""

    def __post_init__(self) -> None:
        if self.error and self.error not in _ERRORS:
            raise Invalid(
                f"a script has the unknown error {self.error!r}",
                field="error",
                cure=f"use one of {', '.join(_ERRORS)}",
            )

    @property
    def failure(self) -> ModelCallFailed | None:
        """The error of this answer; None if it has none."""
        if not self.error:
            return None
        fault = _ERRORS[self.error]
        return ModelCallFailed(_TOLD.get(fault, f"the script says: {fault.value}"), fault)

    @property
    def answer(self) -> ModelAnswer:
        """The answer, as if a provider had sent it."""
        words = sort_leading_blocks(repair_wire_text(self.text))
        intent = words.text if self.calls else ""
        thought = Reflection(judgment=words.thought, intent=intent)
        return ModelAnswer(
            text="" if self.calls else words.text,
            calls=tuple(call.read(f"c{index}") for index, call in enumerate(self.calls)),
            thought=thought if words.thought or intent else None,
            memory_update=words.memory,
            finish="tool_calls" if self.calls else "stop",
        )


def last_scripted_words(request: ChatRequest) -> str:
    """Return the last user message, without the name that the context puts before it."""
    index = _last_user_index(request)
    turn = request.turns[index] if index >= 0 else None
    if not isinstance(turn, ChatMessage):
        return ""
    speaker, mark, words = turn.text.partition(f" ({turn.name}): ")
    return words if mark and "\n" not in speaker else turn.text


def scripted_turns_since_user_message(request: ChatRequest) -> tuple[ChatMessage | CallReturn, ...]:
    """Return the turns after the last user message."""
    return request.turns[_last_user_index(request) + 1 :]


def scripted_answer(
    script: Sequence[ScriptedAnswer], request: ChatRequest
) -> ScriptedAnswer | None:
    """Return the answer whose turn it is: one per answer since the last user message.

    Answers whose `when` matches come before all others; None after the last one.
    """
    words = last_scripted_words(request)
    fitting = [answer for answer in script if answer.when and answer.when in words]
    answers = fitting or [answer for answer in script if not answer.when]
    given = sum(
        isinstance(turn, ChatMessage) and turn.role == "assistant"
        for turn in scripted_turns_since_user_message(request)
    )
    return answers[given] if given < len(answers) else None


def load_script_of_scripted_model(path: Path) -> tuple[ScriptedAnswer, ...]:
    """Read answers from a TOML or JSON file: a list named `answers`, or in JSON the list alone.

    Raises Invalid, naming the file, if it cannot be read or is malformed.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise Invalid(
            f"cannot read the script {str(path)!r}: {error}",
            cure="check its path, and that it is TOML or JSON",
        ) from error
    listed = content.get("answers") if isinstance(content, dict) else content
    if not isinstance(listed, list):
        raise Invalid(
            f"the script {str(path)!r} has no list named 'answers'",
            cure="add the list; each answer is a table with text or calls",
        )
    return tuple(_answer(entry, f"{path.name}, answer {n}") for n, entry in enumerate(listed, 1))


def _last_user_index(request: ChatRequest) -> int:
    """Return the index of the last user message, -1 without one; context has no name."""
    users = [
        (index, turn)
        for index, turn in enumerate(request.turns)
        if isinstance(turn, ChatMessage) and turn.role == "user"
    ]
    people = [index for index, turn in users if turn.name] or [index for index, _ in users]
    return people[-1] if people else -1


def _answer(entry: Any, place: str) -> ScriptedAnswer:
    _check_fields(entry, _FIELDS, place)
    try:
        return ScriptedAnswer(
            text=str(entry.get("text", "")),
            calls=tuple(_call(call, place) for call in entry.get("calls", [])),
            error=str(entry.get("error", "")),
            usage=Usage(**entry["usage"]) if "usage" in entry else None,
            delay_ms=int(entry.get("delay_ms", 0)),
            when=str(entry.get("when", "")),
        )
    except (TypeError, ValueError) as error:
        raise Invalid(f"{place}: {error}", cure="correct the value") from error


def _call(entry: Any, place: str) -> ScriptedCall:
    _check_fields(entry, _CALL_FIELDS, place)
    return ScriptedCall(name=str(entry.get("name", "")), arguments=entry.get("arguments", {}))


def _check_fields(entry: Any, fields: set[str], place: str) -> None:
    if not isinstance(entry, dict):
        raise Invalid(f"{place}: must be a table", cure="write a table, as in {text = 'Hello'}")
    if unknown := set(entry) - fields:
        raise Invalid(
            f"{place}: unknown {', '.join(map(repr, sorted(unknown)))}",
            cure=f"use {', '.join(sorted(fields))}",
        )
