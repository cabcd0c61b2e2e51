"""Agents: who they are to others, how they think, and their owner's limits."""

from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.approval import ApprovalRules
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy
from opencrab.domain.models.routing import LlmConfig, Routing
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.value import Identifier, Language, MicroUsd, Name, ShortText, Value

METADATA_ENTRIES = 32


class Role(StrEnum):
    """The part that an agent plays in a session."""

    DISCUSSANT = "discussant"
    FACILITATOR = "facilitator"
    OBSERVER = "observer"
    CUSTOM = "custom"


_ROLES = {
    Language.JA: {
        Role.FACILITATOR: "ファシリテーター",
        Role.OBSERVER: "オブザーバー",
    },
    Language.EN: {
        Role.FACILITATOR: "facilitator",
        Role.OBSERVER: "observer",
    },
}


class Identity(Value, defer_build=False):
    """The agent as others see it."""

    name: Name
    role: Role = Role.DISCUSSANT
    custom_role: Name | None = None
    job_title: Name | None = None
    organization: Name | None = None
    image_url: (
        Annotated[str, StringConstraints(pattern=r"^https?://\S+$", max_length=2_008)] | None
    ) = None
    metadata: dict[Name, ShortText] = Field(default_factory=dict, max_length=METADATA_ENTRIES)

    @model_validator(mode="after")
    def _custom_roles_have_a_name(self) -> "Identity":
        if (self.role is Role.CUSTOM) != (self.custom_role is not None):
            raise ValueError(
                "custom_role must be set if role is 'custom', and only then: set both or neither"
            )
        return self

    def describe(self, language: Language) -> str:
        """Format the identity as text for a system prompt.

        The usual role is left out: it tells a model nothing.
        """
        usual = self.role is Role.DISCUSSANT
        role = self.custom_role or (None if usual else _ROLES[language][self.role])
        labels = (
            ("名前", "役割", "職種", "所属")
            if language is Language.JA
            else ("Name", "Role", "Job", "Organisation")
        )
        values = (self.name, role, self.job_title, self.organization)
        pairs = zip(labels, values, strict=True)
        return "\n".join(f"{label}: {value}" for label, value in pairs if value)


ModelName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]+:\S+$", max_length=264)]
"""`provider:model`."""


class AgentStatus(StrEnum):
    """Status of an agent: active, dormant until woken, or retired permanently."""

    ACTIVE = "active"
    DORMANT = "dormant"
    RETIRED = "retired"


class Agent(Value):
    """An agent's record: everything stored about it except its soul, identity and state.

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
    interrupt: Interrupt = Field(
        default=Interrupt.AFTER_STEP, exclude_if=lambda chosen: chosen is Interrupt.AFTER_STEP
    )
    heartbeat: Heartbeat = Field(default_factory=Heartbeat)
    world: Identifier | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1

    @property
    def answers(self) -> bool:
        """True if a message may start a turn; it wakes a dormant agent, never a retired one."""
        return self.status is not AgentStatus.RETIRED


def agent_selectable_aliases(agent: Agent, routing: Routing) -> tuple[str, ...]:
    """Return the model aliases an agent may choose for itself; empty if self-selection is off."""
    allowed = routing.self_selection and agent.llm.self_selection is not False
    named = routing.selectable if agent.llm.selectable is None else agent.llm.selectable
    return tuple(name for name in named if name in routing.aliases) if allowed else ()


class Profile(Value):
    """An agent together with its soul and identity, as they are stored, loaded and shown.

    `mind` is the agent state: it is read with the profile and written as a document of its own.
    """

    agent: Agent
    soul: Soul
    identity: Identity
    mind: AgentState = AgentState()

    @classmethod
    def read(
        cls, agent: str, soul: str, identity: str, mind: AgentState | None = None
    ) -> "Profile":
        """Build a profile from its parts, each stored as JSON."""
        parts = _read_parts(agent, soul, identity)
        return cls(agent=parts[0], soul=parts[1], identity=parts[2], mind=mind or AgentState())


@lru_cache(maxsize=128)
def _read_parts(agent: str, soul: str, identity: str) -> tuple[Agent, Soul, Identity]:
    """Return the parts of a profile, which seldom change and are read twice in each turn."""
    return (
        Agent.from_stored(agent),
        Soul.from_stored(soul),
        Identity.from_stored(identity),
    )
