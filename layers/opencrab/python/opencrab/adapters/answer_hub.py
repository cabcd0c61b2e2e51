"""Answers that are still arriving, for all who watch them in the same process."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from weakref import WeakSet

from opencrab.ports.conversation.answers import AnswerPart, Wants

MOST_CHARACTERS = 1_000_000
"""What waits for a slow watcher; beyond it is dropped, as the line of the session has all of it."""

_Call = tuple[str, int]


@dataclass(eq=False)
class HubSubscription:
    """The parts that one watcher has not taken yet; those of one answer are joined."""

    wants: Wants
    _lock: Lock = field(default_factory=Lock)
    _parts: dict[_Call, AnswerPart] = field(default_factory=dict)

    def put(self, part: AnswerPart) -> bool:
        """Add a part; returns whether the subscription was empty before."""
        with self._lock:
            was_empty = not self._parts
            joined = join_answer_parts(self._parts.get((part.turn_id, part.n)), part)
            if len(joined.text) <= MOST_CHARACTERS:
                self._parts[part.turn_id, part.n] = joined
            return was_empty

    def take(self) -> tuple[AnswerPart, ...]:
        """Return what has come since the last call, one part for each answer."""
        with self._lock:
            parts, self._parts = tuple(self._parts.values()), {}
        return parts


class AnswerHub:
    """`ports.conversation.answers.AnswerFeed` within one process.

    A subscription lasts as long as somebody holds it. One that begins in the middle of an answer
    gets all of it. `wake` is called with the id of a session that has something new.
    """

    def __init__(self, wake: Callable[[str], None] = lambda _session_id: None) -> None:
        self._wake = wake
        self._lock = Lock()
        self._boxes = WeakSet[HubSubscription]()
        self._running = dict[_Call, AnswerPart]()

    def follow(self, wants: Wants) -> HubSubscription:
        box = HubSubscription(wants)
        with self._lock:
            self._boxes.add(box)
            for part in self._running.values():
                if wants(part.session_id, part.agent_id):
                    box.put(part)
        return box

    def is_watched(self, session_id: str, agent_id: str) -> bool:
        with self._lock:
            return any(box.wants(session_id, agent_id) for box in self._boxes)

    def publish(self, part: AnswerPart) -> None:
        call = (part.turn_id, part.n)
        with self._lock:
            if part.ended:
                self._running.pop(call, None)
            else:
                self._running[call] = join_answer_parts(self._running.get(call), part)
            boxes = [box for box in self._boxes if box.wants(part.session_id, part.agent_id)]
        # Each gets it; who has not taken the last part yet was woken for that.
        were_empty = [box.put(part) for box in boxes]
        if any(were_empty):
            self._wake(part.session_id)


def join_answer_parts(before: AnswerPart | None, part: AnswerPart) -> AnswerPart:
    """Return one part that says what two in a row said."""
    if before is None or part.starts_over:
        return part
    return replace(before, text=before.text + part.text, ended=part.ended)
