"""A town of agents and people on a ground of the crash explorer, used for many runs."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from opencrab.actions import Group, Registry
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.errors import Conflict, NotFound, Unavailable
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Language, Value
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.agents import Agents
from opencrab.ports.home import Home
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.turn.journal import Journal
from tests.crash.ground import START, Ground, NoBug
from tests.crash.scheduling import Plan, Scheduler, Straight
from tests.crash.watching import Watch
from tests.crash.weather import CONFLICTS, Memory, Weather
from tests.money.account import Account, Looking
from tests.money.chance import Trouble, changes_by, dice_of, limits_by
from tests.money.vendor import Market

_MIDNIGHT = 15 * 3_600
"""Seconds from the start of a run's first day to its end."""

AGENTS: tuple[dict[str, Any], ...] = (
    {"id": "amy"},
    {"id": "bob", "model": "thrifty:small", "day_limit_micro_usd": 60_000},
    {"id": "chiyo", "model": "dear:big", "language": Language.JA},
    {"id": "dan", "model": "shop:mid", "day_limit_micro_usd": 2_000_000},
)
SESSIONS = (("amy",), ("bob", "chiyo"), ("chiyo",), ("dan", "amy"), ("dan",), ("bob",))


class Town:
    """An installation; `prepare` wipes everything but its agents."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.clock = ground.clock
        self.raw = ground.home
        # Nobody here summarises, so nobody asks for it: a wish would be awaited for ever.
        self.rules = Rules(max_steps=6, max_output_tokens=200, history_lines=8, compact_every=0)
        self.actions = _registry()
        self._begin(Straight(), Weather(), Bug())
        ground.enter(self)

    def _begin(self, plan: Plan, weather: Weather, bug: "Bug") -> None:
        self.weather, self.bug = weather, bug
        self.scheduler = Scheduler(plan)
        self.changed: dict[str, int] = {}
        limits = self.rules.limits
        own = {agent["id"]: agent.get("day_limit_micro_usd") for agent in AGENTS}
        self.account = Account(self.clock.now, lambda: self.scheduler.current, limits, own)
        self.watch: Watch = self.account

    def prepare(self, seed: str, conflicts: float | None, bug: "Bug") -> Runtime:
        """Wipe the last run and set the stage for the next one."""
        self.dice = dice_of(f"town {seed}")
        self.rules = replace(self.rules, limits=limits_by(self.dice))
        self.ground.wipe(self.watch, map(_profile, AGENTS))
        aws = self.ground.name == "aws"
        self.trouble = Trouble(seed, 0.0 if aws else conflicts)
        self._begin(self.trouble, self._weather(seed, conflicts) if aws else Weather(), bug)
        self.clock.advance(self.dice.choice((0, _MIDNIGHT - 60, _MIDNIGHT - 5)))
        for name, agents in enumerate(SESSIONS):
            self._session(f"s{name}", agents)
        self.market = Market(
            dice_of(f"market {seed}"), self.account, self.clock.advance, lambda: self.scheduler
        )
        home = self.ground.gated(bug.below(self.raw, self))
        home = replace(
            home,
            journal=cast(Journal, Looking(home.journal, self.account)),
            agents=cast(Agents, Unsteady(home.agents, self.dice)),
        )
        runtime = Runtime(
            home=home,
            clock=self.clock,
            models=self.market,
            actions=self.actions,
            rules=self.rules,
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        return bug.above(runtime, self)

    @property
    def conflicts_met(self) -> int:
        """How many writes met a made-up conflict."""
        return self.trouble.met + self.weather.met

    def _weather(self, seed: str, conflicts: float | None) -> Weather:
        """How AWS is in a run."""
        dice = dice_of(f"climate {seed}")
        share = dice.choice((0.0, 0.2, CONFLICTS)) if conflicts is None else conflicts
        return Weather(
            conflicts=share,
            lag=dice.choice((0, 0, 30)),
            memory=dice.choice(tuple(Memory)),
            seed=seed,
        )

    def _session(self, session_id: str, agents: tuple[str, ...]) -> None:
        now = self.clock.now()
        self.raw.sessions.create(
            Session(
                id=session_id,
                participants=tuple(Participant(agent_id=agent) for agent in agents),
                created_by="owner",
                created_at=now,
                updated_at=now,
            )
        )

    def set_limits(self) -> None:
        """The owner tightens, loosens or forgets the limits, and chooses other models."""
        self.market.reroute()
        changes = changes_by(self.dice)
        self.raw.budgets.change_limits(changes)
        changed = {**self.changed, **changes}
        self.changed = {name: limit for name, limit in changed.items() if limit is not None}
        self.account.sets(limits=self.rules.limits.changed(self.changed))

    def switch(self, *, frozen: bool) -> None:
        """The owner freezes something, or lets it all run again."""
        now = self.account.moments[-1].frozen
        if not frozen:
            for scope in now:
                self.raw.switches.set(scope, frozen=False)
            self.account.sets(frozen=frozenset())
            return
        scope = self.dice.choice((INSTALLATION, *(agent["id"] for agent in AGENTS)))
        self.raw.switches.set(scope, frozen=True)
        self.account.sets(frozen=now | {scope})

    def speaker(self, runtime: Runtime, number: int) -> Callable[[], None]:
        """Somebody who starts a turn or two: the owner, a user, the public, or a heartbeat."""
        source, authority, who = self.dice.choice(_SPEAKERS)
        session_id = f"s{self.dice.randrange(len(SESSIONS))}"
        beat = source is Source.HEARTBEAT
        message = Message(
            source=source,
            source_id=f"m{number}",
            principal_id=who,
            sender=Sender(id=who, name=who),
            authority=authority,
            parts=(TextPart(text=self.dice.choice(_WORDS)),),
        )

        def speak() -> None:
            trigger = Trigger.HEARTBEAT if beat else Trigger.MESSAGE
            for _ in range(3):
                try:
                    admit_turns_of_message(runtime, session_id, message, trigger=trigger)
                except (Unavailable, Conflict):
                    continue
                return

        return speak


class Unsteady:
    """Agents who are gone when somebody looks, in some runs: their turns must be abandoned."""

    def __init__(self, inner: Any, dice: random.Random) -> None:
        self._inner = inner
        self._dice = dice
        self._share = dice.choice((0.0, 0.0, 0.0, 0.03))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get(self, agent_id: str) -> Profile:
        profile: Profile = self._inner.get(agent_id)
        if self._dice.random() < self._share:
            raise NotFound(f"there is no agent {agent_id!r}")
        return profile


@dataclass
class Bug(NoBug):
    """A seeded bug, as wrappers; this one is none."""

    name: str = "none"

    def below(self, home: Home, town: Town) -> Home:
        """The home as a wrong adapter would make it."""
        return home

    def above(self, runtime: Runtime, town: Town) -> Runtime:
        """The runtime as a wrong engine would use it."""
        return runtime


_SPEAKERS = (
    (Source.REST, Authority.OWNER, "owner"),
    (Source.REST, Authority.USER, "yuki"),
    (Source.DISCORD, Authority.PUBLIC, "stranger"),
    (Source.WEBHOOK, Authority.PUBLIC, "hook"),
    (Source.HEARTBEAT, Authority.SELF, "heart"),
)
_WORDS = ("Hello!", "今日の予定を教えてください。", "Design a database schema. " * 20, "Yes or no?")


class _Nothing(Value):
    """No arguments."""


def _registry() -> Registry:
    """Three actions: one that only looks, one that may happen once, one that cannot be taken."""
    group = Group("money")

    @group.action(impact=Impact.READ, effect=Effect.PURE, ja="見る。", sentences=("Look", "見る"))
    def look(arguments: _Nothing, context: ActionContext) -> ActionResult:
        """Look around."""
        return ActionResult.ok(seen="nothing")

    @group.action(
        impact=Impact.SPEECH, effect=Effect.ONCE, ja="叩く。", sentences=("Knock", "叩く")
    )
    def knock(arguments: _Nothing, context: ActionContext) -> ActionResult:
        """Knock once."""
        return ActionResult.ok(heard="nothing")

    return Registry((group,))


def _profile(agent: dict[str, Any]) -> Profile:
    return Profile(
        agent=Agent(name=agent["id"], created_at=START, updated_at=START, **agent),
        soul=Soul(persona_name="Crab"),
        identity=Identity(name="Crab"),
    )
