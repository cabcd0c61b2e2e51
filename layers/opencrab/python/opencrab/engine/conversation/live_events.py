"""Live events in AG-UI's format for a session's lines and a turn's changes of status.

Names and fields are AG-UI's (1.0) where it has one that fits, CUSTOM elsewhere. Our own fields are
in `metadata`, which AG-UI leaves open: threadId is the session, runId the turn, `sequence` the
number of a line. Only the last event of a line has its sequence: a client that has it saw the whole
line.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Value
from opencrab.ports.conversation.answers import AnswerPart

PIECE = 4_000
"""The most characters in one event: even if JSON escapes each of them it is below 32 KB."""

Event = dict[str, Any]
"""One event as JSON; its names are camelCase, as AG-UI has them."""

_INSTRUCTION, _APPROVAL, _GAP = "instruction", "approval", "gap"
_PROGRESS = "progress"
_CANCELLED = {TurnStatus.STOPPED}
_FAILED = {TurnStatus.FAILED, TurnStatus.EXHAUSTED}


class TurnMoved(Value):
    """A turn and its new status; the turn's header may be newer than the status."""

    turn: Turn
    status: TurnStatus
    at: datetime


def events_of_session_line(line: Line) -> tuple[Event, ...]:
    """Return the events of a line, in order; the last one has its sequence."""
    *others, last = _of_line(line)
    return (*others, {**last, "metadata": {**last["metadata"], "sequence": line.sequence}})


def session_line_end_metadata(line: Line) -> dict[str, Any]:
    """Return the metadata of a line's last event."""
    return {**_metadata(line), "sequence": line.sequence}


def live_session_events_of_turn(moved: TurnMoved) -> tuple[Event, ...]:
    """Return the event of a turn that began, waits or ended; none while it is queued."""
    turn, status = moved.turn, moved.status
    ids = {"threadId": turn.session_id, "runId": turn.id}
    shared = {
        "timestamp": session_event_milliseconds(moved.at),
        "metadata": {**ids, "agentId": turn.agent_id, "status": status.value},
    }
    if status is TurnStatus.QUEUED:
        return ()
    if status is TurnStatus.RUNNING:
        return ({"type": "RUN_STARTED", **ids, **shared},)
    if status in _FAILED:
        message = turn.note or status.value
        return ({"type": "RUN_ERROR", "message": message, "code": status.value, **shared},)
    return ({"type": "RUN_FINISHED", **ids, "outcome": _outcome(turn, status), **shared},)


def session_event_for_gap(session_id: str, after: int, before: int, at: datetime) -> Event:
    """Return the event for omitted lines with after < sequence < before; the client reads them."""
    value = {"after": after, "before": before}
    metadata = {"threadId": session_id}
    return _custom(_GAP, value, {"timestamp": session_event_milliseconds(at), "metadata": metadata})


def session_event_for_progress(part: AnswerPart, at: datetime) -> Event:
    """Return the event of how far a running call has come; no line has it."""
    said, metadata = part.progress, {"threadId": part.session_id, "runId": part.turn_id}
    value = {} if said is None else {"toolCallName": said.action, "progress": said.done}
    if said is not None and said.total is not None:
        value["total"] = said.total
    if said is not None and said.text:
        value["text"] = said.text
    shared = {"timestamp": session_event_milliseconds(at)}
    return _custom(_PROGRESS, value, {**shared, "metadata": {**metadata, "agentId": part.agent_id}})


def _outcome(turn: Turn, status: TurnStatus) -> dict[str, Any]:
    if status is TurnStatus.WAITING:
        return {"type": "interrupt", "interrupts": [{"id": turn.id, "reason": "waiting"}]}
    return {"type": "cancelled" if status in _CANCELLED else "success"}


def _of_line(line: Line) -> Iterator[Event]:
    shared = {"timestamp": session_event_milliseconds(line.at), "metadata": _metadata(line)}
    match line.kind:
        case LineKind.ACTION:
            yield from _action(line, shared)
        case LineKind.APPROVAL:
            data = line.data or {}
            asked = {"approvalId": data.get("approval_id"), "callId": data.get("call_id")}
            yield _custom(_APPROVAL, {**asked, "text": line.text}, shared)
        case LineKind.SYSTEM if line.audience is Audience.AGENTS:
            yield from _instruction(line, shared)
        case LineKind.INNER_VOICE:
            yield from _pieces("REASONING_MESSAGE_CHUNK", line, {}, shared)
        case _:
            said = {"role": _role(line), "name": line.speaker_name}
            yield from _pieces("TEXT_MESSAGE_CHUNK", line, said, shared)


def _metadata(line: Line) -> dict[str, Any]:
    """Return the metadata of a line; a user's message has the id with which it was sent."""
    found = {
        "threadId": line.session_id,
        "runId": line.turn_id,
        "kind": line.kind.value,
        "speakerId": line.speaker_id,
        "speakerName": line.speaker_name,
        "fromAgent": line.from_agent,
        "messageId": line.message_id,
        "replyTo": line.reply_to,
        "images": (line.data or {}).get("images") if line.kind is LineKind.SPEECH else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _pieces(
    kind: str, line: Line, first: dict[str, Any], shared: dict[str, Any]
) -> Iterator[Event]:
    """Split a text into events of one message; only the first has the speaker."""
    named: dict[str, Any] = {"type": kind, "messageId": _line_id(line), **first}
    for piece in split_session_message_text(line.text):
        yield {**named, "delta": piece, **shared}
        named = {"type": kind, "messageId": _line_id(line)}


def _action(line: Line, shared: dict[str, Any]) -> Iterator[Event]:
    data, call = line.data or {}, _line_id(line)
    name = str(data.get("name") or line.text)
    yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": name, **shared}
    for piece in split_session_message_text(str(data.get("arguments") or "{}")):
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": piece, **shared}
    yield {"type": "TOOL_CALL_END", "toolCallId": call, **shared}
    content = str(data.get("result") or line.text)[:PIECE]
    result = {"messageId": f"{call}-result", "toolCallId": call, "content": content, "role": "tool"}
    metadata = {**shared["metadata"], "state": data.get("state")}
    yield {"type": "TOOL_CALL_RESULT", **result, **shared, "metadata": metadata}


def _instruction(line: Line, shared: dict[str, Any]) -> Iterator[Event]:
    """Split an instruction into events with one id."""
    for piece in split_session_message_text(line.text):
        yield _custom(_INSTRUCTION, {"id": line.message_id, "text": piece}, shared)


def _custom(name: str, value: dict[str, Any], shared: dict[str, Any]) -> Event:
    return {"type": "CUSTOM", "name": name, "value": value, **shared}


def _role(line: Line) -> str:
    if line.kind is LineKind.SYSTEM:
        return "system"
    return "assistant" if line.from_agent else "user"


def _line_id(line: Line) -> str:
    """Return the message id of a line: unique, and the same for every watcher."""
    return f"{line.session_id}-{line.sequence}"


def split_session_message_text(text: str) -> tuple[str, ...]:
    """Split a text into pieces of at most PIECE characters; an empty text is one piece."""
    return tuple(text[start : start + PIECE] for start in range(0, len(text), PIECE)) or ("",)


def session_event_milliseconds(moment: datetime) -> int:
    """Return a moment as AG-UI has it: milliseconds since 1970."""
    return int(moment.timestamp() * 1_000)
