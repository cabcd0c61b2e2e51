"""A context for actions that find, remember and forget: a real home in a temporary folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from opencrab.actions import Registry, action_search, speech
from opencrab.actions.memory import beliefs_and_notes, recall
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import Audience, Instruction, Line, LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Language
from opencrab.ports.home import Home
from opencrab.ports.skills import StandardSkills
from opencrab.ports.turn.action import ActionContext, ActionReach
from tests.clearing import with_nobody_else
from tests.contract.homes import sqlite
from tests.searching import searching
from tests.unit.engine.known_models import Known

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
REGISTRY = Registry((speech.group, recall.group, action_search.group, beliefs_and_notes.group))


def run(at: ActionContext, name: str, /, **arguments: Any) -> ActionResult:
    """One attempt at a call that needs no preparation."""
    action = REGISTRY.find(name)
    assert action is not None
    return action.run(action.arguments.model_validate(arguments), at)


@dataclass
class Desk:
    """Mika's place: her home, its clock, and one context for all that she does."""

    home: Home
    clock: FakeClock
    at: ActionContext

    def on_behalf_of(
        self, authority: Authority, *, taint: bool = False, person: str = "owner"
    ) -> None:
        """Another turn, for somebody else."""
        turn = self.at.turn.replaced(authority=authority, taint=taint, principal_id=person)
        cleared = with_nobody_else(self.at.session, turn)
        self.at = replace(self.at, turn=turn, clearance=cleared)

    def do(self, name: str, /, **arguments: Any) -> ActionResult:
        """One whole call: prepared, run, and its facts committed."""
        action = REGISTRY.find(name)
        assert action is not None
        checked = action.arguments.model_validate(arguments)
        prepared = action.prepare(checked, self.at) if action.prepare else {}
        result = action.run(checked, replace(self.at, prepared=prepared))
        if result.facts:
            self.home.facts.commit(*result.facts)
        self.clock.advance(1)
        return result

    def data(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """What a call that succeeds answers."""
        result = self.do(name, **arguments)
        assert result.success, result.error
        return result.data or {}

    def memory(self, memory_id: str) -> Memory:
        """A memory as it is stored."""
        fact = self.home.facts.get("mika", MEMORY, memory_id)
        assert fact is not None
        return fact.read(Memory)

    def mind(self) -> AgentState:
        """What Mika's mind holds."""
        fact = self.home.facts.get("mika", MIND, MIND)
        return fact.read(AgentState) if fact else AgentState()

    def hear(self, text: str, **changes: Any) -> None:
        """A line in the session, spoken by Taro unless the changes say otherwise."""
        self.clock.advance(1)
        fields: dict[str, Any] = {
            "session_id": "s1",
            "group": "g",
            "kind": LineKind.SPEECH,
            "audience": Audience.ALL,
            "speaker_id": "taro",
            "speaker_name": "太郎",
            "authority": Authority.OWNER,
            "at": self.clock.now(),
        } | changes
        line = Line(text=text, **fields)
        told = Instruction(
            id=self.clock.new_id(), session_id=line.session_id, text=text, by="taro", at=line.at
        )
        self.home.journal.instruct(told, line)


@contextmanager
def desk(folder: Path) -> Iterator[Desk]:
    """Mika in session s1, on behalf of her owner, in Japanese."""
    clock = FakeClock(NOW)
    mika = Agent(id="mika", name="美香", language=Language.JA, created_at=NOW, updated_at=NOW)
    with sqlite(folder, clock) as home:
        profile = Profile(agent=mika, soul=Soul(persona_name="Mika"), identity=Identity(name="M"))
        home.agents.create(profile)
        for session_id in ("s1", "s2"):
            home.sessions.create(_session(session_id))
        reach = ActionReach(
            files=home.files,
            facts=home.facts,
            history=home.journal,
            models=Known((), Routing(default="x:y")),
            agents=home.agents,
            search=searching(home, clock, folder / "search"),
            skills=cast(StandardSkills, None),
            usage=home.usage,
            tallies=home.tallies,
            budgets=home.budgets,
        )
        session, turn = _session("s1"), _turn()
        cleared = with_nobody_else(session, turn)
        at = ActionContext(mika, session, turn, "t1-c1", reach, clock, REGISTRY, cleared)
        yield Desk(home, clock, at)


def _session(session_id: str) -> Session:
    return Session(
        id=session_id,
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
