"""An installation on a temporary file, with two agents in one session and no model."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opencrab.actions import Registry, speech
from opencrab.actions.models import select
from opencrab.actions.workspace import write
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import (
    Audience,
    Channel,
    Line,
    LineKind,
    Message,
    Sender,
    TextPart,
)
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.errors import Invalid
from opencrab.domain.models.routing import Routing
from opencrab.domain.turn.record import CallResult, CallState, ModelAnswer, ModelIntent, ModelResult
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import ChatModel, ModelInfo
from opencrab.ports.turn.journal import StepState, TurnChange

QUIET = StepState(frozen=None, instructions=())
"""The state before a step when nobody wants anything."""

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
INFO = ModelInfo(name="scripted:rules", max_input_tokens=32_000, max_output_tokens=4_000)
WEBHOOK = Channel(kind="webhook", address="https://example.com/hook")


class NoModels:
    """Models of an installation that must not think."""

    routing = Routing(default="scripted:rules")

    def get(self, name: str | None) -> ChatModel:
        raise Invalid(f"no model {name!r} in this test")

    def refresh(self, version: int) -> None:
        pass


@dataclass
class World:
    """A runtime, its clock, and short ways to the states that tests begin with."""

    runtime: Runtime
    clock: FakeClock
    messages: int = 0

    def rules(self, **changes: Any) -> None:
        """Other rules from now on."""
        rules = replace(self.runtime.rules, **changes)
        self.runtime = replace(self.runtime, rules=rules)

    def say(self, text: str, *, session_id: str = "s1", **changes: Any) -> tuple[Turn, ...]:
        """The turns that a message of the owner starts."""
        self.messages += 1
        fields: dict[str, Any] = {
            "source": Source.REST,
            "source_id": f"{self.messages}",
            "principal_id": "owner",
            "sender": Sender(id="owner", name="太郎"),
            "authority": Authority.OWNER,
            "parts": (TextPart(text=text),),
        } | changes
        return admit_turns_of_message(self.runtime, session_id, Message(**fields))

    def claimed(self, turn: Turn) -> Turn:
        recorded = self.runtime.home.journal.claim(turn.id, lease_until=NOW, receipt=None)
        assert recorded is not None
        return recorded.turn

    def work(self, turn: Turn) -> TurnWork:
        """A turn in a worker's hands, whatever its records say."""
        recorded = self.runtime.home.journal.claim(turn.id, lease_until=NOW, receipt=None)
        assert recorded is not None
        return load_turn_work(self.runtime, recorded.turn, Transcript.of(recorded.records))

    def begun(self, text: str = "こんにちは", **changes: Any) -> TurnWork:
        """The first agent's turn for a new message."""
        return self.work(self.say(text, **changes)[0])

    def spoken(self, turn: Turn, *texts: str, **changes: Any) -> None:
        """Lines that an agent adds in a turn."""
        held = self.claimed(turn)
        lines = tuple(line(held, text, **changes) for text in texts)
        self.runtime.home.journal.commit(TurnChange(turn=held, expected=held.sequence, lines=lines))


def line(turn: Turn, text: str, **changes: Any) -> Line:
    """A line that the agent of a turn speaks in it."""
    fields: dict[str, Any] = {
        "session_id": turn.session_id,
        "group": turn.group,
        "group_line": turn.trigger_line,
        "kind": LineKind.SPEECH,
        "audience": Audience.ALL,
        "speaker_id": turn.agent_id,
        "speaker_name": turn.agent_id,
        "from_agent": True,
        "authority": turn.authority,
        "turn_id": turn.id,
        "at": NOW,
    } | changes
    return Line(text=text, **fields)


def took_step(
    work: TurnWork, answer: ModelAnswer, *results: CallResult, heard: tuple[str, ...] = ()
) -> None:
    """Let a turn have made one more model call, with what became of its calls."""
    n = work.next_n
    intent = ModelIntent(n=n, model="m", request_hash="h", reserved=0, heard=heard)
    work.transcript.add(intent)
    work.transcript.add(ModelResult(n=n, state=CallState.COMPLETED, answer=answer))
    for result in results:
        work.transcript.add(result)
    work.next_n = n + 1 + len(results)


def _profile(agent_id: str, name: str, language: Language) -> Profile:
    return Profile(
        agent=Agent(
            id=agent_id,
            name=name,
            language=language,
            owner="owner",
            created_at=NOW,
            updated_at=NOW,
        ),
        soul=Soul(persona_name=name),
        identity=Identity(name=name),
    )


@contextmanager
def opened(folder: Path) -> Iterator[World]:
    """Mika speaks Japanese, Ken English; both are in session s1."""
    clock = FakeClock(NOW)
    files, blobs = LocalFiles(folder, quota_bytes=5_000_000), LocalBlobs(folder)
    home, database = open_sqlite_home(folder, clock, files=files, blobs=blobs, durable=False)
    home.agents.create(_profile("mika", "美香", Language.JA))
    home.agents.create(_profile("ken", "Ken", Language.EN))
    participants = (Participant(agent_id="mika"), Participant(agent_id="ken"))
    home.sessions.create(
        Session(
            id="s1",
            participants=participants,
            created_by="owner",
            created_at=NOW,
            updated_at=NOW,
            theme="海の未来",
        )
    )
    actions = Registry((speech.group, write.group, select.group))
    runtime = Runtime(
        home, clock, NoModels(), actions, rules=Rules(), consequences=CONSEQUENCES, jobs=JOBS
    )
    try:
        yield World(runtime, clock)
    finally:
        database.close()
