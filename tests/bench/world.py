"""An installation to measure: a durable home in a fresh directory and a model behind real HTTP."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.model_facts import ModelSettings
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.adapters.skill_files import FileSkills
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import Line, LineKind, Message, Sender, TextPart
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.identifier import stable_id
from opencrab.domain.money.budget import Limits, Price
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.models.model import Models
from opencrab.ports.turn.journal import AdmittedMessage

STUB = "tests.bench.stub"
ROOT = Path(__file__).parents[2]


@contextmanager
def model_server(delay_seconds: float = 0.0, pieces: int = 0) -> Iterator[str]:
    """The address of a stub model server in its own process; with pieces it streams."""
    command = [sys.executable, "-m", STUB, str(delay_seconds), str(pieces)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


@dataclass(frozen=True)
class World:
    """One installation and what is needed to talk in it."""

    runtime: Runtime

    def agent(self, name: str) -> str:
        """A new agent's id."""
        now = self.runtime.clock.now()
        agent = Agent(
            id=self.runtime.clock.new_id(),
            name=name,
            language=Language.JA,
            created_at=now,
            updated_at=now,
        )
        profile = Profile(agent=agent, soul=Soul(persona_name=name), identity=Identity(name=name))
        return self.runtime.home.agents.create(profile).agent.id

    def session(self, agent_id: str, lines: int = 0) -> str:
        """A new session's id, with some history in it."""
        now = self.runtime.clock.now()
        session = Session(
            id=self.runtime.clock.new_id(),
            participants=(Participant(agent_id=agent_id),),
            created_by="owner",
            created_at=now,
            updated_at=now,
        )
        self.runtime.home.sessions.create(session)
        for number in range(lines):
            self._line(session.id, agent_id, number)
        return session.id

    def say(
        self, session_id: str, text: str = "買い物のメモを書いてください。"
    ) -> tuple[Turn, ...]:
        """Admit a message."""
        message = Message(
            source=Source.REST,
            source_id=self.runtime.clock.new_id(),
            principal_id="owner",
            sender=Sender(id="owner", name="花子"),
            authority=Authority.OWNER,
            parts=(TextPart(text=text),),
        )
        return admit_turns_of_message(self.runtime, session_id, message)

    def work(self) -> None:
        """Run the next turn to its end."""
        queue = self.runtime.home.turns
        delivery = queue.receive(visibility_seconds=1_800, wait_seconds=0)
        assert delivery is not None
        run_turn(self.runtime, delivery, Pace())
        queue.acknowledge(delivery.receipt)

    def _line(self, session_id: str, agent_id: str, number: int) -> None:
        clock = self.runtime.clock
        line = history_line(clock, session_id, agent_id, number)
        self.runtime.home.journal.admit(AdmittedMessage(clock.new_id(), "seed", (), line))


def history_line(clock: Clock, session_id: str, agent_id: str, number: int) -> Line:
    """One of the things said in a session before, by its user and its agent in turn."""
    own = number % 2 == 1
    return Line(
        session_id=session_id,
        group=stable_id("seed", str(number // 2)),
        kind=LineKind.SPEECH,
        speaker_id=agent_id if own else "owner",
        speaker_name="蟹" if own else "花子",
        from_agent=own,
        authority=Authority.OWNER,
        text=f"{number}番目の発言です。今日は天気がよいので、散歩に行きたいと思っています。",
        at=clock.now(),
    )


def models_at(base_url: str) -> ModelsSettings:
    """The stub at an address, as the only model."""
    price = Price(input_per_million=250_000, output_per_million=2_000_000)
    return ModelsSettings(
        default="stub:stub",
        providers={"stub": ProviderSettings(name="stub", kind="openai", base_url=base_url)},
        models={"stub:stub": ModelSettings(max_input_tokens=32_768, price=price)},
    )


def runtime_with(home: Home, clock: Clock, models: Models) -> Runtime:
    """An installation in a home, in which money is no matter."""
    limits = Limits(agent_day_micro_usd=10**11, installation_day_micro_usd=10**11)
    skills = FileSkills(ROOT / "skills")
    return Runtime(
        home=home,
        clock=clock,
        models=models,
        actions=Registry(GROUPS, skills),
        rules=Rules(limits=limits),
        skills=skills,
        consequences=CONSEQUENCES,
        jobs=JOBS,
    )


@contextmanager
def world(directory: Path, base_url: str, *, durable: bool = True) -> Iterator[World]:
    """An installation in a directory that thinks with the server at an address."""
    clock = SystemClock()
    files, blobs = LocalFiles(directory), LocalBlobs(directory)
    home, database = open_sqlite_home(directory, clock, files=files, blobs=blobs, durable=durable)
    client = HttpConnections()
    models = ProviderModels(lambda: models_at(base_url), lambda: HttpTransport(client))
    try:
        yield World(runtime_with(home, clock, models))
    finally:
        client.close()
        database.close()
