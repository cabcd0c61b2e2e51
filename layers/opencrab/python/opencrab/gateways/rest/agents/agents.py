"""Agents: list, create, look at, change and retire them, with their souls and identities."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Header, Response
from pydantic import Field

from opencrab.domain.access.policy import Area
from opencrab.domain.agents.agent import AgentStatus, Identity, ModelName, Profile
from opencrab.domain.agents.heartbeat import Zone, agent_heartbeat_in_zone, time_zone_of_agent
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.approval import ApprovalRules
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.value import Language, MicroUsd, Name, ShortText, Value
from opencrab.engine.access.list_cursor import principal_place_hider
from opencrab.engine.access.visibility import (
    agent_access_resource,
    collect_items_with_access,
    may_principal_read,
)
from opencrab.engine.agents.creation import NewAgent, create_agent
from opencrab.engine.agents.settings import change_agent
from opencrab.engine.runtime import Runtime
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Owner, ProfileReader, Reader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, set_http_etag
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import (
    Page,
    Paged,
    http_cursor_after,
    unhidden_place_in_http_cursor,
)

LISTING = "agents"

router = http_routes_below("/api/agents", "agents")

Limit = Annotated[MicroUsd, Field(ge=0, le=10**12)]


class AgentView(Value):
    """An agent with its soul and identity; `version` grows with every change.

    `world` is the outside world that it is bound to, null without one. `time_zone` is null if it is
    the installation's. `frozen` says that a switch stops it: its own, or that of the installation.
    """

    id: str
    name: str
    status: AgentStatus
    language: Language
    owner: str | None
    purpose: str
    model: str | None
    policy: Policy
    approvals: ApprovalRules
    interrupt: Interrupt
    day_limit_micro_usd: int | None
    world: str | None
    time_zone: str | None
    frozen: bool
    created_at: datetime
    updated_at: datetime
    version: int
    soul: Soul
    identity: Identity

    @classmethod
    def of(cls, profile: Profile, frozen: Collection[str]) -> "AgentView":
        """Convert a stored agent to its view; `frozen` are the scopes that are frozen."""
        shown = {name: value for name, value in profile.agent if name in cls.model_fields}
        is_frozen = INSTALLATION in frozen or profile.agent.id in frozen
        return cls(
            **shown,
            soul=profile.soul,
            identity=profile.identity,
            time_zone=time_zone_of_agent(profile.agent.heartbeat),
            frozen=is_frozen,
        )


class AgentPut(Value, defer_build=False):
    """An agent's settings as a whole; fields that are left out get their defaults."""

    name: Name
    language: Language = Language.EN
    purpose: ShortText = ""
    model: ModelName | None = None
    policy: Policy = ApprovalPolicy.GUARDED
    approvals: ApprovalRules = ApprovalRules()
    interrupt: Interrupt = Interrupt.AFTER_STEP
    day_limit_micro_usd: Limit | None = None


class AgentPatch(Value, defer_build=False):
    """Changes to an agent's settings.

    null resets `model`, `day_limit_micro_usd` and `time_zone` to the installation's values;
    elsewhere it changes nothing.
    """

    name: Name | None = None
    status: AgentStatus | None = Field(default=None, description="active or dormant")
    language: Language | None = None
    purpose: ShortText | None = None
    model: ModelName | None = None
    policy: Policy | None = Field(
        default=None,
        description="strict, guarded, open, or the impacts and actions that run without approval",
    )
    approvals: ApprovalRules | None = None
    interrupt: Interrupt | None = Field(
        default=None,
        description="what a person's next message does to the running answer to the one before: "
        "at_once ends it now, after_step after the model call or action in hand, queue waits",
    )
    day_limit_micro_usd: Limit | None = None
    time_zone: Zone | None = Field(
        default=None, description="IANA name; quiet hours keep their times in the new zone"
    )

    def changes(self) -> dict[str, Any]:
        """Return the fields that change, with their new values."""
        resettable = {"model", "day_limit_micro_usd", "time_zone"}
        return {
            field: value
            for field in self.model_fields_set
            if (value := getattr(self, field)) is not None or field in resettable
        }


@router.get("")
def list_agents(api: Api, caller: Reader, query: Paged) -> Page[AgentView]:
    """List agents in order of their ids."""

    def keep(profiles: Sequence[Profile]) -> list[Profile]:
        return [
            profile
            for profile in profiles
            if may_principal_read(
                caller.principal, agent_access_resource(Area.PROFILE, profile.agent.id)
            )
        ]

    items, place = collect_items_with_access(
        lambda after, limit: api.runtime.home.agents.page(after=after or None, limit=limit),
        keep,
        lambda profile: profile.agent.id,
        after=unhidden_place_in_http_cursor(api.runtime, LISTING, query.cursor),
        limit=query.limit,
        hide=principal_place_hider(api.runtime, LISTING),
    )
    frozen = api.runtime.home.switches.all_frozen() if items else ()
    return Page(
        items=tuple(AgentView.of(each, frozen) for each in items),
        next_cursor=http_cursor_after(LISTING, place),
    )


