"""Curated memory over REST: what an owner gives an agent to know, sees, changes and takes away."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query, Response
from pydantic import Field

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.memory import Category, Earlier, Provenance
from opencrab.domain.memory.write_policy import Ruling
from opencrab.domain.value import Value
from opencrab.engine.memory.curation import MemoryChange, MemoryCurator, NewMemory, StoredMemory
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, IfMatch, parse_http_if_match, set_http_etag
from opencrab.gateways.rest.http.idempotency import REPLAYED, Repeatable
from opencrab.gateways.rest.http.page import Page, PageQuery, http_page_cursor, id_in_http_cursor
from opencrab.gateways.rest.http.view import View

LISTING = "memories"

router = http_routes_below("/api/agents/{agent_id}/memory/curated", "memory")


async def _memories(api: Api, caller: Owner, agent_id: Id) -> MemoryCurator:
    return MemoryCurator(api.runtime, agent_id, caller.principal.id)


Deciding = Annotated[MemoryCurator, Depends(_memories)]


class MemoriesQuery(PageQuery, defer_build=False):
    """The part of the memories that a request asks for."""

    category: Category | None = Field(default=None, examples=["preference"])


class MemorySummary(View):
    """A memory; `hearing` is who may read it, `provenance` its source.

    `merged` counts how often the same was learned again. `tainted`: it is untrusted text.
    """

    id: str
    category: str
    content: str
    provenance: Provenance
    confidence: float
    importance: float
    hearing: Hearing
    guild_id: str | None
    links: tuple[str, ...]
    path: str
    merged: int
    tainted: bool
    session_id: str
    line: int
    turn_id: str
    person_id: str
    created_at: datetime
    updated_at: datetime


class MemoryView(MemorySummary):
    """A memory with its earlier texts, newest last."""

    earlier: tuple[Earlier, ...]


class _Learned(Value):
    """The stored response of a request: it has no texts, because they may be erased later."""

    outcome: Ruling
    memory_id: str


class LearnedView(Value):
    """The result of adding a memory.

    It is `kept` as a memory of its own, `merged` into one that says the same, or has `superseded`
    one that it contradicts.
    """

    outcome: Ruling
    memory: MemoryView


@router.get("")
def list_memories(
    memories: Deciding, query: Annotated[MemoriesQuery, Query()]
) -> Page[MemorySummary]:
    """List memories, newest first."""
    after = id_in_http_cursor(LISTING, query.cursor)
    found, place = memories.page(category=query.category, after=after, limit=query.limit)
    cursor = None if place is None else http_page_cursor(LISTING, place)
    return Page(items=tuple(map(MemorySummary.of, found)), next_cursor=cursor)


@router.post("", status_code=201, response_model=LearnedView)
def create_memory(memories: Deciding, once: Repeatable, body: Strict[NewMemory]) -> Response:
    """Add a memory with the owner as its source.

    A memory is one claim and applies to everybody unless the request says otherwise. If a memory
    says the same, it is confirmed; if a memory contradicts it, that one is replaced.
    """

    def make() -> _Learned:
        taken = memories.add(body)
        return _Learned(outcome=taken.ruling, memory_id=taken.kept.memory.id)

    answer = once.answer(body, make, status=201)
    learned = _Learned.model_validate_json(bytes(answer.body))
    memory = memories.get(learned.memory_id).memory
    shown = LearnedView(outcome=learned.outcome, memory=MemoryView.of(memory))
    headers = {name: answer.headers[name] for name in (REPLAYED,) if name in answer.headers}
    return Response(shown.model_dump_json(), 201, headers, media_type="application/json")


@router.get("/{memory_id}")
def get_memory(memories: Deciding, memory_id: Id, response: Response) -> MemoryView:
    """Get a memory with its history.

    ETag holds its version.
    """
    return _view_with_etag(response, memories.get(memory_id))


@router.patch("/{memory_id}")
def patch_memory(
    memories: Deciding, memory_id: Id, body: Strict[MemoryChange], edit: Edit
) -> MemoryView:
    """Change some fields of a memory.

    If the text changes, the owner becomes its source.
    """
    changed = memories.change(memory_id, body, version=edit.version)
    return _view_with_etag(edit.response, changed)


@router.delete("/{memory_id}", status_code=204)
def delete_memory(memories: Deciding, memory_id: Id, if_match: IfMatch = None) -> None:
    """Delete a memory permanently.

    It is removed from the store, prompts, searches and index copies. The lines it was derived from
    stay; `/memory/forget` finds and removes those too.
    """
    memories.delete(memory_id, version=parse_http_if_match(if_match))


def _view_with_etag(response: Response, kept: StoredMemory) -> MemoryView:
    set_http_etag(response, kept.version)
    return MemoryView.of(kept.memory)
