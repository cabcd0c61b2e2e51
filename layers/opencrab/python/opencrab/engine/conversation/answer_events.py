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
    cut_text,
    events_of_line,
    line_end_metadata,
    milliseconds,
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
        """Return the events of the next part of an answer."""
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
            yield {**_message_event("TEXT_MESSAGE_START", message, at), "role": "assistant"}
        message.text += part.text
        for piece in cut_text(part.text):
            yield {**_message_event("TEXT_MESSAGE_CONTENT", message, at), "delta": piece}

    def of_line(self, line: Line) -> tuple[Event, ...]:
        """Return the events of a line; only the end of the message if the watcher has seen it."""
        message = self._open.get(line.turn_id) if line.turn_id else None
        is_said = line.kind is LineKind.SPEECH and line.from_agent
        if message is None or not is_said or line.text != message.text:
            return events_of_line(line)
        del self._open[message.part.turn_id]
        ended = _message_event("TEXT_MESSAGE_END", message, line.at)
        return ({**ended, "metadata": line_end_metadata(line)},)

    def of_turn(self, turn_id: str, at: datetime) -> tuple[Event, ...]:
        """Return the end of a turn's message of which no line came; () if there is none."""
        message = self._open.pop(turn_id, None)
        return () if message is None else (_withdrawal(message, at),)


def _message_event(kind: str, message: _Message, at: datetime) -> Event:
    part = message.part
    metadata = {"threadId": part.session_id, "runId": part.turn_id, "agentId": part.agent_id}
    shared = {"timestamp": milliseconds(at), "metadata": metadata}
    return {"type": kind, "messageId": message.id, **shared}


def _withdrawal(message: _Message, at: datetime) -> Event:
    event = _message_event("TEXT_MESSAGE_END", message, at)
    return {**event, "metadata": {**event["metadata"], "withdrawn": True}}
