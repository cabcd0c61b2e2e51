"""What is noted while a run goes on: who owns which turn, what was written, what went wrong."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from opencrab.domain.turn.record import ActionIntent, ApprovalRequest, ModelIntent
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.turn.journal import TurnChange
from opencrab.ports.workspace.files import FileInfo
from tests.crash.scheduling import Task

TRANSACTION_ITEMS = 25
VISIBILITY = timedelta(seconds=1_800)
"""A worker that takes longer than its message stays hidden has lost its turn anyway."""


def items_of(change: TurnChange) -> int:
    """How many items a change touches, as a conditional transaction counts them."""
    parts = (
        change.records,
        change.lines,
        change.utterances,
        change.due,
        change.facts,
        change.draws,
        # A row is counted in a tally, and makes its agent an active one.
        change.usage * 3,
    )
    return 1 + sum(len(part) for part in parts) + (change.session is not None)


class Watch:
    """Sees each call of a port when it has taken effect, below every seeded bug of the engine."""

    def __init__(self, now: Callable[[], datetime], current: Callable[[], Task | None]) -> None:
        self._now = now
        self._current = current
        self.problems: list[str] = []
        self.version = 0
        self.largest = 0
        self.waiting: dict[str, str] = {}
        self.waits: Counter[str] = Counter()
        self.written: dict[tuple[str, str], list[bytes]] = defaultdict(list)
        self.blobs: set[str] = set()
        self._versions: dict[tuple[str, str], str] = {}
        self._owners: dict[str, Task | None] = {}
        self._claimed_at: dict[str, datetime] = {}
        self._running: dict[str, Turn] = {}
        self._stopped: set[str] = set()

    def on_journal(
        self, method: str, arguments: tuple[Any, ...], named: dict[str, Any], answer: Any
    ) -> None:
        """A call of the journal took effect."""
        if method == "claim" and answer is not None:
            self._claimed(answer.turn)
        elif method == "commit":
            self._committed(arguments[0], answer)
        elif method in {"stop", "resume", "decide"}:
            self._told(answer)

    def on_files(
        self, method: str, arguments: tuple[Any, ...], named: dict[str, Any], answer: Any
    ) -> None:
        """A workspace file was perhaps written; an unchanged version is no effect."""
        if method != "write":
            return
        agent_id, path, content = arguments
        info: FileInfo = answer
        if self._versions.get((agent_id, path)) != info.version:
            self._versions[agent_id, path] = info.version
            self.written[agent_id, path].append(content)

    def on_blobs(self, method: str, arguments: tuple[Any, ...], *_rest: object) -> None:
        """A large body was perhaps kept."""
        if method == "put":
            self.blobs.add(arguments[0])

    def on_turns(self, method: str, *_call: object) -> None:
        """The queue may look different now."""
        self.version += 1

    def on_deliveries(self, method: str, *_call: object) -> None:
        """The queue may look different now."""
        self.version += 1

    def _claimed(self, turn: Turn) -> None:
        """One worker a turn and one turn a session, as long as nobody oversleeps."""
        before, owner = self._running.get(turn.id), self._owners.get(turn.id)
        claimer = self._current()
        alive = owner is None or not (owner.finished or owner is claimer)
        if before is not None and alive and self._holds(before) and not _overslept(owner, claimer):
            self.problems.append(f"{turn.id} was taken from a worker under its lease")
        for other in self._running.values():
            if other.id == turn.id or other.session_id != turn.session_id:
                continue
            if not _overslept(claimer, self._owners[other.id]) and self._holds(other):
                self.problems.append(f"{turn.id} was claimed while {other.id} of its session ran")
        self._owners[turn.id], self._running[turn.id] = claimer, turn
        self._claimed_at[turn.id] = self._now()

    def _holds(self, turn: Turn) -> bool:
        """Whether a turn is still its worker's: lease and message have not come back."""
        now = self._now()
        lease = turn.lease_until is not None and turn.lease_until > now
        return lease and now - self._claimed_at[turn.id] < VISIBILITY

    def _told(self, turn: Turn) -> None:
        """Somebody outside wants a turn to stop, to wait or to go on."""
        if turn.stop is None:
            self._stopped.discard(turn.id)
        elif not turn.status.is_end:
            self._stopped.add(turn.id)
        if turn.status is not TurnStatus.WAITING:
            self.waiting.pop(turn.id, None)

    def _committed(self, change: TurnChange, turn: Turn) -> None:
        self.largest = max(self.largest, items_of(change))
        if items_of(change) > TRANSACTION_ITEMS:
            self.problems.append(f"a transaction of {items_of(change)} items for {turn.id}")
        if self._owners.get(turn.id) is not self._current():
            self.problems.append(f"{turn.id} was changed by a worker that had lost it")
        starts = any(
            isinstance(record, ModelIntent | ActionIntent | ApprovalRequest)
            for record in change.records
        )
        if starts and turn.id in self._stopped:
            self.problems.append(f"{turn.id} started something after it was stopped")
        if turn.status is TurnStatus.RUNNING:
            self._running[turn.id] = turn
            return
        self._running.pop(turn.id, None)
        if turn.status is TurnStatus.WAITING:
            self.waiting[turn.id] = turn.session_id
            self.waits[turn.session_id] += 1


def _overslept(*tasks: Task | None) -> bool:
    return any(task is not None and task.slept for task in tasks)
