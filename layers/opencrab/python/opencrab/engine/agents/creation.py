"""Creation of agents and sessions, with every default in one place."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field, model_validator

from opencrab.domain.agents.agent import Agent, Identity, ModelName, Profile, Role
from opencrab.domain.agents.heartbeat import (
    Heartbeat,
    Zone,
    agent_heartbeat_in_zone,
    agent_heartbeat_with_hours_in_zone,
)
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.approval import ApprovalRules
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy
from opencrab.domain.conversation.session import (
    DISCUSSANT,
    FACILITATOR,
    HOPS,
    OBSERVER,
    PARTICIPANTS,
    Mode,
    Participant,
    Session,
)
from opencrab.domain.discussion.turn_taking import scaled_discussion_hop_limit
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.models.routing import ModelReference, Use
from opencrab.domain.name import NewName
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.value import Identifier, Language, MicroUsd, ShortText, Value
from opencrab.engine.agents.event_report import update_event_report_of_agent
from opencrab.engine.agents.vital_signs import create_agent_vital_signs
from opencrab.engine.approvals.approvals import require_valid_approval_policy
from opencrab.engine.models.preferences import require_usable_model
from opencrab.engine.runtime import Rules, Runtime
from opencrab.ports.agents import Agents
from opencrab.ports.models.model import Models


class SoulDraft(Soul):
    """A soul whose persona's name defaults to the agent's name."""

    persona_name: NewName | None = None  # type: ignore[assignment]  # optional here, and only here


class IdentityDraft(Identity):
    """An identity whose name defaults to the agent's name."""

    name: NewName | None = None  # type: ignore[assignment]  # optional here, and only here
    custom_role: NewName | None = None
    job_title: NewName | None = None
    organization: NewName | None = None


class NewAgent(Value, defer_build=False):
    """Settings of a new agent; only its name is required."""

    name: NewName
    language: Language | None = None
    purpose: ShortText = ""
    model: ModelName | None = None
    policy: Policy = ApprovalPolicy.GUARDED
    approvals: ApprovalRules = ApprovalRules()
    interrupt: Interrupt = Interrupt.AFTER_STEP
    day_limit_micro_usd: Annotated[MicroUsd, Field(ge=0, le=10**12)] | None = None
    heartbeat: Heartbeat = Heartbeat()
    time_zone: Zone | None = Field(
        default=None, description="IANA name; by default the installation's"
    )
    soul: SoulDraft = SoulDraft()
    identity: IdentityDraft = IdentityDraft()


class NewSession(Value, defer_build=False):
    """Settings of a new session; only its participants are required."""

    participants: Annotated[
        tuple[Identifier, ...], Field(min_length=1, max_length=PARTICIPANTS)
    ] = Field(description="ids of the agents, in the order in which they answer")
    theme: Annotated[ShortText, Field(max_length=500)] = ""
    name: NewName | None = None
    mode: Mode | None = Field(
        default=None,
        description="by default facilitated if there is a facilitator_id, else direct for one agent"
        " and autonomous for several",
    )
    max_turns: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    facilitator_id: Identifier | None = None
    roles: dict[Identifier, NewName] = Field(
        default_factory=dict,
        max_length=PARTICIPANTS,
        description="discussant, observer (never speaks), or a name of your own, by agent",
    )
    hop_limit: Annotated[int, Field(ge=1, le=HOPS)] | None = Field(
        default=None,
        description="most turns of agents in a row without a message of a person; by default 3 for"
        " each agent, at least 6",
    )
    quorum: Annotated[int, Field(ge=1, le=PARTICIPANTS)] | None = Field(
        default=None,
        description="number of participants who must declare it done to end it; by default all",
    )
    budget_micro_usd: Annotated[MicroUsd, Field(ge=1, le=10**12)] | None = None
    models: dict[Use, ModelReference] = Field(
        default_factory=dict, description="models for this session alone, by use; owner keys only"
    )

    @model_validator(mode="after")
    def _fits_together(self) -> "NewSession":
        if len(set(self.participants)) != len(self.participants):
            raise ValueError("participants must be distinct: list each agent once")
        if self.facilitator_id is not None and self.facilitator_id not in self.participants:
            raise ValueError("facilitator_id must be one of the participants: add it to them")
        if self.mode is Mode.FACILITATED and self.facilitator_id is None:
            raise ValueError("mode facilitated needs a facilitator_id: use one of them")
        if self.mode is Mode.DIRECT and len(self.participants) > 1:
            raise ValueError("mode direct takes one participant: use autonomous for several")
        if not set(self.roles) <= set(self.participants):
            raise ValueError("roles may be set for participants only")
        if self.facilitator_id is not None and self.facilitator_id in self.roles:
            raise ValueError("roles must not include the facilitator")
        if all(self.roles.get(each) == OBSERVER for each in self.participants):
            raise ValueError("roles must leave at least one participant who may speak")
        return self

    @property
    def fitting_mode(self) -> Mode:
        """The requested mode, else the one that suits the facilitator and the participants."""
        if self.mode is not None:
            return self.mode
        if self.facilitator_id is not None:
            return Mode.FACILITATED
        return Mode.DIRECT if len(self.participants) == 1 else Mode.AUTONOMOUS


