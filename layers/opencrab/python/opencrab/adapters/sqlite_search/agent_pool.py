"""A pool with one thing for each agent, of which only some are open at once."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, Protocol, TypeVar

COPIES = 20
"""Most indexes open at once; the least recently used one is closed first."""


class AgentResource(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Close it; it is not used again."""


Pooled = TypeVar("Pooled", bound=AgentResource)


@dataclass
class _Place(Generic[Pooled]):
    """What an agent has, and how many threads use it or wait for it."""

    held: Pooled
    lock: Lock = field(default_factory=Lock)
    users: int = 0


class AgentPool(Generic[Pooled]):
    """Things by agent, made on first use, each used by one thread at a time."""

    def __init__(self, make: Callable[[str], Pooled], *, most: int) -> None:
        self._make = make
        self._most = most
        self._lock = Lock()
        self._places: OrderedDict[str, _Place[Pooled]] = OrderedDict()

    @contextmanager
    def acquire(self, agent_id: str) -> Iterator[Pooled]:
        """Yield what an agent has, locked for this thread."""
        place = self._entered(agent_id)
        try:
            with place.lock:
                yield place.held
        finally:
            with self._lock:
                place.users -= 1

    def close(self) -> None:
        """Close everything."""
        with self._lock:
            for place in self._places.values():
                place.held.close()
            self._places.clear()

    def _entered(self, agent_id: str) -> _Place[Pooled]:
        with self._lock:
            place = self._places.get(agent_id)
            if place is None:
                place = self._places[agent_id] = _Place(self._make(agent_id))
            self._places.move_to_end(agent_id)
            place.users += 1
            idle = [each for each, other in self._places.items() if not other.users]
            for each in idle[: max(len(self._places) - self._most, 0)]:
                self._places.pop(each).held.close()
            return place
