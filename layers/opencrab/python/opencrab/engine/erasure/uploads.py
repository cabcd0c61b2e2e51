"""Erasure of uploads: files that people sent go with their words, in the workspace of every agent.

A file of which no message speaks goes too. Files that an agent made from one are reported as ever.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from opencrab.domain.conversation.upload_record import UPLOADED, UploadRecord
from opencrab.domain.document import Document
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import NotFound
from opencrab.domain.workspace.path import FILE_READERS, FOREIGN_NAME, file_name_key
from opencrab.engine.erasure.scope import DataToErase
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages


def uploads_to_erase(facts: Documents, found: DataToErase) -> Iterator[Document]:
    """Yield the records of the uploads that a request covers, in the sessions looked through."""
    if found.wish.scope is ErasureScope.MEMORY:
        return
    for session_id in found.sessions:
        for fact in all_pages(facts, session_id, UPLOADED):
            if _is_asked(found.wish, session_id, fact.read(UploadRecord)):
                yield fact


def erased_upload_references(uploads: tuple[Document, ...]) -> Iterator[str]:
    """Yield the files of uploads as `agent/upload:path`."""
    for uploaded in (fact.read(UploadRecord) for fact in uploads):
        yield from (f"{agent_id}/upload:{uploaded.path}" for agent_id in uploaded.agent_ids)


def erasures_of_uploads(home: Home, uploads: tuple[Document, ...]) -> Iterator[Callable[[], bool]]:
    """Yield the removal of each upload."""
    return (partial(_erase, home, fact) for fact in uploads)


def _is_asked(wish: ErasureRequest, session_id: str, uploaded: UploadRecord) -> bool:
    match wish.scope:
        case ErasureScope.EVERYTHING:
            return True
        case ErasureScope.SESSION:
            return session_id == wish.id
        case ErasureScope.PERSON:
            return uploaded.principal_id == wish.id
        case _:
            return wish.covers(uploaded.at)


def _erase(home: Home, fact: Document) -> bool:
    """Delete an upload with its versions and the marks of its name; its record goes last."""
    uploaded = fact.read(UploadRecord)
    for agent_id in uploaded.agent_ids:
        with suppress(NotFound):
            home.files.delete(agent_id, uploaded.path)
        home.files.delete_versions(agent_id, uploaded.path)
        marks = (
            home.facts.get(agent_id, kind, file_name_key(uploaded.path))
            for kind in (FOREIGN_NAME, FILE_READERS)
        )
        home.facts.commit(*(mark.removed() for mark in marks if mark is not None))
    home.facts.commit(fact.removed())
    return True
