"""Mika as a pupil: the actions of learning, committed to a real store as the engine does it."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

from opencrab.actions import speech
from opencrab.actions.models import select
from opencrab.actions.registry import Registry
from opencrab.actions.skills import learning
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.memory.clearance import NOTHING_WITHHELD, Clearance
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, StandardSkill
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Language
from opencrab.ports.home import Home
from opencrab.ports.turn.action import ActionContext, ActionReach
from tests.unit.actions.bench import NOW, agent

REGISTRY = Registry((learning.group, speech.group, select.group))
WRITE = {"name": "Good Questions", "description": "質問のしかた"}
WRITE |= {"situation_pattern": "質問|question", "guidance": "「なぜ」と尋ねる。"}
TURN = Turn(
    id="t1",
    agent_id="mika",
    session_id="s1",
    trigger=Trigger.MESSAGE,
    source=Source.CLI,
    authority=Authority.OWNER,
    principal_id="owner-key",
    group="s1",
    body_hash="h",
    created_at=NOW,
)


@dataclass(frozen=True)
class Shelf:
    """`ports.skills.StandardSkills` with two skills, one of them on."""

    skills: tuple[StandardSkill, ...] = tuple(
        StandardSkill(
            name=name,
            descriptions={Language.EN: name},
            guidance={Language.EN: f"{name} text", Language.JA: f"{name} 本文"},
            by_default=on,
        )
        for name, on in (("task-execution", True), ("autonomous", False))
    )

    def all(self) -> tuple[StandardSkill, ...]:
        return self.skills

    def find(self, name: str) -> StandardSkill | None:
        return next((skill for skill in self.skills if skill.name == name), None)


@dataclass
class Pupil:
    """Mika, whose calls are committed as the engine commits them."""

    home: Home
    turn: Turn = TURN
    calls: int = 0
    language: Language = Language.JA
    clearance: Clearance = NOTHING_WITHHELD
    trials: TrialSettings = field(default_factory=TrialSettings)
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW))

    def context(self) -> ActionContext:
        """Where the next call runs."""
        facts = self.home.facts
        known = facts.get("mika", MIND, MIND)
        reach = cast(Any, replace)(_NO_REACH, facts=facts, skills=Shelf(), files=self.home.files)
        return ActionContext(
            agent=agent(self.language),
            session=cast(Any, _Session()),
            turn=self.turn,
            key=f"t1-{self.calls}",
            reach=reach,
            clock=self.clock,
            actions=REGISTRY,
            clearance=self.clearance,
            mind=known.read(AgentState) if known else AgentState(),
            trials=self.trials,
        )

    def run(self, name: str, /, **arguments: Any) -> ActionResult:
        """A call without its commit."""
        action = REGISTRY.find(name)
        assert action is not None
        self.calls += 1
        given, context = action.arguments.model_validate(arguments), self.context()
        if action.prepare is not None:
            context = replace(context, prepared=action.prepare(given, context))
        return action.run(given, context)

    def do(self, name: str, /, **arguments: Any) -> ActionResult:
        """A whole call."""
        result = self.run(name, **arguments)
        self.home.facts.commit(*result.facts)
        return result

    def skill(self, name: str = "good-questions") -> AcquiredSkill:
        """A skill as it is stored."""
        fact = self.home.facts.get("mika", SKILL, name)
        assert fact is not None
        return fact.read(AcquiredSkill)

    def live(self) -> list[str]:
        """What the mind knows of."""
        return [each.name for each in self.context().mind.skills]

    def experiences(self) -> list[Experience]:
        """What was lived through, in order."""
        page = self.home.facts.page("mika", EXPERIENCE)
        return [fact.read(Experience) for fact in page]


class _Session:
    id = "s1"


def told(result: ActionResult) -> dict[str, Any]:
    """What a call answered, but for what is said about it."""
    return {k: value for k, value in (result.data or {}).items() if k not in {"hint", "file"}}


_NO_REACH = ActionReach(**{port.name: None for port in fields(ActionReach)})  # type: ignore[arg-type]