def create_agent(
    runtime: Runtime,
    new: NewAgent,
    *,
    owner: str | None,
    language: Language = Language.EN,
    agent_id: str | None = None,
) -> Profile:
    """Create an agent with soul and identity in one transaction; its workspace is empty.

    Returns the stored agent if one with this id and content exists. Raises Invalid if its model
    cannot be used here or its policy names an unknown action or impact, and Conflict if the id has
    other content.
    """
    require_usable_model(runtime.models, new.model)
    require_valid_approval_policy(runtime.actions, new.policy)
    now = runtime.clock.now()
    agent = Agent(
        id=agent_id or runtime.clock.new_id(),
        name=new.name,
        language=new.language or language,
        owner=owner,
        purpose=new.purpose,
        model=new.model,
        policy=new.policy,
        approvals=new.approvals,
        interrupt=new.interrupt,
        day_limit_micro_usd=new.day_limit_micro_usd,
        heartbeat=_heartbeat(runtime.rules, new),
        created_at=now,
        updated_at=now,
    )
    soul = new.soul.model_dump() | {"persona_name": new.soul.persona_name or new.name}
    identity = new.identity.model_dump() | {"name": new.identity.name or new.name}
    profile = Profile(
        agent=agent, soul=Soul.model_validate(soul), identity=Identity.model_validate(identity)
    )
    created = runtime.home.agents.create(profile)
    create_agent_vital_signs(runtime, created, reviews=agent.heartbeat.acts_on_its_own)
    update_event_report_of_agent(runtime, created.agent.id)
    return created


def _heartbeat(rules: Rules, new: NewAgent) -> Heartbeat:
    """Return a new agent's heartbeat, by default with the installation's interval and zone."""
    given = agent_heartbeat_with_hours_in_zone(new.heartbeat, new.time_zone or rules.time_zone)
    if new.time_zone is not None:
        given = agent_heartbeat_in_zone(given, new.time_zone, rules.time_zone)
    if "interval_seconds" in new.heartbeat.model_fields_set:
        return given
    return given.replaced(interval_seconds=rules.heartbeat_seconds)


def create_first_session_of_agents(
    runtime: Runtime, new: NewSession, *, created_by: str, session_id: str | None = None
) -> Session:
    """Create a session between agents that exist and have not retired.

    Returns the stored session if one with this id and content exists. Raises Invalid for an unknown
    participant and for a model that cannot be used, Conflict for a retired participant.
    """
    profiles = [_require_answering(runtime.home.agents, agent_id) for agent_id in new.participants]
    _require_models(runtime.models, new, profiles)
    now, discusses = runtime.clock.now(), new.fitting_mode is not Mode.DIRECT
    participants = tuple(_participant(new, profile) for profile in profiles)
    session = Session(
        id=session_id or runtime.clock.new_id(),
        mode=new.fitting_mode,
        theme=new.theme,
        max_turns=new.max_turns,
        participants=participants,
        facilitator_id=new.facilitator_id,
        name=new.name,
        hop_limit=(new.hop_limit or _hop_limit(runtime.rules, participants)) if discusses else None,
        quorum=new.quorum,
        budget_micro_usd=new.budget_micro_usd,
        created_by=created_by,
        created_at=now,
        updated_at=now,
    )
    return runtime.home.sessions.create(session)


def _hop_limit(rules: Rules, participants: Iterable[Participant]) -> int:
    """Return the hop limit of a discussion, which grows with the number of those who may speak."""
    speakers = sum(each.role != OBSERVER for each in participants)
    return scaled_discussion_hop_limit(rules.autonomy.hop_limit, speakers)


def _participant(new: NewSession, profile: Profile) -> Participant:
    """Return an agent's participant entry: its role in this session, else its usual role."""
    agent_id, identity = profile.agent.id, profile.identity
    role: str = identity.custom_role or identity.role.value
    if identity.role is Role.FACILITATOR:
        role = DISCUSSANT
    if agent_id == new.facilitator_id:
        role = FACILITATOR
    return Participant(
        agent_id=agent_id, role=new.roles.get(agent_id, role), models=dict(new.models)
    )


def _require_models(models: Models, new: NewSession, profiles: list[Profile]) -> None:
    """Raise Invalid unless every participant may use the session's models."""
    confined = any(profile.agent.llm.private for profile in profiles)
    for use, name in new.models.items():
        require_usable_model(models, name)
        if confined and not models.get(name).info.private:
            raise Invalid(
                f"model {name!r} is not private, but an agent of this session is",
                field=f"models.{use}",
                cure="use a model that runs on your own machines",
            )


def _require_answering(agents: Agents, agent_id: str) -> Profile:
    try:
        profile = agents.get(agent_id)
    except NotFound as error:
        raise Invalid(error.message, field="participants", cure=error.cure) from error
    if not profile.agent.answers:
        raise Conflict(
            f"agent {agent_id!r} has retired",
            field="participants",
            cure="remove it from participants",
        )
    return profile
