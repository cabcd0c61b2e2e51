"""Creation: how agents and sessions come about, with every default in one place."""

from typing import Annotated

from pydantic import Field, model_validator

from opencrab.domain.action import ApprovalPolicy, Impact, Policy
from opencrab.domain.agent import Agent, ModelName, Profile
from opencrab.domain.approval import ApprovalRules
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.identity import Identity
from opencrab.domain.session import PARTICIPANTS, Mode, Participant, Session
from opencrab.domain.soul import Soul
from opencrab.domain.value import Identifier, Language, MicroUsd, Name, ShortText, Value
from opencrab.engine.runtime import Runtime


class SoulDraft(Soul):
    """A soul that may leave the persona's name to the agent's."""

    persona_name: Name | None = None  # type: ignore[assignment]  # optional here, and only here


class IdentityDraft(Identity):
    """An identity that may leave its name to the agent's."""

    name: Name | None = None  # type: ignore[assignment]  # optional here, and only here


class NewAgent(Value, defer_build=False):
    """What somebody may decide about a new agent; its name is enough."""

    name: Name
    language: Language | None = None
    purpose: ShortText = ""
    model: ModelName | None = None
    policy: Policy = ApprovalPolicy.GUARDED
    approvals: ApprovalRules = ApprovalRules()
    day_limit_micro_usd: Annotated[MicroUsd, Field(ge=0, le=10**12)] | None = None
    soul: SoulDraft = SoulDraft()
    identity: IdentityDraft = IdentityDraft()


class NewSession(Value, defer_build=False):
    """What somebody may decide about a new session; its participants are enough."""

    participants: Annotated[
        tuple[Identifier, ...], Field(min_length=1, max_length=PARTICIPANTS)
    ] = Field(description="ids of the agents, in the order in which they answer")
    theme: Annotated[ShortText, Field(max_length=500)] = ""
    name: Name | None = None
    mode: Mode | None = Field(
        default=None, description="by default what fits: direct, autonomous, or facilitated"
    )
    max_turns: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    facilitator_id: Identifier | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> "NewSession":
        if len(set(self.participants)) != len(self.participants):
            raise ValueError("participants must be distinct: name each agent once")
        if self.facilitator_id is not None and self.facilitator_id not in self.participants:
            raise ValueError("facilitator_id must be one of the participants: add it to them")
        if self.mode is Mode.FACILITATED and self.facilitator_id is None:
            raise ValueError("mode facilitated needs a facilitator_id: name one of them")
        if self.mode is Mode.DIRECT and len(self.participants) > 1:
            raise ValueError("mode direct takes one participant: use autonomous for several")
        return self

    @property
    def fitting_mode(self) -> Mode:
        """The mode asked for, else the one that the participants suggest."""
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
    """Create an agent with soul and identity in one transaction; its workspace begins empty.

    The same id with the same content answers the agent that is there. Raises Invalid when its
    model cannot be used here or its policy names nothing, Conflict when the id has other content.
    """
    require_model(runtime, new.model)
    require_policy(runtime, new.policy)
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
        day_limit_micro_usd=new.day_limit_micro_usd,
        created_at=now,
        updated_at=now,
    )
    soul = new.soul.model_dump() | {"persona_name": new.soul.persona_name or new.name}
    identity = new.identity.model_dump() | {"name": new.identity.name or new.name}
    profile = Profile(
        agent=agent, soul=Soul.model_validate(soul), identity=Identity.model_validate(identity)
    )
    return runtime.home.agents.create(profile)


def create_session(
    runtime: Runtime, new: NewSession, *, created_by: str, session_id: str | None = None
) -> Session:
    """Create a session between agents that exist and can answer.

    The same id with the same content answers the session that is there. Raises Invalid for an
    unknown participant, Conflict for a retired one.
    """
    for agent_id in new.participants:
        _require_answering(runtime, agent_id)
    now = runtime.clock.now()
    session = Session(
        id=session_id or runtime.clock.new_id(),
        mode=new.fitting_mode,
        theme=new.theme,
        max_turns=new.max_turns,
        participants=tuple(Participant(agent_id=agent_id) for agent_id in new.participants),
        facilitator_id=new.facilitator_id,
        name=new.name,
        created_by=created_by,
        created_at=now,
        updated_at=now,
    )
    return runtime.home.sessions.create(session)


def require_model(runtime: Runtime, name: str | None) -> None:
    """See that an agent's model can be used here; raises Invalid, naming what is missing."""
    if name is None:
        return
    try:
        runtime.models.get(name)
    except Invalid as error:
        raise Invalid(error.message, field="model", cure=error.cure) from error


def require_policy(runtime: Runtime, policy: Policy | None) -> None:
    """See that a list of what runs unasked names impacts and actions only; raises Invalid."""
    if policy is None or isinstance(policy, ApprovalPolicy):
        return
    for name in policy:
        if name not in set(Impact) and runtime.actions.find(name) is None:
            raise Invalid(
                f"there is neither an impact nor an action {name!r}",
                field="policy",
                cure=f"name actions, or impacts: {', '.join(Impact)}",
            )


def _require_answering(runtime: Runtime, agent_id: str) -> None:
    try:
        agent = runtime.home.agents.get(agent_id).agent
    except NotFound as error:
        raise Invalid(error.message, field="participants", cure=error.cure) from error
    if not agent.answers:
        raise Conflict(
            f"agent {agent_id!r} has retired and answers no more",
            field="participants",
            cure="leave it out",
        )
