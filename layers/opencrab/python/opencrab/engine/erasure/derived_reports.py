"""Wordings of an agent's reports that may tell of what is to be forgotten, and their turns."""

from opencrab.domain.document import Document
from opencrab.domain.learning.report_wording import WORDING, WRITTEN, ReportWording
from opencrab.engine.erasure.derived_beliefs import IsAffected
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages


def derived_reports(
    facts: Documents, agent_id: str, means: IsAffected, *, touched: bool
) -> tuple[list[Document], list[str]]:
    """The changes by which they go, and the turns whose records hold the same words.

    A report tells of all turns, skills and memories of its time, and words do not say of which:
    where anything else of the agent is `touched`, all go. Nor is a report known again then, so that
    nobody words one of before.
    """
    changes, turns = [], []
    for fact in all_pages(facts, agent_id, WORDING):
        told = fact.read(ReportWording)
        if touched or means(told.text, turns=(told.turn_id,), times=(told.at,)):
            changes.append(fact.removed())
            turns.append(told.turn_id)
    if touched or means():
        changes += [fact.removed() for fact in all_pages(facts, agent_id, WRITTEN)]
    return changes, turns
