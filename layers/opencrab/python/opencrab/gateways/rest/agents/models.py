"""An agent's models: its own say in which it thinks with, and what its calls came to."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field, model_validator

from opencrab.domain.agents.agent import ModelName, Profile
from opencrab.domain.models.optimization import Aim
from opencrab.domain.models.preferences import ALIASES, AliasName
from opencrab.domain.models.routing import LlmConfig, ModelReference, Sampling, Use
from opencrab.domain.usage.ledger import Grouping, Period, UsageRow, is_usage_row_id
from opencrab.domain.value import Value
from opencrab.engine.insight.costs import UsageReport, costs_for_insight
from opencrab.engine.models.effective_choice import Effective, effective_models
from opencrab.engine.models.preferences import (
    current_model_preferences,
    require_usable_models_of_agent,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.agents.agents import save_agent_changes
from opencrab.gateways.rest.http.access import MetricsReader, Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, set_http_etag
from opencrab.gateways.rest.http.page import (
    Page,
    PageQuery,
    http_page_of,
    place_in_http_cursor,
    unknown_http_cursor_error,
)

LISTING = "calls"

router = http_routes_below("/api/agents/{agent_id}/llm", "models")


class LlmConfigPut(Value, defer_build=False):
    """An agent's model choices as a whole; omitted fields use the installation's.

    `model` is for every use that `models` does not name. A private agent uses private models only.
    `aim` sets what may be learned about the choice of models, and to what end; without `leave` and
    `explore` the settings decide (`trials.model_percent`). `sampling` is how the models of a use
    make answers, where it differs from `[llm.uses]`: temperature (0 to 2), top_p, most tokens of an
    answer, and reasoning effort. What a model does not accept is left out of its calls.
    """

    model: ModelName | None = None
    models: dict[Use, ModelReference] = Field(default_factory=dict)
    self_selection: bool | None = None
    selectable: Annotated[tuple[AliasName, ...], Field(max_length=ALIASES)] | None = None
    private: bool = False
    aim: Aim = Field(default_factory=Aim)
    sampling: dict[Use, Sampling] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _distinct(self) -> "LlmConfigPut":
        if self.selectable and len(set(self.selectable)) != len(self.selectable):
            raise ValueError("selectable must be distinct: list each alias once")
        return self

    @property
    def config(self) -> LlmConfig:
        """The choices as the engine takes them, without the model for every use."""
        named, aim = self.aim.model_fields_set, self.aim
        if "chosen" not in named and named & {"leave", "explore"}:
            aim = aim.replaced(chosen=True)
        fields = {name: getattr(self, name) for name in LlmConfig.model_fields}
        return LlmConfig(**fields | {"aim": aim})


class LlmConfigView(Value):
    """An agent's model choices, and the resulting model of each use.

    `learning` is `aim` as it is in force: what its owner did not choose is that of the settings.
    """

    model: str | None
    models: dict[Use, str]
    self_selection: bool | None
    selectable: tuple[str, ...] | None
    private: bool
    aim: Aim
    learning: Aim
    sampling: dict[Use, Sampling]
    effective: dict[Use, Effective]
    version: int


class MetricsQuery(PageQuery, defer_build=False):
    """The filter of an agent's model calls."""

    period: Period = Period.ALL


class CallMetrics(UsageRow):
    """One model call of an agent; `metrics_id` identifies it permanently."""

    metrics_id: str

    @classmethod
    def of(cls, row: UsageRow) -> "CallMetrics":
        """Convert a row of the ledger to its view."""
        return cls(**dict(row), metrics_id=row.id)


class ReportQuery(Value, defer_build=False):
    """The period and the grouping of a report."""

    period: Period = Period.ALL
    group_by: Grouping | None = Field(
        default=None, description="the field to group calls by; by default all four"
    )


Asked = Annotated[ReportQuery, Query()]


@router.get("/config", operation_id="get_llm_config")
def get_models_of_agent(
    api: Api, _caller: Owner, agent_id: Id, response: Response
) -> LlmConfigView:
    """Get an agent's model choices.

    ETag holds the agent's version.
    """
    current_model_preferences(api.runtime)
    return _llm_config_view(api.runtime, api.runtime.home.agents.get(agent_id), response)


@router.put("/config", operation_id="put_llm_config")
def put_models_of_agent(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[LlmConfigPut], edit: Edit
) -> LlmConfigView:
    """Replace an agent's model choices.

    A running turn keeps its choices; new turns use these.
    """
    current_model_preferences(api.runtime)
    api.runtime.home.agents.get(agent_id)
    require_usable_models_of_agent(api.runtime.models, body.config, body.model)
    changes = {"model": body.model, "llm": body.config}
    return _llm_config_view(
        api.runtime,
        save_agent_changes(api.runtime, agent_id, edit.version, changes),
        edit.response,
    )


@router.get("/metrics", operation_id="list_llm_metrics")
def list_agent_llm_metrics(
    api: Api, _caller: Owner, agent_id: Id, query: Annotated[MetricsQuery, Query()]
) -> Page[CallMetrics]:
    """List an agent's model calls with tokens, costs and times, newest first.

    Single calls are listed for `retention.calls_days` (400); `metrics/summary` counts all.
    """
    runtime, place = api.runtime, place_in_http_cursor(LISTING, query.cursor)
    if place is not None and not is_usage_row_id(place):
        raise unknown_http_cursor_error()
    runtime.home.agents.get(agent_id)
    since = query.period.since(runtime.clock.now())
    found = runtime.home.usage.rows(agent_id, since=since, after=place, limit=query.limit + 1)
    items, cursor = http_page_of(LISTING, found, query.limit, lambda row: row.id)
    return Page(items=tuple(map(CallMetrics.of, items)), next_cursor=cursor)


@router.get("/metrics/summary", operation_id="llm_metrics_summary")
def get_agent_llm_metrics_summary(
    api: Api, _caller: MetricsReader, agent_id: Id, query: Asked
) -> UsageReport:
    """Sum an agent's model calls by model, purpose, task type or complexity.

    All calls of the period count; `complete` is false while some of an earlier version are still
    to be counted.
    """
    return _report(api, agent_id, query)


@router.get("/summary", operation_id="llm_summary")
def get_agent_llm_summary(
    api: Api, _caller: MetricsReader, agent_id: Id, query: Asked
) -> UsageReport:
    """Sum an agent's model calls; the same as `GET .../llm/metrics/summary`."""
    return _report(api, agent_id, query)


def _report(api: Api, agent_id: str, query: ReportQuery) -> UsageReport:
    groupings = tuple(Grouping) if query.group_by is None else (query.group_by,)
    return costs_for_insight(api.runtime, agent_id, query.period, groupings)


def _llm_config_view(runtime: Runtime, profile: Profile, response: Response) -> LlmConfigView:
    agent = profile.agent
    set_http_etag(response, profile.agent.version)
    return LlmConfigView(
        **dict(agent.llm),
        model=agent.model,
        learning=runtime.rules.trials.aim_of(agent.llm.aim),
        effective=effective_models(runtime.models, agent, profile.mind.mixes),
        version=agent.version,
    )
