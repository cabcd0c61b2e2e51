"""Documents of schedules, and the counter by which concurrent creations are serialized."""

from dataclasses import dataclass

from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule
from opencrab.domain.document import Document, new_fact
from opencrab.domain.value import Value
from opencrab.ports.documents import Documents

_COUNT = "schedules_made"


class _Made(Value):
    """The number of schedules ever created; its version serializes concurrent creations."""

    count: int


SCHEDULES_AT_ONCE = 100
"""Due schedules that one sweep starts itself."""


@dataclass(frozen=True)
class StartedSchedules:
    """How many schedules a sweep started, the keys of all it tried to, and all that it found."""

    begun: int
    tried: frozenset[tuple[str, str, str]]
    found: tuple[Document, ...] = ()

    @property
    def ahead(self) -> tuple[Document, ...]:
        """What is due soon. An index that is behind may list it before what is due."""
        return tuple(fact for fact in self.found if fact.key not in self.tried)


def schedule_document(schedule: Schedule, stored: Document | None = None) -> Document:
    """Return the document of a schedule, due at its next time; `stored` is the one before."""
    if stored is None:
        fact = new_fact(schedule.agent_id, SCHEDULE, schedule.id, schedule)
    else:
        fact = stored.with_body(schedule)
    return fact.replaced(due_at=schedule.next_at)


def read_schedule_count(facts: Documents, agent_id: str) -> Document | None:
    """Return the document that counts the schedules ever created for an agent, if any."""
    return facts.get(agent_id, _COUNT, _COUNT)


def schedule_count_after(agent_id: str, counted: Document | None, more: int = 1) -> Document:
    """Return the counter with new schedules, so that one of two concurrent creations retries."""
    if counted is None:
        return new_fact(agent_id, _COUNT, _COUNT, _Made(count=more))
    return counted.with_body(_Made(count=counted.read(_Made).count + more))
