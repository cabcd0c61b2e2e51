"""Answers that are still arriving, for all who watch them in the same process."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from weakref import WeakSet, ref

from opencrab.ports.conversation.answers import AnswerPart, Wants

MOST_CHARACTERS = 1_000_000
"""What waits for a slow watcher; beyond it is dropped, as the line of the session has all of it."""

_Call = tuple[str, int]


@dataclass(eq=False)
class HubSubscription:
    """The parts that one watcher has not taken yet; those of one answer are joined."""

    wants: Wants
    catch_up: Callable[[], None]
    """Adds what was said before of the answers that are wanted now."""
    _lock: Lock = field(default_factory=Lock)
    _parts: dict[_Call, AnswerPart] = field(default_factory=dict)
    _size: int = 0

    def put(self, part: AnswerPart) -> bool:
        """Add a part; returns whether the subscription was empty before."""
        with self._lock:
            was_empty = not self._parts
            before = self._parts.get((part.turn_id, part.n))
            joined = _join_answer_parts(before, part)
            size = self._size + len(joined.text) - (len(before.text) if before else 0)
            if size <= MOST_CHARACTERS:
                self._parts[part.turn_id, part.n], self._size = joined, size
            return was_empty

    def take(self) -> tuple[AnswerPart, ...]:
        """Return what has come since the last call, one part for each answer."""
        with self._lock:
            parts, self._parts, self._size = tuple(self._parts.values()), {}, 0
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
        box = HubSubscription(wants, lambda: None)
        kept = ref(box)
        box.catch_up = lambda: self._catch_up(kept())
        with self._lock:
            self._boxes.add(box)
        box.catch_up()
        return box

    def _catch_up(self, box: HubSubscription | None) -> None:
        """Give a subscription all that was said so far; a watcher begins anew with it."""
        with self._lock:
            for part in self._running.values() if box is not None else ():
                if box is not None and box.wants(part.session_id, part.agent_id):
                    box.put(replace(part, starts_over=True))

    def is_watched(self, session_id: str, agent_id: str) -> bool:
        with self._lock:
            return any(box.wants(session_id, agent_id) for box in self._boxes)

    def publish(self, part: AnswerPart) -> None:
        call = (part.turn_id, part.n)
        with self._lock:
            if part.ended:
                self._running.pop(call, None)
            elif part.progress is None:
                self._running[call] = _join_answer_parts(self._running.get(call), part)
            boxes = [box for box in self._boxes if box.wants(part.session_id, part.agent_id)]
        # Each gets it; who has not taken the last part yet was woken for that.
        were_empty = [box.put(part) for box in boxes]
        if any(were_empty):
            self._wake(part.session_id)


def _join_answer_parts(before: AnswerPart | None, part: AnswerPart) -> AnswerPart:
    """Return one part that says what two in a row said."""
    if before is None or part.starts_over or part.progress is not None:
        return part
    text = before.text + part.text
    return replace(before, text=text, ended=part.ended, withdrawn=part.withdrawn)