@router.post(
    "",
    status_code=201,
    response_model=AgentView,
    operation_id="create_agent",
)
def create_agent_with_soul(
    api: Api,
    caller: Owner,
    once: Repeatable,
    body: Strict[NewAgent],
    accept_language: Annotated[
        str | None, Header(description="the agent's language, unless the body names one")
    ] = None,
) -> Response:
    """Create an agent with its soul and identity.

    Only its name is required.
    """
    language = language_of_http_request(accept_language or "")
    asked = body.replaced(language=body.language or language)

    def make() -> AgentView:
        agent_id = once.id_of("agent")
        owner = caller.principal.id
        made = create_agent(api.runtime, asked, owner=owner, agent_id=agent_id)
        return _view(api.runtime, made)

    return once.answer(asked, make, status=201)


@router.get("/{agent_id}")
def get_agent(api: Api, _caller: ProfileReader, agent_id: Id, response: Response) -> AgentView:
    """Get an agent with its soul and identity.

    ETag holds the agent's version.
    """
    return _view_with_etag(api.runtime, response, api.runtime.home.agents.get(agent_id))


@router.put("/{agent_id}")
def put_agent(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[AgentPut], edit: Edit
) -> AgentView:
    """Replace all settings of an agent.

    Its soul and identity stay.
    """
    changes = dict(body)
    return _view_with_etag(
        api.runtime,
        edit.response,
        save_agent_changes(api.runtime, agent_id, edit.version, changes),
    )


@router.patch("/{agent_id}")
def patch_agent(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[AgentPatch], edit: Edit
) -> AgentView:
    """Change the given settings of an agent.

    `status` wakes the agent or makes it dormant.
    """
    if body.status is AgentStatus.RETIRED:
        raise Invalid(
            "status: retiring is permanent", field="status", cure="use DELETE to retire an agent"
        )
    return _view_with_etag(
        api.runtime,
        edit.response,
        save_agent_changes(api.runtime, agent_id, edit.version, body.changes()),
    )


@router.delete("/{agent_id}")
def retire_agent(api: Api, _caller: Owner, agent_id: Id) -> AgentView:
    """Retire an agent permanently.

    It no longer answers; its data is kept.
    """
    profile = api.runtime.home.agents.get(agent_id)
    if profile.agent.answers:
        profile = change_agent(api.runtime, profile, {"status": AgentStatus.RETIRED})
    return _view(api.runtime, profile)


@router.get("/{agent_id}/soul")
def get_soul(api: Api, _caller: ProfileReader, agent_id: Id, response: Response) -> Soul:
    """Get an agent's soul.

    ETag holds the agent's version.
    """
    profile = api.runtime.home.agents.get(agent_id)
    set_http_etag(response, profile.agent.version)
    return profile.soul


@router.put("/{agent_id}/soul")
def put_soul(api: Api, _caller: Owner, agent_id: Id, body: Strict[Soul], edit: Edit) -> Soul:
    """Replace an agent's soul.

    It applies from the next turn on.
    """
    profile = save_agent_changes(api.runtime, agent_id, edit.version, {}, soul=body)
    set_http_etag(edit.response, profile.agent.version)
    return profile.soul


@router.get("/{agent_id}/identity", operation_id="get_identity")
def get_agent_identity(
    api: Api, _caller: ProfileReader, agent_id: Id, response: Response
) -> Identity:
    """Get an agent's identity.

    ETag holds the agent's version.
    """
    profile = api.runtime.home.agents.get(agent_id)
    set_http_etag(response, profile.agent.version)
    return profile.identity


@router.put("/{agent_id}/identity", operation_id="put_identity")
def put_agent_identity(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[Identity], edit: Edit
) -> Identity:
    """Replace an agent's identity.

    It applies from the next turn on.
    """
    profile = save_agent_changes(api.runtime, agent_id, edit.version, {}, identity=body)
    set_http_etag(edit.response, profile.agent.version)
    return profile.identity


def save_agent_changes(
    runtime: Runtime,
    agent_id: str,
    version: int | None,
    changes: dict[str, Any],
    *,
    soul: Soul | None = None,
    identity: Identity | None = None,
) -> Profile:
    """Save changes of an agent that has not retired; raises Conflict if its version differs."""
    profile = runtime.home.agents.get(agent_id)
    if version not in {None, profile.agent.version}:
        raise Conflict(
            f"agent {agent_id!r} is at version {profile.agent.version} now",
            field="If-Match",
            cure="load it again and repeat the change",
        )
    if "time_zone" in changes:
        zone = changes.pop("time_zone")
        changes["heartbeat"] = agent_heartbeat_in_zone(
            profile.agent.heartbeat, zone, runtime.rules.time_zone
        )
    return change_agent(runtime, profile, changes, soul=soul, identity=identity)


def _view_with_etag(runtime: Runtime, response: Response, profile: Profile) -> AgentView:
    set_http_etag(response, profile.agent.version)
    return _view(runtime, profile)


def _view(runtime: Runtime, profile: Profile) -> AgentView:
    return AgentView.of(profile, runtime.home.switches.all_frozen())
