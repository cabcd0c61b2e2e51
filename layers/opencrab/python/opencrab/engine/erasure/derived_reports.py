"""Wordings of an agent's reports that may tell of what is to be forgotten, and their turns."""

from opencrab.domain.document import Fact
from opencrab.domain.learning.report_wording import WORDING, WRITTEN, Wording
from opencrab.engine.erasure.derived_beliefs import Means
from opencrab.ports.documents import Facts
from opencrab.ports.paging import all_of


def wordings_kept(
    facts: Facts, agent_id: str, means: Means, *, touched: bool
) -> tuple[list[Fact], list[str]]:
    """The changes by which they go, and the turns whose records hold the same words.

    A report tells of all turns, skills and memories of its time, and words do not say of which:
    where anything else of the agent is `touched`, all go. Nor is a report known again then, so that
    nobody words one of before.
    """
    changes, turns = [], []
    for fact in all_of(facts, agent_id, WORDING):
        told = fact.read(Wording)
        if touched or means(told.text, turns=(told.turn_id,), times=(told.at,)):
            changes.append(fact.removed())
            turns.append(told.turn_id)
    if touched or means():
        changes += [fact.removed() for fact in all_of(facts, agent_id, WRITTEN)]
    return changes, turns
