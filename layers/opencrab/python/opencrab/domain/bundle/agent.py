"""The agent itself in a bundle: its settings, soul and identity, without its installation."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from opencrab.domain.agents.agent import Agent, Identity, ModelName, Profile
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.approval import ApprovalRules
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy
from opencrab.domain.models.routing import LlmConfig
from opencrab.domain.name import NewName
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.value import Language, MicroUsd, ShortText, Value


class BundledAgent(Value, defer_build=False):
    """An agent's own settings; its id, owner and world belong to an installation.

    `soul.persona_name` and `identity.name` are its names in prompts and lists.
    """

    name: NewName
    language: Language = Language.EN
    purpose: ShortText = ""
    model: ModelName | None = None
    llm: LlmConfig = Field(default_factory=LlmConfig)
    policy: Policy = ApprovalPolicy.GUARDED
    approvals: ApprovalRules = Field(default_factory=ApprovalRules)
    day_limit_micro_usd: Annotated[MicroUsd, Field(ge=0, le=10**12)] | None = None
    interrupt: Interrupt = Interrupt.AFTER_STEP
    heartbeat: Heartbeat = Field(default_factory=Heartbeat)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    soul: Soul
    identity: Identity


def bundled_agent(profile: Profile) -> BundledAgent:
    """Return what a bundle holds of an agent; its approvals' delegates stay here, as people do."""
    agent = profile.agent
    own = {name: value for name, value in agent if name in BundledAgent.model_fields}
    rules = agent.approvals.replaced(delegates=())
    return BundledAgent(
        **(own | {"approvals": rules}), soul=profile.soul, identity=profile.identity
    )


def untrusted_bundled_agent(agent: BundledAgent) -> BundledAgent:
    """Return a stranger's agent without the settings that decide what it may do or spend.

    Its texts stay, which its new owner reads; it does nothing of its own until that is allowed.
    """
    quiet = agent.heartbeat.replaced(enabled=False, channel=None, subscriptions=())
    return BundledAgent(
        name=agent.name,
        language=agent.language,
        purpose=agent.purpose,
        heartbeat=quiet,
        created_at=agent.created_at,
        updated_at=agent.updated_at,
        soul=agent.soul,
        identity=agent.identity,
    )


def profile_of_bundled_agent(
    bundled: BundledAgent, agent_id: str, owner: str, now: datetime
) -> Profile:
    """Return the agent as this installation stores it, at its first version."""
    fields = {
        name: value for name, value in bundled if name not in {"soul", "identity", "created_at"}
    }
    agent = Agent(
        **fields | {"updated_at": bundled.updated_at or now},
        id=agent_id,
        owner=owner,
        created_at=bundled.created_at or now,
    )
    return Profile(agent=agent, soul=bundled.soul, identity=bundled.identity)
