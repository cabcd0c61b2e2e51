"""A context for actions: an agent, a session, and a workspace in a temporary folder."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.local_files import LocalFiles
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.errors import Conflict
from opencrab.domain.models.routing import Routing, Use
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Language
from opencrab.engine.runtime import NothingToFind
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.money.budgets import Budgets
from opencrab.ports.turn.action import ActionContext, ActionReach
from opencrab.ports.turn.journal import SessionHistory
from opencrab.ports.usage.counters import Tallies
from opencrab.ports.usage.ledger import UsageLedger
from tests.clearing import with_nobody_else
from tests.unit.engine.known_models import Known, Named

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
REGISTRY = Registry(GROUPS)
ROUTING = Routing(
    default="openai:gpt",
    uses={Use.THINKING: "smart"},
    aliases={
        "fast": "openai:mini",
        "smart": "openai:gpt",
        "local": "ollama:llama",
        "odd": "x:y",
        "home": "ollama:able",
    },
    selectable=("fast", "smart", "local", "odd", "home"),
)
MODELS = Known(
    (
        Named("openai:gpt"),
        Named("openai:mini", price=None),
        Named("ollama:llama", private=True, functions=False),
        Named("ollama:able", private=True),
    ),
    ROUTING,
)


def agent(language: Language = Language.JA) -> Agent:
    """Mika, in a language."""
    return Agent(id="mika", name="美香", language=language, created_at=NOW, updated_at=NOW)


class OneAgent:
    """`ports.agents.Agents` with Mika alone."""

    def __init__(self) -> None:
        self.agent = agent()

    def get(self, agent_id: str) -> Profile:
        assert agent_id == self.agent.id
        soul, identity = Soul(persona_name="Mika"), Identity(name="Mika")
        return Profile(agent=self.agent, soul=soul, identity=identity)

    def save(self, changed: Agent, **_: Any) -> Agent:
        if changed.version != self.agent.version:
            raise Conflict("another version")
        self.agent = changed.replaced(version=changed.version + 1)
        return self.agent


def context(folder: Path, quota_bytes: int = 1_000_000) -> ActionContext:
    """What an action of Mika's may touch."""
    session = Session(
        id="s1",
        participants=(Participant(agent_id="mika"),),
        created_by="owner",
        created_at=NOW,
        updated_at=NOW,
    )
    turn = Turn(
        id="t1",
        agent_id="mika",
        session_id="s1",
        trigger=Trigger.MESSAGE,
        source=Source.REST,
        authority=Authority.OWNER,
        principal_id="owner",
        group="g",
        body_hash="h",
        created_at=NOW,
    )
    reach = ActionReach(
        files=LocalFiles(folder, quota_bytes=quota_bytes),
        facts=cast(Documents, None),
        history=cast(SessionHistory, None),
        models=MODELS,
        agents=cast(Agents, OneAgent()),
        search=NothingToFind(),
        skills=NothingToFind(),
        usage=cast(UsageLedger, None),
        tallies=cast(Tallies, None),
        budgets=cast(Budgets, None),
    )
    cleared = with_nobody_else(session, turn)
    return ActionContext(agent(), session, turn, "t1-c1", reach, FakeClock(NOW), REGISTRY, cleared)


def prepared(at: ActionContext, name: str, **arguments: Any) -> ActionContext:
    """The context after the action has read its condition, as an intent keeps it."""
    action = REGISTRY.find(name)
    assert action is not None
    assert action.prepare is not None
    condition = action.prepare(action.arguments.model_validate(arguments), at)
    return replace(at, prepared=condition)


def run(at: ActionContext, name: str, **arguments: Any) -> ActionResult:
    """One attempt at a call."""
    action = REGISTRY.find(name)
    assert action is not None
    return action.run(action.arguments.model_validate(arguments), at)


def write(at: ActionContext, path: str, content: str) -> ActionResult:
    """A whole call of ws_write, undisturbed."""
    ready = prepared(at, "ws_write", path=path, content=content)
    return run(ready, "ws_write", path=path, content=content)
