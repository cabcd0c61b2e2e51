"""Live events of answers that are still arriving, in AG-UI's format, as one watcher is told them.

A message begins and grows while the model speaks, and ends with the line of the session that says
the same. Where none does, because the words came before a tool call or were taken back, its end
has `withdrawn` in its metadata, and a client no longer shows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.engine.conversation.live_events import (
    Event,
    events_of_session_line,
    session_event_for_progress,
    session_event_milliseconds,
    session_line_end_metadata,
    split_session_message_text,
)
from opencrab.ports.conversation.answers import AnswerPart


@dataclass
class _Message:
    part: AnswerPart
    id: str
    text: str = ""


class AnswerEvents:
    """The messages that one watcher has seen begin and not end, by turn."""

    def __init__(self) -> None:
        self._open = dict[str, _Message]()
        self._begun = 0

    def of_part(self, part: AnswerPart, at: datetime) -> Iterator[Event]:
        """Return the events of the next part of an answer, or of how far another call has come."""
        if part.progress is not None:
            yield session_event_for_progress(part, at)
            return
        message = self._open.get(part.turn_id)
        if message is not None and (message.part.n != part.n or part.starts_over):
            yield from self.of_turn(part.turn_id, at)
            message = None
        if not part.text:
            return
        if message is None:
            self._begun += 1
            message = _Message(part, f"{part.turn_id}-{part.n}-{self._begun}")
            self._open[part.turn_id] = message
            yield begin_of_session_message(part, message.id, at)
        message.text += part.text
        yield from words_of_session_message(message.part, message.id, part.text, at)

    def of_line(self, line: Line) -> tuple[Event, ...]:
        """Return the events of a line; only the end of the message if the watcher has seen it."""
        message = self._open.get(line.turn_id) if line.turn_id else None
        is_said = line.kind is LineKind.SPEECH and line.from_agent
        if message is None or not is_said or line.text != message.text:
            return events_of_session_line(line)
        del self._open[message.part.turn_id]
        return (end_of_session_message(message.part, message.id, line),)

    def of_turn(self, turn_id: str, at: datetime) -> tuple[Event, ...]:
        """Return the end of a turn's message of which no line came; () if there is none."""
        message = self._open.pop(turn_id, None)
        return () if message is None else (withdrawal_of_message(message.part, message.id, at),)


def begin_of_session_message(part: AnswerPart, message_id: str, at: datetime) -> Event:
    """Return the event that begins a message."""
    return {**_message_event("TEXT_MESSAGE_START", part, message_id, at), "role": "assistant"}


def words_of_session_message(
    part: AnswerPart, message_id: str, text: str, at: datetime
) -> Iterator[Event]:
    """Yield the events with the next words of a message."""
    for piece in split_session_message_text(text):
        yield {**_message_event("TEXT_MESSAGE_CONTENT", part, message_id, at), "delta": piece}


def end_of_session_message(part: AnswerPart, message_id: str, line: Line) -> Event:
    """Return the event that ends a message with the line that says the same."""
    ended = _message_event("TEXT_MESSAGE_END", part, message_id, line.at)
    return {**ended, "metadata": session_line_end_metadata(line)}


def withdrawal_of_message(part: AnswerPart, message_id: str, at: datetime) -> Event:
    """Return the event that ends a message of whose words no line comes."""
    event = _message_event("TEXT_MESSAGE_END", part, message_id, at)
    return {**event, "metadata": {**event["metadata"], "withdrawn": True}}


def _message_event(kind: str, part: AnswerPart, message_id: str, at: datetime) -> Event:
    metadata = {"threadId": part.session_id, "runId": part.turn_id, "agentId": part.agent_id}
    shared = {"timestamp": session_event_milliseconds(at), "metadata": metadata}
    return {"type": kind, "messageId": message_id, **shared}
