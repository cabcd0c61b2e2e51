"""Turns by the thousand on one table: what meets at its items, and what that costs.

Workers are the engine's own, on the adapters of DynamoDB; below them lie the table in memory and
the network of `tests/scale/network.py`. Each worker is a process of its own and takes one turn at
a time, as Lambda has it. A turn that could not be saved comes back by its queue after two seconds,
as often as the engine allows; a model call beyond those that the same turns make when they are
alone was paid for without its answer being kept.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from opencrab.actions import Group, Registry
from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.turn.header import HEADER, turn_from_dynamodb_item
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import INSTALLATION, Limits, Price, Usage
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Value
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.home import Home
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatRequest, ModelInfo
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.aws_home import home_on
from tests.aws_memory.account import MemoryAccount
from tests.scale.clockwork import START, Clockwork
from tests.scale.dynamodb import MemoryTable
from tests.scale.network import Network

MODEL_SECONDS = 1.5
CALLS = 2
"""Model calls of a turn that nothing disturbs."""

_RETRY_SECONDS = 2.0
_DELIVERIES = 8


class _Nothing(Value):
    """No arguments."""


class Quick:
    """A model that calls an action first and then answers, each after the same time."""

    info = ModelInfo(
        name="stub:stub", price=Price(input_per_million=250_000, output_per_million=2_000_000)
    )

    def __init__(self, clockwork: Clockwork) -> None:
        self._clockwork = clockwork
        self.calls: Counter[str] = Counter()

    def encode(self, request: ChatRequest) -> bytes:
        """`ChatModel.encode`."""
        return f"{request.system}{request.turns}".encode()

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        """`ChatModel.chat`."""
        self._clockwork.sleep(MODEL_SECONDS)
        self.calls["all"] += 1
        usage = Usage(input_tokens=900, output_tokens=20)
        if b"already noted" in body:
            return ModelAnswer(text="Noted.", model=self.info.name, usage=usage)
        calls = (ActionCall(id="x1", name="note", arguments={}),)
        return ModelAnswer(calls=calls, model=self.info.name, usage=usage)


class _Models:
    """`ports.models.model.Models` with one model."""

    def __init__(self, model: Quick) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    @property
    def routing(self) -> Any:
        """The only model is the default."""
        return Routing(default=self._model.info.name)

    def get(self, _name: str | None) -> Quick:
        """The only model."""
        return self._model

    def refresh(self, _version: int) -> None:
        """Nothing changes."""


@dataclass(frozen=True)
class Load:
    """Turns a second for some seconds, spread over so many agents, each turn a session."""

    turns_a_second: float
    seconds: float
    agents: int
    limits: Limits = field(
        default_factory=lambda: Limits(
            agent_day_micro_usd=10**11, installation_day_micro_usd=10**11
        )
    )

    @property
    def turns(self) -> int:
        """How many there are."""
        return int(self.turns_a_second * self.seconds)


@dataclass
class Outcome:
    """What became of a load."""

    turns: int = 0
    ended: int = 0
    writes: int = 0
    conflicts: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    throttles: int = 0
    redeliveries: int = 0
    refusals: int = 0
    paid_twice: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    drawn: int = 0
    spent: int = 0
    workers: int = 0

    @property
    def retries(self) -> float:
        """Writes that were repeated after a conflict or throttle, of all writes."""
        return (self.conflicts + self.throttles) / max(self.writes, 1)


class Simulation:
    """One table, its agents and sessions, and as many workers as there are turns on their way."""

    def __init__(self, load: Load, seed: int = 0, *, draws_in_turns: bool = False) -> None:
        self.load = load
        self.clockwork = Clockwork(START)
        self._stored = MemoryTable()
        self.network = Network(self._stored, self.clockwork, seed)
        self.model = Quick(self.clockwork)
        self.outcome = Outcome(turns=load.turns)
        self._in_turns = draws_in_turns
        self._idle: list[Runtime] = []

    def run(self) -> Outcome:
        """Let all turns come and end."""
        clock = self.clockwork.clock
        self._home = home_on(self._table(), MemoryAccount(clock), clock)
        self._open = self._worker()
        agents = [self._agent(number) for number in range(self.load.agents)]
        for number in range(self.load.turns):
            agent = agents[number % len(agents)]
            self.clockwork.start(
                partial(self._come, agent, number), number / self.load.turns_a_second
            )
        self.clockwork.run()
        self._count()
        return self.outcome

    def _table(self) -> Table:
        return Table("t", self.network, pause=self.clockwork.sleep)

    def _worker(self) -> Runtime:
        """A worker that just began: it shares the table with the others, and nothing else."""
        self.outcome.workers += 1
        stores = stores_on_dynamodb_table(self._table(), consistent=False, **self._chosen())
        home: Home = replace(
            self._home, agents=stores.agents, sessions=stores.sessions, journal=stores.journal
        )
        return Runtime(
            home=home,
            clock=self.clockwork.clock,
            models=_Models(self.model),
            actions=_registry(),
            rules=Rules(limits=self.load.limits, compact_every=0, stop_check_ms=10_000),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )

    def _chosen(self) -> dict[str, Any]:
        return {"leases_budgets": False} if self._in_turns else {}

    def _agent(self, number: int) -> str:
        now = self.clockwork.clock.now()
        agent = Agent(id=f"agent{number}", name=f"A{number}", created_at=now, updated_at=now)
        soul, identity = Soul(persona_name="Crab"), Identity(name="Crab")
        profile = Profile(agent=agent, soul=soul, identity=identity)
        return self._open.home.agents.create(profile).agent.id

    def _come(self, agent_id: str, number: int) -> None:
        """A message comes, in a session of its own, and a worker answers it."""
        now, session_id = self.clockwork.clock.now(), f"s{number}"
        self._open.home.sessions.create(
            Session(
                id=session_id,
                participants=(Participant(agent_id=agent_id),),
                created_by="owner",
                created_at=now,
                updated_at=now,
            )
        )
        message = Message(
            source=Source.REST,
            source_id=f"m{number}",
            principal_id="owner",
            sender=Sender(id="owner", name="Hana"),
            authority=Authority.OWNER,
            parts=(TextPart(text="Please note: milk."),),
        )
        (turn,) = admit_turns_of_message(self._open, session_id, message)
        self._deliver(turn)

    def _deliver(self, turn: Turn) -> None:
        body = f'{{"v":1,"turn":"{turn.id}"}}'
        for count in range(1, _DELIVERIES + 1):
            worker = self._idle.pop() if self._idle else self._worker()
            delivery = Delivery(body, turn.session_id, f"{turn.id}-{count}", count)
            try:
                if run_turn(worker, delivery, Pace()) is MessageOutcome.FINISHED:
                    return
            except Unavailable:
                self.outcome.redeliveries += 1
            except OpenCrabError:
                self.outcome.refusals += 1
            finally:
                self._idle.append(worker)
            self.clockwork.sleep(_RETRY_SECONDS * count)

    def _count(self) -> None:
        out, network = self.outcome, self.network
        out.seconds = self.clockwork.seconds
        out.by_kind, out.throttles = network.conflicts, network.throttles
        out.conflicts = network.conflicts.total()
        out.writes = (
            sum(count for name, count in network.calls.items() if name.endswith(("Item", "Items")))
            - network.calls["GetItem"]
            - network.calls["BatchGetItem"]
        )
        headers = [
            turn_from_dynamodb_item(item)
            for (pk, sk), item in self._stored.items.items()
            if pk.startswith("TURN#") and sk == HEADER
        ]
        out.statuses = Counter(turn.status.value for turn in headers)
        out.ended = sum(turn.status.is_end for turn in headers)
        out.spent = sum(turn.spent for turn in headers)
        out.paid_twice = self.model.calls["all"] - CALLS * out.turns
        day = self.clockwork.clock.now().strftime("%Y-%m-%d")
        out.drawn = self._open.home.budgets.drawn_micro_usd(INSTALLATION, day)


def _registry() -> Registry:
    group = Group("scale")

    @group.action(
        impact=Impact.SPEECH, effect=Effect.ONCE, ja="書き留める。", sentences=("Note", "書く")
    )
    def note(arguments: _Nothing, context: ActionContext) -> ActionResult:
        """Note something, once."""
        return ActionResult.ok(said="already noted")

    return Registry((group,))
