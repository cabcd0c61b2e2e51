"""Evidence, as an action reads it: what closed days tell together, and each day since."""

from dataclasses import dataclass

from opencrab.domain.evidence import EVIDENCE, STANDING, Evidence, Standing, together
from opencrab.ports.facts import Facts

_DAYS = 60
"""More days than are ever open."""


@dataclass(frozen=True)
class Known:
    """All evidence of an agent, and the open days of it by their names."""

    evidence: Evidence
    open: dict[str, Evidence]


def known(facts: Facts, agent_id: str) -> Known:
    """All that is known of how an agent's turns went, in two reads."""
    standing = facts.get(agent_id, EVIDENCE, STANDING)
    after = "" if standing is None else standing.read(Standing).closed_to
    page = facts.page(agent_id, EVIDENCE, after=after, limit=_DAYS)
    days = [fact for fact in page if fact.id != STANDING]
    return Known(
        evidence=together(standing, days), open={day.id: day.read(Evidence) for day in days}
    )


def evidence_of(facts: Facts, agent_id: str) -> Evidence:
    """All that is known of how an agent's turns went."""
    return known(facts, agent_id).evidence
