"""One installation on a ground, used for many runs, one after another."""

from dataclasses import dataclass, field
from typing import cast

from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.turn import Turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.home import Home
from opencrab.ports.models.model import ChatModel
from tests.crash.ground import START, Ground, NoBug
from tests.crash.outside import Bell, Provider, Script, Wall, registry
from tests.crash.scenarios import SCENARIOS, SPARE, Scenario
from tests.crash.scheduling import Gate, Place, Plan, Scheduler, Straight
from tests.crash.watching import Watch
from tests.crash.weather import Weather

ROUTING = Routing(default="fake:none", aliases={"spare": "spare:spare"}, selectable=("spare",))


class Mutation(NoBug):
    """A bug, as wrappers: `below` changes an adapter, `above` what the engine sees."""

    name = "none"
    scenarios: tuple[str, ...] = ()
    looks: tuple[str, ...] = ("singles", "echoes", "sleepers", "outages")
    """Which kinds of runs to look for it in, besides random ones."""

    caught_by = ""
    """The run that a long search found; where the points moved since, the search begins anew."""

    def below(self, home: Home, world: "World") -> Home:
        """The home as a wrong adapter would make it."""
        return home

    def above(self, runtime: Runtime, world: "World") -> Runtime:
        """The runtime as a wrong engine would use it."""
        return runtime


@dataclass
class Cast:
    """One scenario in one session, while it is being played."""

    world: "World"
    scenario: Scenario
    session_id: str
    runtime: Runtime
    promises: list[str] = field(default_factory=list)

    def acknowledged(self, turns: tuple[Turn, ...]) -> None:
        self.promises.extend(turn.id for turn in turns if turn.id not in self.promises)

    @property
    def promised(self) -> tuple[str, ...]:
        return tuple(self.promises)

    @property
    def waiting(self) -> tuple[str, ...]:
        waiting = self.world.watch.waiting
        return tuple(key for key, session in waiting.items() if session == self.session_id)

    @property
    def waits(self) -> int:
        return self.world.watch.waits[self.session_id]

    @property
    def calls_received(self) -> int:
        return self.world.provider.bill.received


class World:
    """An installation; `prepare` wipes everything but its agents."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.clock = ground.clock
        self.raw = ground.home
        self._begin(Straight(), Mutation(), Weather())
        ground.enter(self)
        self.provider = Provider(_scripts())
        self.provider.wrap = self._gated_model
        self.bell = Bell()
        self.walls = {
            kind: Wall(repeatable=kind == "repeatable") for kind in ("repeatable", "plain")
        }
        self.actions = registry(cast(Bell, self._gate(self.bell, "bell")))
        self.casts: list[Cast] = []
        self.problems: list[str] = []
        self.places: dict[tuple[str, tuple[int, ...]], list[Place]] = {}

    def close(self) -> None:
        """Give up the stores."""
        self.ground.close()

    def prepare(
        self,
        scenarios: tuple[Scenario, ...],
        plan: Plan,
        mutation: Mutation,
        weather: Weather | None = None,
    ) -> Runtime:
        """Wipe the last run and set the stage for the next one."""
        self._wipe(scenarios)
        for wall in self.walls.values():
            wall.reset(sum(scenario.wall_failures for scenario in scenarios))
        self._begin(plan, mutation, weather or Weather())
        self.problems = []
        fallback = scenarios[0].fallback if len(scenarios) == 1 else ()
        self.provider.routing = ROUTING.replaced(fallback=fallback)
        channels = {kind: self._gate(wall, "channel") for kind, wall in self.walls.items()}
        runtime = Runtime(
            home=self.ground.gated(mutation.below(self.raw, self)),
            clock=self.clock,
            models=self.provider,
            actions=self.actions,
            channels={kind: cast(DeliveryChannel, gate) for kind, gate in channels.items()},
            rules=scenarios[0].rules,
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        runtime = mutation.above(runtime, self)
        self.casts = [
            Cast(self, scenario, self._session(f"s{place}", scenario), runtime)
            for place, scenario in enumerate(scenarios)
        ]
        return runtime

    def _begin(self, plan: Plan, mutation: Mutation, weather: Weather) -> None:
        self.weather, self.bug = weather, mutation
        self.scheduler = Scheduler(plan)
        self.watch = Watch(self.clock.now, lambda: self.scheduler.current)

    def _wipe(self, scenarios: tuple[Scenario, ...]) -> None:
        profiles = [
            _profile(scenario, agent_id)
            for scenario in scenarios
            for agent_id in agent_ids(scenario)
        ]
        self.ground.wipe(self.watch, profiles)
        self.provider.reset()
        self.bell.rings = []

    def _session(self, session_id: str, scenario: Scenario) -> str:
        now = self.clock.now()
        participants = tuple(Participant(agent_id=agent_id) for agent_id in agent_ids(scenario))
        session = Session(
            id=session_id,
            participants=participants,
            created_by="owner",
            created_at=now,
            updated_at=now,
        )
        return self.raw.sessions.create(session).id

    def _gated_model(self, model: ChatModel) -> ChatModel:
        return cast(ChatModel, self._gate(model, "model"))

    def _gate(self, target: object, port: str) -> Gate:
        return Gate(target, port, lambda: self.scheduler)


def agent_ids(scenario: Scenario) -> tuple[str, ...]:
    """One agent a script, named after the scenario."""
    return tuple(f"{scenario.name}-{place}" for place in range(len(scenario.scripts)))


def _scripts() -> dict[str, Script]:
    return {"spare": SPARE} | {
        agent_id: script
        for scenario in SCENARIOS
        for agent_id, script in zip(agent_ids(scenario), scenario.scripts, strict=True)
    }


def _profile(scenario: Scenario, agent_id: str) -> Profile:
    agent = Agent(
        id=agent_id,
        name=agent_id,
        model=f"fake:{agent_id}",
        policy=scenario.policy,
        interrupt=scenario.interrupt,
        day_limit_micro_usd=scenario.day_limit,
        created_at=START,
        updated_at=START,
    )
    return Profile(agent=agent, soul=Soul(persona_name="Crab"), identity=Identity(name="Crab"))
