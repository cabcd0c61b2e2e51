"""`agent_turn` in simulated time: SQS's event source mapping and the environments that it invokes.

Each message is handed to an environment of its own, as the template says (`BatchSize: 1`), and the
environments run at once, each in a greenlet that gives way while a model thinks. Whatever dies
deletes nothing: SQS hands its message out again, counted once more, when its visibility ends or
the sweep has found that the turn's lease did.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from types import SimpleNamespace
from typing import Any, cast

from greenlet import GreenletExit, greenlet

from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.aws.functions import rules_on_aws
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.record import ModelAnswer
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import turn_id_in_queue_message
from opencrab.gateways.aws.functions import Worker
from opencrab.gateways.aws.lambda_log import LambdaLog
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatModel, ChatRequest, ModelInfo
from opencrab.settings import load_settings
from tests.aws_home import home_on
from tests.aws_memory.account import MemoryAccount
from tests.crash.errand import RICH
from tests.crash.outside import Bell, Provider, Reply, Script, registry
from tests.crash.scenarios import message
from tests.e2e.house import START
from tests.scale.dynamodb import MemoryTable
from tests.unit.gateways.function import Call

ANSWER: Script = (Reply("here you are"),)
CONCURRENCY = 10
VISIBILITY_SECONDS = 1_800
TIMEOUT_SECONDS = 300
SWEEP_SECONDS = 60
LOOK_SECONDS = 10.0
"""How often at least a worker whose model thinks looks after its turn."""
RULES = rules_on_aws(load_settings({}, {}))


@dataclass
class Environment:
    """One invocation on the way; `wakes` is when its model has answered, or it dies of it."""

    message: dict[str, Any]
    began: float
    task: greenlet = field(init=False)
    answer: dict[str, Any] | None = None
    wakes: float = 0.0
    deadly: bool = False

    @property
    def turn_id(self) -> str:
        """The turn that its message names."""
        return turn_id_in_queue_message(self.message["Body"])


@dataclass(frozen=True)
class Watched:
    """A model that takes its time, and looks after its watch meanwhile as a transport does."""

    model: ChatModel
    think: Callable[[AnswerWatch], None]

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)

    def chat(
        self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED
    ) -> ModelAnswer:
        self.think(watch)
        return self.model.chat(request, body)


class Lambdas:
    """An installation on AWS whose model calls take `call_seconds`.

    The turns in `deadly` kill their environment so many seconds after their model call began.
    """

    def __init__(self, call_seconds: float) -> None:
        self.call_seconds = call_seconds
        self.deadly: dict[str, float] = {}
        self.clock = FakeClock(START)
        self.deaths: Counter[str] = Counter()
        self.receives: Counter[str] = Counter()
        self.counted: Counter[str] = Counter()
        self.scripts: dict[str, Script] = {}
        self.running: list[Environment] = []
        self._current: Environment | None = None
        self._swept = self._now()
        opened = MemoryAccount(self.clock)
        table = Table("opencrab", MemoryTable(), pause=self.clock.advance)
        self.home = home_on(table, opened, self.clock, on_turn=self._note)
        self._sqs, self._url = opened.client("sqs"), cast("Any", self.home.turns)._url
        self._beats = cast("Any", self.home.beats)._url
        self._has_beats = False
        provider = Provider(self.scripts)
        provider.wrap = lambda model: cast("Any", Watched(model, self._think))
        self.runtime = Runtime(
            home=self.home,
            clock=self.clock,
            models=provider,
            actions=registry(Bell()),
            rules=replace(RICH, step_lease_seconds=RULES.step_lease_seconds),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        self._worker = Worker(self.runtime, LambdaLog("opencrab-agent-turn"))

    def close(self) -> None:
        """End what is running."""
        self.kill()

    def introduce(self, agent_id: str, language: Language = Language.EN) -> None:
        """A new agent, in a session of its own, in which no message takes over from another."""
        self.scripts[agent_id] = ANSWER
        agent = Agent(
            id=agent_id,
            name=agent_id,
            language=language,
            model=f"fake:{agent_id}",
            interrupt=Interrupt.QUEUE,
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

    def say(self, agent_id: str, source_id: str = "m1") -> Turn:
        """Somebody speaks to an agent; the turn."""
        (turn,) = admit_turns_of_message(
            self.runtime, agent_id, message("hello", f"{agent_id}-{source_id}")
        )
        return turn

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self._now() + seconds
        while True:
            self._begin()
            woken = min((each.wakes for each in self.running), default=until)
            moment = min(max(woken, self._now()), self._swept + SWEEP_SECONDS, until)
            if self._has_beats:
                moment = min(moment, self._now() + 1)
            self.clock.advance(max(ceil((moment - self._now()) * 1_000), 0) / 1_000)
            if self._now() >= self._swept + SWEEP_SECONDS:
                self._swept = self._now()
                self._worker.sweep({}, Call())
                self._has_beats = True
            if self._has_beats:
                self._beat()
            for each in [one for one in self.running if one.wakes <= self._now()]:
                self._wake(each)
            if self._now() >= until:
                return

    def kill(self) -> None:
        """Every environment that is running dies, as when their hosts fail."""
        for each in self.running:
            self._die(each)
        self.running = []

    def throttle(self) -> None:
        """Lambda has no room: every message is received and given back, and no code runs."""
        received = iter(self._receive, None)
        for each in list(received):
            assert self.home.turns.continue_later(each["ReceiptHandle"], 0)

    def spoken(self, agent_id: str) -> list[str]:
        """What was said in an agent's session by others than its user."""
        lines = self.home.journal.lines(agent_id, after=0, limit=1_000)
        return [
            line.text
            for line in lines
            if line.kind is LineKind.SYSTEM or (line.kind is LineKind.SPEECH and line.from_agent)
        ]

    def _begin(self) -> None:
        """Invoke the function for every message that may be had now."""
        while len(self.running) < CONCURRENCY:
            received = self._receive()
            if received is None:
                return
            environment = Environment(received, self._now())
            environment.task = greenlet(partial(self._invoke, environment))
            self.running.append(environment)
            self._go_on(environment)

    def _beat(self) -> None:
        """Hand the function of heartbeats what the sweep has sent, once its delay is over."""
        names: list[Any] = ["ApproximateReceiveCount"]
        found = self._sqs.receive_message(
            QueueUrl=self._beats, MaxNumberOfMessages=10, MessageSystemAttributeNames=names
        ).get("Messages", [])
        for each in found:
            assert not self._worker.run_heartbeats(
                {"Records": [_record(cast("dict[str, Any]", each))]}, Call()
            )["batchItemFailures"]
            self._sqs.delete_message(QueueUrl=self._beats, ReceiptHandle=each["ReceiptHandle"])
        left = self._sqs.get_queue_attributes(QueueUrl=self._beats, AttributeNames=["All"])
        self._has_beats = any(
            int(number)
            for name, number in left["Attributes"].items()
            if name.startswith("ApproximateNumberOfMessages")
        )

    def _receive(self) -> dict[str, Any] | None:
        found = self._sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=1,
            VisibilityTimeout=VISIBILITY_SECONDS,
            MessageSystemAttributeNames=["ApproximateReceiveCount", "MessageGroupId"],
        ).get("Messages", [])
        for each in found:
            count = each["Attributes"]["ApproximateReceiveCount"]
            self.receives[turn_id_in_queue_message(each["Body"])] = int(count)
        return found[0] if found else None

    def _wake(self, environment: Environment) -> None:
        if environment.deadly:
            self.running.remove(environment)
            self._die(environment)
        else:
            self._go_on(environment)

    def _die(self, environment: Environment) -> None:
        self.deaths[environment.turn_id] += 1
        environment.task.throw(GreenletExit)

    def _go_on(self, environment: Environment) -> None:
        self._current = environment
        environment.task.switch()
        if environment.task.dead:
            self.running.remove(environment)
            assert environment.answer is not None
            if not environment.answer["batchItemFailures"]:
                receipt = environment.message["ReceiptHandle"]
                self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=receipt)

    def _invoke(self, environment: Environment) -> None:
        message, ends = environment.message, environment.began + TIMEOUT_SECONDS
        left = SimpleNamespace(
            get_remaining_time_in_millis=lambda: int((ends - self._now()) * 1_000)
        )
        environment.answer = self._worker.run_turns({"Records": [_record(message)]}, left)

    def _think(self, watch: AnswerWatch) -> None:
        running = self._current
        assert running is not None
        is_deadly = running.turn_id in self.deadly
        ends = self._now() + self.deadly.get(running.turn_id, self.call_seconds)
        parent = running.task.parent
        assert parent is not None
        while self._now() < ends:
            running.wakes = min(self._now() + LOOK_SECONDS, ends)
            running.deadly = is_deadly and running.wakes == ends
            parent.switch()
            watch.is_stopped()

    def _note(self, turn: Turn) -> None:
        """How many deliveries were ever counted against a turn at once."""
        self.counted[turn.id] = max(self.counted[turn.id], turn.deliveries)

    def _now(self) -> float:
        return self.clock.now().timestamp()


def _record(message: dict[str, Any]) -> dict[str, Any]:
    """A message as an event source mapping hands it to its function."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
    }
