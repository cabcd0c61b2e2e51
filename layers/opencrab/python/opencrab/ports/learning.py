"""Evidence for readers: the sum of closed days, and each open day."""

from dataclasses import dataclass

from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence, Evidence
from opencrab.ports.documents import Documents

_DAYS = 200
"""A limit above the number of open days that can be stored."""


@dataclass(frozen=True)
class StoredEvidence:
    """All evidence of an agent; `open` is the evidence of days that are not closed, by day.

    `as_of` is the last day that is in it, "" before the first.
    """

    evidence: Evidence
    open: dict[str, Evidence]
    as_of: str


def load_learning_data(facts: Documents, agent_id: str) -> StoredEvidence:
    """Load an agent's evidence of closed and open days in one read."""
    stored = {fact.id: fact for fact in facts.page(agent_id, EVIDENCE, limit=_DAYS)}
    standing = stored.pop(STANDING).read(ClosedEvidence) if STANDING in stored else ClosedEvidence()
    days = {day: fact.read(Evidence) for day, fact in stored.items() if day > standing.closed_to}
    return StoredEvidence(
        evidence=sum(days.values(), standing.evidence),
        open=days,
        as_of=max((*stored, standing.closed_to)),
    )
