"""Undoing an import that has not ended: all that it wrote is removed, from search indexes too."""

from contextlib import suppress
from itertools import islice

from opencrab.domain.bundle.contents import DOCUMENTS
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.erasure.request import FORGOTTEN, MARKS_KEPT, ErasureMark, ErasureScope
from opencrab.domain.errors import NotFound
from opencrab.domain.memory.memory import REWRITTEN
from opencrab.domain.memory.salient_beliefs import OUTLOOK
from opencrab.domain.memory.write_policy import GATE
from opencrab.domain.workspace.path import FOREIGN_NAME
from opencrab.engine.bundle.record import (
    AGENT_IMPORT,
    AgentImport,
    AgentImportState,
    agent_import_ending_error,
    change_agent_import,
    remove_agent_import,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages

_AT_ONCE = 20
_BESIDE = (GATE, OUTLOOK, REWRITTEN, FOREIGN_NAME)
"""The kinds of documents that an import writes beside those of the bundle."""


def undo_agent_import(runtime: Runtime, import_id: str) -> None:
    """Remove everything that an unfinished import wrote; may be repeated.

    Raises NotFound, and Conflict for an import whose agent is there or about to be.
    """
    home = runtime.home
    record = change_agent_import(home.facts, import_id, _undoing)
    agent_id = record.agent_id
    if _is_there(home, agent_id):
        raise agent_import_ending_error(record.replaced(state=AgentImportState.FINISHING))
    _remove_rows(runtime, agent_id)
    remove_agent_import(home.facts, import_id)


def remove_late_file_of_import(runtime: Runtime, record: AgentImport, path: str) -> None:
    """Remove a file that was written while another request undid the import, or after it.

    Does nothing for one that is being finished, and for one whose agent is there: what comes late
    then is what the agent has already.
    """
    home = runtime.home
    stored = home.facts.get(INSTALLATION_FACTS, AGENT_IMPORT, record.id)
    undone = stored is None or stored.read(AgentImport).state is AgentImportState.UNDOING
    if undone and not _is_there(home, record.agent_id):
        _remove_file(home, record.agent_id, path)


def _remove_rows(runtime: Runtime, agent_id: str) -> None:
    home, now = runtime.home, runtime.clock.now()
    mark = ErasureMark(scope=ErasureScope.EVERYTHING, everything=True, at=now)
    mark_id, ends = runtime.clock.new_id(), now + MARKS_KEPT
    home.facts.commit(new_fact(agent_id, FORGOTTEN, mark_id, mark, expires_at=ends))
    for kind in (*DOCUMENTS, *_BESIDE):
        _remove_documents(home, agent_id, kind)
    for info in home.files.list(agent_id):
        _remove_file(home, agent_id, info.path)
    runtime.search.apply_erasures(agent_id)
    home.eraser.scrub_storage()


def _remove_file(home: Home, agent_id: str, path: str) -> None:
    with suppress(NotFound):
        # Another request may remove it too.
        home.files.delete(agent_id, path)
    home.files.delete_versions(agent_id, path)


def _undoing(record: AgentImport) -> AgentImport:
    if record.state is AgentImportState.FINISHING:
        raise agent_import_ending_error(record)
    return record.replaced(state=AgentImportState.UNDOING)


def _is_there(home: Home, agent_id: str) -> bool:
    try:
        home.agents.get(agent_id)
    except NotFound:
        return False
    return True


def _remove_documents(home: Home, agent_id: str, kind: str) -> None:
    stored = home.facts.get(agent_id, kind, kind)
    if stored is not None:
        home.facts.commit(stored.removed())
    found = all_pages(home.facts, agent_id, kind)
    while some := tuple(islice(found, _AT_ONCE)):
        home.facts.commit(*(fact.removed() for fact in some))
