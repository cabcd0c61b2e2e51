"""What an agent made of its past, over REST: impressions, knowledge, experiences, summaries."""

import re
from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import StringConstraints

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.knowledge_graph import KnowledgeSource
from opencrab.domain.memory.memory import SessionImpression
from opencrab.domain.memory.summary import Summary, SummarySpan
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Value
from opencrab.engine.memory import reading
from opencrab.engine.memory.reading import GraphCursor
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import (
    Page,
    Paged,
    http_page_cursor,
    http_page_of,
    id_in_http_cursor,
    place_in_http_cursor,
    unknown_http_cursor_error,
)
from opencrab.gateways.rest.http.view import View

IMPRESSIONS, GRAPH = "impressions", "graph"
EXPERIENCES, SUMMARIES = "experiences", "summaries"

router = http_routes_below("/api/agents/{agent_id}/memory", "memory")

_SUMMARY = r"S[1-9][0-9]{0,8}"
_PLACE = re.compile(r"(node|edge)/([A-Za-z0-9_\-.]{0,200})")
SummaryId = Annotated[str, StringConstraints(pattern=f"^{_SUMMARY}$"), Path(examples=["S12"])]


class ImpressionSummary(View):
    """An agent's impression of a person or peer; `target_id` stays when names change."""

    target_id: str
    target_name: str
    personality: str
    communication_style: str
    recent_behavior: str
    agreement: str
    notes: str
    tainted: bool
    session_id: str
    turn_id: str
    created_at: datetime
    updated_at: datetime


class ImpressionView(ImpressionSummary):
    """An impression with the notes of each session, newest last."""

    history: tuple[SessionImpression, ...]


class NodeView(View):
    """A node of the knowledge graph."""

    id: str
    label: str
    content: str
    source: KnowledgeSource
    confidence: float
    memory_id: str
    tainted: bool
    turn_id: str
    session_id: str
    updated_at: datetime


class EdgeView(View):
    """A relation between two nodes and its weight, 0..1."""

    origin: str
    target: str
    relation: str
    weight: float
    turn_id: str
    updated_at: datetime


class GraphView(Value):
    """Part of a knowledge graph; `limit` counts nodes and edges together, nodes first."""

    nodes: tuple[NodeView, ...]
    edges: tuple[EdgeView, ...]
    next_cursor: str | None = None


class ExperienceView(View):
    """An experience: what the agent did, its outcome and the lesson; `model` if about one.

    With `retired_at` searches no longer find it; undoing the change brings it back.
    """

    id: str
    experience: str
    outcome: Outcome
    lesson: str
    about_turn: str
    from_person: str
    model: str
    tainted: bool
    turn_id: str
    session_id: str
    at: datetime
    retired_at: datetime | None


class SourceView(Value):
    """The source of a text: lines first to last of a session."""

    session_id: str
    first: int
    last: int


class SummaryView(Value):
    """A summary of part of a session, a day or a month, and the lines it covers.

    `parts` are the summaries that it was made of; `model` wrote it with the prompt
    `prompt_version`.
    """

    id: str
    span: SummarySpan
    title: str
    text: str
    sources: tuple[SourceView, ...]
    parts: tuple[str, ...]
    session_id: str
    hearing: Hearing
    tainted: bool
    model: str
    prompt_version: int
    turn_id: str
    since: datetime
    until: datetime
    at: datetime

    @classmethod
    def of(cls, summary: Summary) -> "SummaryView":
        """Convert a stored summary to its view."""
        shown = {name: getattr(summary, name) for name in cls.model_fields}
        sources = tuple(SourceView(**dict(each)) for each in summary.sources)
        return cls(**shown | {"sources": sources})


@router.get("/impressions")
def list_impressions(
    api: Api, _caller: Owner, agent_id: Id, query: Paged
) -> Page[ImpressionSummary]:
    """List impressions of persons and agents, in order of their ids."""
    after = id_in_http_cursor(IMPRESSIONS, query.cursor)
    found = reading.impressions_in_agent_memory(
        api.runtime.home, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = http_page_of(IMPRESSIONS, found, query.limit, lambda each: each.target_id)
    return Page(items=tuple(map(ImpressionSummary.of, items)), next_cursor=cursor)


@router.get("/impressions/{person_id}")
def get_impression(api: Api, _caller: Owner, agent_id: Id, person_id: Id) -> ImpressionView:
    """Get the impression of one person or agent, session by session."""
    found = reading.find_impression(api.runtime.home, agent_id, person_id)
    return ImpressionView.of(found)


@router.get("/graph")
def get_memory_graph(api: Api, _caller: Owner, agent_id: Id, query: Paged) -> GraphView:
    """Get the knowledge graph: nodes, then weighted relations."""
    place = _place(query.cursor)
    found = reading.memory_knowledge_graph(
        api.runtime.home, agent_id, place=place, limit=query.limit
    )
    on = found.place
    return GraphView(
        nodes=tuple(map(NodeView.of, found.nodes)),
        edges=tuple(map(EdgeView.of, found.edges)),
        next_cursor=None if on is None else http_page_cursor(GRAPH, f"{on.kind}/{on.after}"),
    )


@router.get("/experiences", operation_id="list_experiences")
def list_experiences_in_memory(
    api: Api, _caller: Owner, agent_id: Id, query: Paged
) -> Page[ExperienceView]:
    """List experiences with their outcomes and lessons, newest first."""
    after = id_in_http_cursor(EXPERIENCES, query.cursor)
    found = reading.experiences_in_memory(
        api.runtime.home, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = http_page_of(EXPERIENCES, found, query.limit, lambda each: each.id)
    return Page(items=tuple(map(ExperienceView.of, items)), next_cursor=cursor)


@router.get("/summaries")
def list_summaries(api: Api, _caller: Owner, agent_id: Id, query: Paged) -> Page[SummaryView]:
    """List summaries of topics, days and months, newest first."""
    after = id_in_http_cursor(SUMMARIES, query.cursor)
    if after and not re.fullmatch(_SUMMARY, after):
        raise unknown_http_cursor_error()
    found = reading.summaries_of_agent(
        api.runtime.home, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = http_page_of(SUMMARIES, found, query.limit, lambda each: each.id)
    return Page(items=tuple(map(SummaryView.of, items)), next_cursor=cursor)


@router.get("/summaries/{summary_id}")
def get_summary(api: Api, _caller: Owner, agent_id: Id, summary_id: SummaryId) -> SummaryView:
    """Get a summary with its sources.

    The sources name lines of `/memory/sessions/{session_id}`.
    """
    return SummaryView.of(reading.find_summary(api.runtime.home, agent_id, summary_id))


def _place(cursor: str | None) -> GraphCursor:
    place = place_in_http_cursor(GRAPH, cursor)
    if place is None:
        return GraphCursor()
    found = _PLACE.fullmatch(place)
    if found is None:
        raise unknown_http_cursor_error()
    return GraphCursor(found[1], found[2])
