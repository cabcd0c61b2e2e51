"""Trace of a turn: its spans, read from its records once it has ended.

Names and attributes are those of OpenTelemetry's semantic conventions for generative AI
(https://opentelemetry.io/docs/specs/semconv/gen-ai/): `invoke_agent` for the turn, below it `chat`
for each model call and `execute_tool` for each tool call. What people and agents said is in them
only where the operator wants it (`content`).
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from opencrab.domain.turn.record import (
    ActionCall,
    ActionIntent,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
    Record,
    action_name_of_turn_call,
    arguments_of_turn_call,
)
from opencrab.domain.turn.turn import Turn, TurnStatus

INVOKE_AGENT, CHAT, EXECUTE_TOOL = "invoke_agent", "chat", "execute_tool"
"""The values of `gen_ai.operation.name`."""

CONTENT_LETTERS = 20_000
"""The limit of each text in an attribute, in characters."""

_OWN = "opencrab"
_VENDORS = {
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""The conventions' names of providers, where they differ from those in our settings."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAMELESS = "unknown"
"""For an action whose name no action has: it is what a model wrote, be it words of people."""

_ENDED_BADLY = frozenset({CallState.FAILED, CallState.REFUSED, CallState.UNKNOWN})

Attribute = str | int | float | bool | tuple[str, ...]


class TurnSpan(NamedTuple):
    """One operation: its name, times and attributes; `error` says why it failed, "" if not."""

    name: str
    started: datetime
    ended: datetime
    attributes: Mapping[str, Attribute]
    error: str = ""

    @property
    def operation(self) -> str:
        """`invoke_agent`, `chat` or `execute_tool`."""
        return str(self.attributes["gen_ai.operation.name"])


class TurnTrace(NamedTuple):
    """A turn that has ended: the span of the whole, and those of its calls in order."""

    turn_id: str
    whole: TurnSpan
    calls: tuple[TurnSpan, ...]


def trace_of_turn(
    turn: Turn, records: Iterable[Record], agent_name: str, *, content: bool = False
) -> TurnTrace:
    """Return the trace of a turn that has ended, from its records in the order of their keys.

    A call begins where its intent or its duration says, else where the one before it ended. A model
    call without a time of its end (its worker died) is as long as nothing.
    """
    reading = _Reading(turn.created_at, content=content)
    for record in records:
        reading.add(record)
    calls = tuple(reading.spans)
    asked = [span for span in calls if span.operation == CHAT]
    provider = asked[0].attributes["gen_ai.provider.name"] if asked else _OWN
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": INVOKE_AGENT,
        "gen_ai.provider.name": provider,
        "gen_ai.agent.id": turn.agent_id,
        "gen_ai.agent.name": agent_name,
        "gen_ai.conversation.id": turn.session_id,
        "opencrab.turn.id": turn.id,
        "opencrab.turn.trigger": turn.trigger.value,
        "opencrab.turn.status": turn.status.value,
        "opencrab.cost.micro_usd": turn.spent,
    }
    if turn.task:
        attributes["opencrab.task.id"] = turn.task
    error = turn.status.value if turn.status in {TurnStatus.FAILED, TurnStatus.EXHAUSTED} else ""
    ended = max(turn.ended_at or reading.now, reading.now)
    whole = TurnSpan(f"{INVOKE_AGENT} {agent_name}", turn.created_at, ended, attributes, error)
    return TurnTrace(turn.id, whole, calls)


class _Reading:
    """The spans so far, the open intents, and the end of the last call."""

    def __init__(self, begun: datetime, *, content: bool) -> None:
        self.spans: list[TurnSpan] = []
        self.now = begun
        self._content = content
        self._asked: ModelIntent | None = None
        self._calls: dict[str, ActionCall] = {}
        self._begun: dict[str, datetime] = {}

    def add(self, record: Record) -> None:
        match record:
            case ModelIntent():
                self._asked = record
            case ModelResult():
                self._add_model_call(record)
            case ActionIntent(call_id=call_id, at=at) if at is not None:
                self._begun[call_id] = at
            case CallResult():
                self._add_tool_call(record)
            case _:
                pass

    def _add_model_call(self, result: ModelResult) -> None:
        intent, self._asked = self._asked, None
        if intent is None or intent.n > result.n:
            return
        ended = result.at or self.now
        started = ended - timedelta(milliseconds=max(result.latency_ms, 0))
        vendor, _, model = intent.model.partition(":")
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": CHAT,
            "gen_ai.provider.name": _VENDORS.get(vendor, vendor),
            "gen_ai.request.model": model or vendor,
            "opencrab.purpose": intent.purpose.value,
            "opencrab.cost.micro_usd": result.cost,
        }
        answer = result.answer
        if answer is not None:
            self._calls |= {call.id: call for call in answer.calls}
            attributes |= _told_by(answer)
            if self._content:
                attributes["gen_ai.output.messages"] = _message(answer)
        elif result.usage is not None and result.usage.is_counted:
            attributes["gen_ai.usage.input_tokens"] = result.usage.input_tokens
            attributes["gen_ai.usage.output_tokens"] = result.usage.output_tokens
        failed = result.state is not CallState.COMPLETED
        error = (result.fault.value if result.fault else result.state.value) if failed else ""
        self._end(TurnSpan(f"{CHAT} {model or vendor}", started, ended, attributes, error))

    def _add_tool_call(self, result: CallResult) -> None:
        call = self._calls.get(result.call_id)
        name = result.name if call is None else action_name_of_turn_call(call) or result.name
        name = name if _NAME.fullmatch(name) else _NAMELESS
        ended = result.at or self.now
        started = min(self._begun.get(result.call_id, self.now), ended)
        attributes: dict[str, Attribute] = {
            "gen_ai.operation.name": EXECUTE_TOOL,
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": result.call_id,
            "gen_ai.tool.type": "function",
        }
        if self._content and call is not None:
            attributes["gen_ai.tool.call.arguments"] = _json(arguments_of_turn_call(call))
            told = result.result
            said = told.data if told.success else {"error": told.error}
            attributes["gen_ai.tool.call.result"] = _json(said)
        error = result.state.value if result.state in _ENDED_BADLY else ""
        self._end(TurnSpan(f"{EXECUTE_TOOL} {name}", started, ended, attributes, error))

    def _end(self, span: TurnSpan) -> None:
        self.spans.append(span)
        self.now = max(self.now, span.ended)


def _told_by(answer: ModelAnswer) -> dict[str, Attribute]:
    usage = answer.usage
    found: dict[str, Attribute] = {}
    if answer.model:
        found["gen_ai.response.model"] = answer.model
    if answer.finish:
        found["gen_ai.response.finish_reasons"] = (answer.finish,)
    if usage.is_counted:
        found["gen_ai.usage.input_tokens"] = usage.input_tokens
        found["gen_ai.usage.output_tokens"] = usage.output_tokens
        if usage.cached_tokens:
            found["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
        if usage.reasoning_tokens:
            found["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning_tokens
    if answer.first_token_ms is not None:
        found["gen_ai.response.time_to_first_chunk"] = answer.first_token_ms / 1_000
    return found


def _message(answer: ModelAnswer) -> str:
    parts: list[dict[str, object]] = []
    if answer.text:
        parts.append({"type": "text", "content": answer.text[:CONTENT_LETTERS]})
    for call in answer.calls:
        part = {"type": "tool_call", "id": call.id, "name": call.name}
        given: object = call.arguments
        if len(json.dumps(given, ensure_ascii=False)) > CONTENT_LETTERS:
            given = _json(given)
        parts.append({**part, "arguments": given})
    message = {"role": "assistant", "parts": parts, "finish_reason": answer.finish}
    return json.dumps([message], ensure_ascii=False)


def _json(arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False)[:CONTENT_LETTERS]
