"""What nights saved of an agent's evidence, for tests; readers compute open days anew."""

from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence, Evidence
from opencrab.ports.documents import Documents


def saved_evidence(facts: Documents, agent_id: str) -> Evidence:
    """The sum of closed days and of the open days, as they are stored."""
    stored = {fact.id: fact for fact in facts.page(agent_id, EVIDENCE, limit=200)}
    standing = stored.pop(STANDING).read(ClosedEvidence) if STANDING in stored else ClosedEvidence()
    days = (fact.read(Evidence) for day, fact in stored.items() if day > standing.closed_to)
    return sum(days, standing.evidence)
