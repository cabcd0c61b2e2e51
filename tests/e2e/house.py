"""A whole installation in any home, whose work is done step by step by the test itself."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from opencrab.adapters.dynamodb.table import delete_dynamodb_item
from opencrab.adapters.sqlite.agents import SqliteAgents
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import Audience, Instruction, Line, LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.record import ModelAnswer
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.admission import admit_guidance_for_turns, admit_turns_of_message
from opencrab.engine.turn.background import run_background_turn
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.home import Home
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatModel, ChatRequest
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue
from tests.contract.homes import OpenHome
from tests.crash.outside import Bell, Provider, Script, Wall, registry
from tests.crash.scenarios import message
from tests.crash.watching import items_of

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class Counted:
    """A port whose calls are counted, with the size of each change that passed."""

    def __init__(self, target: object, port: str, house: "House") -> None:
        self._target = target
        self._port = port
        self._house = house

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)

        def call(*arguments: Any, **named: Any) -> Any:
            self._house.calls[f"{self._port}.{method}"] += 1
            if (self._port, method) == ("journal", "commit"):
                self._house.transactions.append(items_of(arguments[0]))
            return inner(*arguments, **named)

        return call if callable(inner) else inner


@dataclass(frozen=True)
class Interrupted:
    """A model to which something happens before it answers."""

    model: ChatModel
    happens: Callable[[], object]

    @property
    def info(self) -> Any:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        self.happens()
        return self.model.chat(request, body, watch)


class House:
    """Agents, a session `s`, and everything that the handlers do, called by hand."""

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules | None = None) -> None:
        self.clock = FakeClock(START)
        self._open = ExitStack()
        self.home = self._open.enter_context(opens(folder, self.clock))
        self.calls: Counter[str] = Counter()
        self.transactions: list[int] = []
        self.scripts: dict[str, Script] = {}
        self.provider = Provider(self.scripts)
        self.bell = Bell()
        self.wall = Wall(repeatable=True)
        ports: dict[str, Any] = {
            name: Counted(getattr(self.home, name), name, self)
            for name in Home.__dataclass_fields__
        }
        self.runtime = Runtime(
            home=replace(self.home, **ports),
            clock=self.clock,
            models=self.provider,
            actions=registry(self.bell),
            channels={"wall": self.wall},
            rules=rules or Rules(),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )

    def close(self) -> None:
        """Give up the home."""
        self._open.close()

    def agent(self, name: str, script: Script, language: Language = Language.EN) -> Agent:
        """An agent who thinks with a script."""
        self.scripts[name] = script
        agent = Agent(
            id=name,
            name=name,
            language=language,
            model=f"fake:{name}",
            owner="owner",
            created_at=START,
            updated_at=START,
        )
        profile = Profile(agent=agent, soul=Soul(persona_name=name), identity=Identity(name=name))
        return self.home.agents.create(profile).agent

    def lose_agent(self, agent_id: str) -> None:
        """Remove an agent as nothing in the product does."""
        agents: Any = self.home.agents
        if isinstance(agents, SqliteAgents):
            with agents._database.write_transaction() as items:
                items.delete(f"AGENT#{agent_id}", "A")
        else:
            agents._table.write(delete_dynamodb_item(f"AGENT#{agent_id}", "A"))

    def session(self, *agents: Agent, **fields: Any) -> None:
        """The session `s` of these agents; with a mode and a `hop_limit` they discuss."""
        self.home.sessions.create(
            Session(
                id="s",
                participants=tuple(Participant(agent_id=agent.id) for agent in agents),
                created_by="owner",
                created_at=START,
                updated_at=START,
            ).replaced(**fields)
        )

    def say(
        self, text: str, source_id: str = "m1", *, channel: str | None = None, **changes: Any
    ) -> tuple[Turn, ...]:
        """A message of the owner, as every gateway admits it, or of whom the changes say."""
        said = message(text, source_id, channel).replaced(**changes)
        return admit_turns_of_message(self.runtime, "s", said)

    def mentor(self, text: str) -> None:
        """An instruction of the owner to the agents of the session, which starts no turn."""
        at = self.clock.now()
        line = Line(
            session_id="s",
            group="i1",
            kind=LineKind.SYSTEM,
            audience=Audience.AGENTS,
            speaker_id="owner",
            speaker_name="Owner",
            authority=Authority.OWNER,
            text=text,
            message_id="i1",
            at=at,
        )
        told = Instruction(id="i1", session_id="s", text=text, by="owner", at=at)
        admit_guidance_for_turns(self.runtime.home, told, line)

    def interrupt(self, happens: Callable[[], object]) -> None:
        """Let something happen during each model call."""
        self.provider.wrap = lambda model: cast(ChatModel, Interrupted(model, happens))

    def work(self) -> None:
        """Handle all messages of all queues that are visible now."""
        home = self.runtime.home
        while (
            self._one(home.turns, self._turn)
            or self._one(
                home.deliveries, lambda delivery: deliver_session_utterance(self.runtime, delivery)
            )
            or self.compact()
        ):
            pass

    def compact(self) -> bool:
        """Handle one message about summaries, if one is visible now."""
        return self._one(
            self.runtime.home.compactions,
            lambda delivery: run_background_turn(self.runtime, delivery, Pace()),
        )

    def later(self, seconds: float) -> None:
        """Let time pass, sweep, and handle what that set free."""
        self.clock.advance(seconds)
        run_autonomy_sweep(self.runtime)
        self.work()

    def turn(self, turn_id: str) -> Turn:
        """A turn's header."""
        return self.home.journal.load(turn_id).turn

    def statuses(self, turns: tuple[Turn, ...]) -> list[TurnStatus]:
        """Where these turns stand."""
        return [self.turn(turn.id).status for turn in turns]

    def lines(self, *kinds: LineKind) -> list[Line]:
        """What was said, or happened, in the session after its first line."""
        lines = self.home.journal.lines("s", after=1, limit=1_000)
        return [line for line in lines if line.kind in (kinds or tuple(LineKind))]

    def _turn(self, delivery: Delivery) -> MessageOutcome:
        return run_turn(self.runtime, delivery, Pace())

    def _one(self, queue: Queue, handle: Callable[[Delivery], MessageOutcome]) -> bool:
        visibility = self.runtime.rules.visibility_seconds
        delivery = queue.receive(visibility_seconds=visibility, wait_seconds=0)
        if delivery is not None and handle(delivery) is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
        return delivery is not None
