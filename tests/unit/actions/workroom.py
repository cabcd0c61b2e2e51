"""A context for actions on files: a real home in a temporary folder, and calls step by step."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from opencrab.actions import Registry
from opencrab.actions.workspace import write as workspace
from opencrab.adapters.local_files import LocalFiles
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Language
from opencrab.ports.memory.search import Search
from opencrab.ports.skills import StandardSkills
from opencrab.ports.turn.action import Action, ActionContext, ActionReach
from opencrab.ports.workspace.files import Files
from tests.clearing import with_nobody_else
from tests.contract.homes import sqlite
from tests.unit.engine.known_models import Known

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
REGISTRY = Registry((workspace.group,))


@dataclass
class Room:
    """Mika at work: one context for all that she does."""

    at: ActionContext

    @property
    def files(self) -> Files:
        """Her files, and everybody's."""
        return self.at.reach.files

    def of(self, agent_id: str) -> "Room":
        """The same room with somebody else in it."""
        return Room(replace(self.at, agent=self.at.agent.replaced(id=agent_id)))

    def read_foreign_words(self) -> None:
        """From now on the turn is tainted."""
        self.at = replace(self.at, turn=self.at.turn.replaced(taint=True))

    def begin_another_turn(self) -> None:
        """A clean one."""
        self.at = replace(self.at, turn=self.at.turn.replaced(taint=False))

    def prepared(self, name: str, /, **arguments: Any) -> "Room":
        """After the action has read its condition, as an intent keeps it."""
        action = find(name)
        assert action.prepare is not None
        condition = action.prepare(action.arguments.model_validate(arguments), self.at)
        return Room(replace(self.at, prepared=condition))

    def run(self, name: str, /, **arguments: Any) -> ActionResult:
        """One attempt at a call, its facts not yet committed."""
        action = find(name)
        return action.run(action.arguments.model_validate(arguments), self.at)

    def do(self, name: str, /, **arguments: Any) -> ActionResult:
        """A whole call, undisturbed, with its result committed."""
        room = self.prepared(name, **arguments) if find(name).prepare else self
        result = room.run(name, **arguments)
        if result.facts:
            self.at.reach.facts.commit(*result.facts)
        return result

    def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """What a call that succeeds answers."""
        result = self.do(name, **arguments)
        assert result.success, result.error
        return result.data or {}

    def error(self, name: str, /, **arguments: Any) -> str:
        """What a call that fails answers."""
        result = self.do(name, **arguments)
        assert not result.success, result.data
        return result.error or ""

    def write(self, path: str, content: str) -> ActionResult:
        """A whole call of ws_write."""
        return self.do("ws_write", path=path, content=content)


def find(name: str) -> Action:
    """An action of the workspace."""
    action = REGISTRY.find(name)
    assert action is not None
    return action


@contextmanager
def workroom(folder: Path, quota_bytes: int = 1_000_000) -> Iterator[Room]:
    """Mika in a session, on behalf of her owner, in a clean turn."""
    clock = FakeClock(NOW)
    with sqlite(folder, clock) as home:
        reach = ActionReach(
            files=LocalFiles(folder, quota_bytes=quota_bytes),
            facts=home.facts,
            history=home.journal,
            models=Known((), Routing(default="x:y")),
            agents=home.agents,
            search=cast(Search, None),
            skills=cast(StandardSkills, None),
            usage=home.usage,
            tallies=home.tallies,
            budgets=home.budgets,
        )
        mika = Agent(id="mika", name="美香", language=Language.JA, created_at=NOW, updated_at=NOW)
        session, turn = _session(), _turn()
        cleared = with_nobody_else(session, turn)
        yield Room(ActionContext(mika, session, turn, "t1-c1", reach, clock, REGISTRY, cleared))


def _session() -> Session:
    return Session(
        id="s1",
        participants=(Participant(agent_id="mika"),),
        created_by="owner",
        created_at=NOW,
        updated_at=NOW,
    )


def _turn() -> Turn:
    return Turn(
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
