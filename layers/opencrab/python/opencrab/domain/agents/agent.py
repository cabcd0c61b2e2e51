"""Agent: one autonomous somebody, its owner, its language and its limits."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.agents.agent_state import Mind
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.identity import Identity
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.approval import ApprovalRules
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy
from opencrab.domain.models.routing import LlmConfig, Routing
from opencrab.domain.value import Identifier, Language, MicroUsd, Name, ShortText, Value

ModelName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+:\S+$", max_length=264)]
"""`provider:model`."""


class AgentStatus(StrEnum):
    """An agent's life: awake, asleep until woken, or gone for good."""

    ACTIVE = "active"
    DORMANT = "dormant"
    RETIRED = "retired"


class Agent(Value):
    """What OpenCrab keeps about one agent beside its soul and identity.

    `world` is the outside world that it is bound to.
    """

    id: Identifier
    name: Name
    status: AgentStatus = AgentStatus.ACTIVE
    language: Language = Language.EN
    owner: Identifier | None = None
    purpose: ShortText = ""
    model: ModelName | None = None
    llm: LlmConfig = Field(default_factory=LlmConfig)
    policy: Policy = ApprovalPolicy.GUARDED
    approvals: ApprovalRules = Field(default_factory=ApprovalRules)
    day_limit_micro_usd: Annotated[MicroUsd, Field(ge=0, le=10**12)] | None = None
    heartbeat: Heartbeat = Field(default_factory=Heartbeat)
    world: Identifier | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def answers(self) -> bool:
        """Whether a message may start a turn; a message wakes the dormant, never the retired."""
        return self.status is not AgentStatus.RETIRED


def selectable_by(agent: Agent, routing: Routing) -> tuple[str, ...]:
    """The aliases that an agent may choose for itself; none where that is switched off."""
    allowed = routing.self_selection and agent.llm.self_selection is not False
    named = routing.selectable if agent.llm.selectable is None else agent.llm.selectable
    return tuple(name for name in named if name in routing.aliases) if allowed else ()


class Profile(Value):
    """An agent together with its soul and identity, as they are stored, loaded and shown.

    `mind` is read with it and changed as a fact.
    """

    agent: Agent
    soul: Soul
    identity: Identity
    mind: Mind = Mind()

    @classmethod
    def read(cls, agent: str, soul: str, identity: str, mind: Mind | None = None) -> "Profile":
        """A profile whose parts are stored as JSON each."""
        return cls(
            agent=Agent.model_validate_json(agent),
            soul=Soul.model_validate_json(soul),
            identity=Identity.model_validate_json(identity),
            mind=mind or Mind(),
        )
