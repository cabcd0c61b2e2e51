"""The texts of an agent's reports that may contain erased data, and the turns that wrote them."""

from opencrab.domain.document import Document
from opencrab.domain.insight.report_wording import WORDING, WRITTEN, ReportWording
from opencrab.engine.erasure.derived_peers import IsAffected
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages


def reports_to_erase(
    facts: Documents, agent_id: str, means: IsAffected, *, touched: bool
) -> tuple[list[Document], list[str]]:
    """Return the removals of report texts, and the turns whose records hold the same words.

    A report covers all turns, skills and memories of its time, and its words do not say which: if
    any other data of the agent is `touched`, all reports go. Marks of written reports go as well,
    so that no earlier report is written again.
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
