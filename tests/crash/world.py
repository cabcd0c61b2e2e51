"""One installation on a real SQLite file and real files, used for many runs, one after another."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from opencrab.adapters.local_files import Disk, LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agent import Agent, Profile
from opencrab.domain.identity import Identity
from opencrab.domain.session import Participant, Session
from opencrab.domain.soul import Soul
from opencrab.domain.turn import Turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.channel import Channel
from opencrab.ports.home import Home
from opencrab.ports.model import ChatModel
from tests.crash.outside import Bell, Provider, Script, Wall, registry
from tests.crash.scenarios import SCENARIOS, Scenario
from tests.crash.scheduling import Gate, Plan, Scheduler
from tests.crash.watching import Watch

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def _nothing(_descriptor: int) -> None:
    """What a temporary directory needs of fsync."""


QUICK = Disk(fsync=_nothing)


class Hands:
    """A clock whose hands go back to the start of each run."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again, with the same times and ids as before."""
        self._clock = FakeClock(START)
        self.advance, self.now = self._clock.advance, self._clock.now
        self.new_id, self.secret = self._clock.new_id, self._clock.secret
        self.monotonic_ms = self._clock.monotonic_ms


class Mutation:
    """A bug, as wrappers: `below` changes an adapter, `above` what the engine sees."""

    name = "none"
    scenarios: tuple[str, ...] = ()

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

    scheduler: Scheduler
    watch: Watch

    def __init__(self, folder: Path) -> None:
        self.clock = Hands()
        self._blobs = folder.resolve() / "blobs"
        files = LocalFiles(folder / "files", disk=QUICK)
        blobs = LocalBlobs(folder, disk=QUICK)
        self.raw, self.database = open_home(
            folder, self.clock, files=files, blobs=blobs, durable=False
        )
        self.provider = Provider(_scripts())
        self.provider.wrap = self._gated_model
        self.bell = Bell()
        self.walls = {
            kind: Wall(repeatable=kind == "repeatable") for kind in ("repeatable", "plain")
        }
        self.actions = registry(cast(Bell, self._gate(self.bell, "bell")))
        self.casts: list[Cast] = []
        self.problems: list[str] = []
        for scenario in SCENARIOS:
            for agent_id in agent_ids(scenario):
                self.raw.agents.create(_profile(scenario, agent_id))

    def close(self) -> None:
        """Give up the file."""
        self.database.close()

    def prepare(self, scenarios: tuple[Scenario, ...], plan: Plan, mutation: Mutation) -> Runtime:
        """Wipe the last run and set the stage for the next one."""
        self._wipe()
        for wall in self.walls.values():
            wall.reset(sum(scenario.wall_failures for scenario in scenarios))
        self.scheduler = Scheduler(plan)
        self.problems = []
        self.watch = Watch(self.clock.now, lambda: self.scheduler.current)
        channels = {kind: self._gate(wall, "channel") for kind, wall in self.walls.items()}
        runtime = Runtime(
            home=self._gated(mutation.below(self.raw, self)),
            clock=self.clock,
            models=self.provider,
            actions=self.actions,
            channels={kind: cast(Channel, gate) for kind, gate in channels.items()},
            rules=scenarios[0].rules,
        )
        runtime = mutation.above(runtime, self)
        self.casts = [
            Cast(self, scenario, self._session(f"s{place}", scenario), runtime)
            for place, scenario in enumerate(scenarios)
        ]
        return runtime

    def stored(self, agent_id: str, path: str) -> bytes | None:
        """What a file holds now."""
        if self.raw.files.info(agent_id, path) is None:
            return None
        return self.raw.files.read(agent_id, path)[1]

    def _wipe(self) -> None:
        """Undo the last run: exactly the files and blobs that it was seen to write, by name."""
        if hasattr(self, "watch"):
            for agent_id, path in self.watch.written:
                if self.raw.files.info(agent_id, path) is not None:
                    self.raw.files.delete(agent_id, path)
            for digest in self.watch.blobs:
                (self._blobs / digest[:2] / digest[2:]).unlink(missing_ok=True)
        with self.database.writing() as items:
            items.execute("DELETE FROM item WHERE pk<'AGENT#' OR pk>='AGENT$'")
            for table in ("queue", "sent", "feed"):
                items.execute(f"DELETE FROM {table}")  # noqa: S608 - the names above
        self.clock.reset()
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

    def _gated(self, home: Home) -> Home:
        """The home with an I/O point before and after every call of every port."""
        ports: dict[str, Any] = {
            name: self._gate(getattr(home, name), name, getattr(self.watch, f"on_{name}", None))
            for name in Home.__dataclass_fields__
        }
        return replace(home, **ports)

    def _gated_model(self, model: ChatModel) -> ChatModel:
        return cast(ChatModel, self._gate(model, "model"))

    def _gate(self, target: object, port: str, watch: Callable[..., None] | None = None) -> Gate:
        return Gate(target, port, lambda: self.scheduler, watch)


def agent_ids(scenario: Scenario) -> tuple[str, ...]:
    """One agent a script, named after the scenario."""
    return tuple(f"{scenario.name}-{place}" for place in range(len(scenario.scripts)))


def _scripts() -> dict[str, Script]:
    return {
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
        day_limit_micro_usd=scenario.day_limit,
        created_at=START,
        updated_at=START,
    )
    return Profile(agent=agent, soul=Soul(persona_name="Crab"), identity=Identity(name="Crab"))
