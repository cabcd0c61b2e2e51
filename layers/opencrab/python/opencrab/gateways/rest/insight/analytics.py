"""Analytics over REST: what an agent's models, skills and memories came to, in numbers."""

import re
from typing import Annotated

from fastapi import Query
from pydantic import Field

from opencrab.domain.insight.recommendations import Focus
from opencrab.domain.usage.ledger import Grouping, Period
from opencrab.domain.value import Value
from opencrab.engine.insight import llm_analytics, memory_analytics, skill_analytics
from opencrab.engine.insight.llm_analytics import LlmAnalytics, UsageAnalytics
from opencrab.engine.insight.memory_analytics import MemoryAnalytics
from opencrab.engine.insight.skill_analytics import SkillAnalytics
from opencrab.engine.memory.reading import GraphCursor
from opencrab.gateways.rest.http.access import MetricsReader, Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import (
    Paged,
    http_page_cursor,
    place_in_http_cursor,
    unknown_http_cursor_error,
)

RELATIONS = "relations"

router = http_routes_below("/api/agents/{agent_id}/analytics", "analytics")

_PLACE = re.compile(r"(node|edge)/([A-Za-z0-9_\-.]{0,200})")


class UsageQuery(Value, defer_build=False):
    """The period of a report."""

    period: Period = Period.LAST_MONTH


class LlmQuery(UsageQuery, defer_build=False):
    """The period of a report, its grouping, and its focus."""

    group_by: Grouping = Grouping.MODEL
    focus: Focus = Field(
        default=Focus.ALL, description="sorts the groups and limits the recommendations"
    )


class MemoryAnalyticsView(MemoryAnalytics):
    """The use of an agent's memory, with one page of its knowledge graph."""

    next_cursor: str | None = None


@router.get("/usage")
def get_usage_analytics(
    api: Api, _caller: MetricsReader, agent_id: Id, query: Annotated[UsageQuery, Query()]
) -> UsageAnalytics:
    """Get an agent's calls, cost and turns by day and week, by model and by trigger.

    `as_of` is the last day whose turns are part of the evidence. Unknown values are null.
    """
    return llm_analytics.usage_analytics(api.runtime, agent_id, query.period)


@router.get("/skills")
def get_skill_analytics(api: Api, _caller: Owner, agent_id: Id) -> SkillAnalytics:
    """Get the uses, measured effect and trial of each acquired skill.

    Learning results by week are included.
    """
    return skill_analytics.skill_analytics(api.runtime, agent_id)


@router.get("/llm")
def get_llm_analytics(
    api: Api, _caller: MetricsReader, agent_id: Id, query: Annotated[LlmQuery, Query()]
) -> LlmAnalytics:
    """Get cost and quality of models in a period, by task and over time.

    Recommendations are included. Quality covers all time and excludes the model's own grades;
    `calibration` shows how far those grades can be trusted.
    """
    return llm_analytics.llm_analytics(
        api.runtime, agent_id, query.period, query.group_by, query.focus
    )


@router.get("/memory")
def get_memory_analytics(
    api: Api, _caller: Owner, agent_id: Id, query: Paged
) -> MemoryAnalyticsView:
    """Get the results of memory searches and how many were used.

    The knowledge graph follows in pages.
    """
    found, on = memory_analytics.compute_memory_analytics(
        api.runtime, agent_id, place=_place(query.cursor), limit=query.limit
    )
    cursor = None if on is None else http_page_cursor(RELATIONS, f"{on.kind}/{on.after}")
    return MemoryAnalyticsView(**dict(found), next_cursor=cursor)


def _place(cursor: str | None) -> GraphCursor:
    place = place_in_http_cursor(RELATIONS, cursor)
    if place is None:
        return GraphCursor()
    found = _PLACE.fullmatch(place)
    if found is None:
        raise unknown_http_cursor_error()
    return GraphCursor(found[1], found[2])
