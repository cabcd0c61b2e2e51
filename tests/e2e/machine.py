"""A machine that runs `opencrab up` in simulated time: as slow as one likes, killed at any moment.

Its turns run at once, each in a greenlet that gives way while a model thinks; who may run beside
whom is decided as the local runner decides it, by `is_suspect` and the header between two steps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from greenlet import GreenletExit, greenlet

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.home import FILE, sqlite_home_on_database
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.crash import CRASH_RULE, CrashRule
from opencrab.domain.turn.record import ModelAnswer
from opencrab.domain.turn.turn import Turn
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import Pace, is_turn_delivery_suspect, run_turn
from opencrab.ports.home import Home
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatModel, ChatRequest
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.crash.errand import RICH
from tests.crash.outside import Bell, Provider, Reply, Script, registry
from tests.crash.scenarios import message
from tests.e2e.house import START

TICK = 0.125
ANSWER: Script = (Reply("here you are"),)


@dataclass
class Running:
    """One turn on the way; `wakes` is when its model has answered, or its process dies of it."""

    delivery: Delivery
    task: greenlet
    suspect: bool
    wakes: float = 0.0
    deadly: bool = False


@dataclass(frozen=True)
class Slow:
    """A model that takes its time, during which others go on."""

    model: ChatModel
    think: Callable[[str], None]

    @property
    def info(self) -> Any:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        self.think(self.info.name.partition(":")[2])
        return self.model.chat(request, body)


@dataclass
class Machine:
    """One data directory and the processes that live on it, one after another.

    A model call takes `call_seconds`, a start `boot_seconds`. The agents in `deadly` kill their
    process so many seconds after their model call began. A `rule` of its own and a machine that
    does not isolate are for seeded bugs.
    """

    folder: Path
    call_seconds: float
    boot_seconds: float = 0.5
    deadly: dict[str, float] = field(default_factory=dict)
    rules: Rules = RICH
    rule: CrashRule = CRASH_RULE
    isolates: bool = True

    def __post_init__(self) -> None:
        self.clock = FakeClock(START)
        self.scripts: dict[str, Script] = {}
        self.deaths = 0
        self._running: list[Running] = []
        self._alone: Running | None = None
        self._held: list[tuple[Delivery, bool]] = []
        self._current: Running | None = None
        self.start()

    def start(self) -> None:
        """A new process; it takes its time until it is ready."""
        self.clock.advance(self.boot_seconds / 2)
        self._database = Database(self.folder / FILE, durable=False)
        files, blobs = LocalFiles(self.folder / "agents"), LocalBlobs(self.folder)
        self.home: Home = sqlite_home_on_database(
            self._database, self.clock, files=files, blobs=blobs, rule=self.rule
        )
        provider = Provider(self.scripts)
        provider.wrap = lambda model: cast(ChatModel, Slow(model, self._think))
        self.runtime = Runtime(
            home=self.home,
            clock=self.clock,
            models=provider,
            actions=registry(Bell()),
            rules=self.rules,
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        self.clock.advance(self.boot_seconds / 2)

    def kill(self) -> None:
        """The process dies: what it knew is gone, what it held stays taken."""
        for running in self._running:
            running.task.throw(GreenletExit)
        self._running, self._alone, self._held = [], None, []
        self._database.close()

    def say(self, agent_id: str, source_id: str = "m1") -> Turn:
        """Somebody speaks to an agent, which is made if it is new, in a session of its own."""
        if agent_id not in self.scripts:
            self._introduce(agent_id)
        (turn,) = admit_turns_of_message(
            self.runtime, agent_id, message("hello", f"{agent_id}-{source_id}")
        )
        return turn

    def run(self, seconds: float) -> bool:
        """Let time pass; False, with a new process, when a turn killed the old one."""
        for _ in range(round(seconds / TICK)):
            self._begin()
            self.clock.advance(TICK)
            self._database.alive(self.clock.now())
            for running in [each for each in self._running if each.wakes <= self._now()]:
                if running.deadly:
                    self.deaths += 1
                    self.kill()
                    self.start()
                    return False
                self._go_on(running)
        return True

    def turn(self, turn: Turn) -> Turn:
        """A turn's header now."""
        return self.home.journal.header(turn.id)

    def spoken(self, agent_id: str) -> list[str]:
        """What was said in an agent's session, after what it was told."""
        lines = self.home.journal.lines(agent_id, after=1, limit=1_000)
        return [line.text for line in lines if line.kind in {LineKind.SPEECH, LineKind.SYSTEM}]

    def close(self) -> None:
        """Give up the folder."""
        self.kill()

    def _begin(self) -> None:
        while True:
            delivery = self.home.turns.receive(visibility_seconds=1_800, wait_seconds=0)
            if delivery is None:
                break
            suspect = self.isolates and is_turn_delivery_suspect(
                self.runtime.home.journal, delivery
            )
            self._held.append((delivery, suspect))
        for held in list(self._held):
            delivery, suspect = held
            if self._alone is not None or (suspect and self._running):
                continue
            self._held.remove(held)
            running = Running(delivery, greenlet(self._carry), suspect)
            self._running.append(running)
            self._alone = running if suspect else None
            self._go_on(running)

    def _go_on(self, running: Running) -> None:
        self._current = running
        running.task.switch(running) if not running.task else running.task.switch()
        if running.task.dead:
            self._running.remove(running)
            if self._alone is running:
                self._alone = None

    def _carry(self, running: Running) -> None:
        pace = Pace(between_steps=self._between_steps)
        if run_turn(self.runtime, running.delivery, pace) is MessageOutcome.FINISHED:
            self.home.turns.acknowledge(running.delivery.receipt)

    def _between_steps(self, turn: Turn) -> None:
        if self._alone is self._current and not turn.is_suspect:
            self._alone = None

    def _think(self, agent_id: str) -> None:
        running = self._current
        assert running is not None
        running.deadly = agent_id in self.deadly
        running.wakes = self._now() + self.deadly.get(agent_id, self.call_seconds)
        parent = running.task.parent
        assert parent is not None
        parent.switch()

    def _now(self) -> float:
        return self.clock.now().timestamp()

    def _introduce(self, agent_id: str) -> None:
        self.scripts[agent_id] = ANSWER
        agent = Agent(
            id=agent_id,
            name=agent_id,
            model=f"fake:{agent_id}",
            created_at=START,
            updated_at=START,
        )
        soul, identity = Soul(persona_name=agent_id), Identity(name=agent_id)
        self.home.agents.create(Profile(agent=agent, soul=soul, identity=identity))
        self.home.sessions.create(
            Session(
                id=agent_id,
                participants=(Participant(agent_id=agent_id),),
                created_by="owner",
                created_at=START,
                updated_at=START,
            )
        )
