"""Answers whose words one function sends to connections, and whose line another one does.

Both know a message by this record, one for each turn: who was told that it began, and who got all
of it. It is written before the first words are sent and again before the line is stored, so that
whoever sends the line can end each connection's message as that connection has seen it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.document import Document
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.conversation.answer_events import end_of_session_message, withdrawal_of_message
from opencrab.engine.conversation.live_events import Event, TurnMoved, events_of_session_line
from opencrab.ports.conversation.answers import AnswerPart
from opencrab.ports.home import Home

STREAMED = "streamed_answer"
"""The kind of these documents; a session owns them, and the turn is their id."""

_NEWEST = 64
"""How many lines are read to find the one that says what was sent."""


class StreamedAnswer(Value):
    """The message of a turn's model call, by the ids of the watchers to whom it was sent.

    `digest` is that of its text once it is complete, "" before. Whoever is in `begun` and not in
    `whole` has lost some of it.
    """

    message_id: str
    begun: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    digest: str = ""


def session_answer_digest(text: str) -> str:
    """Return the digest of a text in a StreamedAnswer."""
    return content_hash(text.encode("utf-8", "replace"))


def load_streamed_session_answer(home: Home, session_id: str, turn_id: str) -> Document | None:
    """Return the record of what was sent of a turn's answer."""
    return home.facts.get(session_id, STREAMED, turn_id)


@dataclass
class StreamedAnswers:
    """The records that matter to a batch of lines and turns; each is read once for each of them.

    Create it for one batch: it reads a record after the line that ends it, and keeps that.
    """

    home: Home
    _known: dict[tuple[str, str, str], StreamedAnswer | None] = field(default_factory=dict)
    _said: dict[tuple[str, str], bool] = field(default_factory=dict)

    def of_line(self, line: Line, watcher_id: str) -> Iterator[Event]:
        """Yield the events of a line; only the end of the message for who has all its words."""
        streamed = self._ended_by(line)
        if streamed is None or watcher_id not in streamed.begun:
            yield from events_of_session_line(line)
            return
        part = AnswerPart(line.session_id, line.speaker_id, line.turn_id or "", 0)
        if watcher_id in streamed.whole:
            yield end_of_session_message(part, streamed.message_id, line)
            return
        yield withdrawal_of_message(part, streamed.message_id, line.at)
        yield from events_of_session_line(line)

    def of_turn(self, moved: TurnMoved, watcher_id: str) -> Iterator[Event]:
        """Yield the end of a message that a turn left open; nothing if its line has ended it."""
        turn = moved.turn
        if moved.status in {TurnStatus.QUEUED, TurnStatus.RUNNING}:
            return
        streamed = self._record(turn.session_id, turn.id, moved.status.value)
        if streamed is None or watcher_id not in streamed.begun:
            return
        if streamed.digest and self._is_said(turn.session_id, turn.id, streamed.digest):
            return
        part = AnswerPart(turn.session_id, turn.agent_id, turn.id, 0)
        yield withdrawal_of_message(part, streamed.message_id, moved.at)

    def _ended_by(self, line: Line) -> StreamedAnswer | None:
        """Return the record of a message that says what a line says."""
        if line.kind is not LineKind.SPEECH or not line.from_agent or line.turn_id is None:
            return None
        found = self._record(line.session_id, line.turn_id, str(line.sequence))
        return found if found and found.digest == session_answer_digest(line.text) else None

    def _record(self, session_id: str, turn_id: str, at: str) -> StreamedAnswer | None:
        key = session_id, turn_id, at
        if key not in self._known:
            fact = load_streamed_session_answer(self.home, session_id, turn_id)
            self._known[key] = None if fact is None else fact.read(StreamedAnswer)
        return self._known[key]

    def _is_said(self, session_id: str, turn_id: str, digest: str) -> bool:
        """Check whether a line of a turn says a text; lines far back are taken to say it."""
        key = turn_id, digest
        if key not in self._said:
            rows = self.home.journal.lines(session_id, limit=_NEWEST, newest_first=True)
            own = [line for line in rows if line.turn_id == turn_id]
            is_far_back = not own and len(rows) == _NEWEST
            self._said[key] = is_far_back or any(
                line.kind is LineKind.SPEECH and session_answer_digest(line.text) == digest
                for line in own
            )
        return self._said[key]
