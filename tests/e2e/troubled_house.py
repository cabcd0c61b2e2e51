"""A house in which anything may go wrong between any two calls: points, counted as they are passed.

What dies at a point is followed by a new process, which knows only what was stored.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.runtime import Rules
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.home import Home
from opencrab.ports.models.model import ChatModel
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue
from tests.contract.homes import OpenHome
from tests.crash.errand import RICH
from tests.crash.scheduling import Killed
from tests.e2e.house import House

_WITHIN = frozenset({"info", "encode"})
"""What of a model stays in the process."""

_PATIENCE = (1, 10, 60, 120, 240, 400, 2_000)
_VISIBLE_AGAIN = {"interactions": 360, "turns": 1_800, "deliveries": 540}
"""Seconds, as the template says."""


@dataclass
class Trouble:
    """What happens at which point; `seen` are the points that there were."""

    at: dict[int, Callable[[str], None]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    after: bool = False
    """Whether it happens after the call at the point instead of before it."""


class Pointed:
    """A port whose calls are points."""

    def __init__(self, target: Any, port: str, house: "TroubledHouse") -> None:
        self._target, self._port, self._house = target, port, house

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)
        if method in _WITHIN or not callable(inner):
            return inner

        def call(*arguments: Any, **named: Any) -> Any:
            self._house.note(f"{self._port}.{method}", arguments)
            return self._house.passed(f"{self._port}.{method}", lambda: inner(*arguments, **named))

        return call


class TroubledHouse(House):
    """A house whose ports are points; what people use it by is added by those who inherit."""

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules = RICH) -> None:
        super().__init__(opens, folder, rules)
        self.trouble = Trouble()
        self.handed: list[tuple[str, Delivery]] = []
        self.marked: dict[tuple[str, str], None] = {}
        self.problems: list[str] = []
        self.spoil: Callable[[DeliveryChannel], DeliveryChannel] = lambda channel: channel
        self._bare = self.runtime
        self.provider.wrap = lambda model: cast(ChatModel, Pointed(model, "model", self))
        self.provider.between_words = lambda: self.clock.advance(1)

    def begin(self) -> None:
        """A new process; what an earlier one knew is forgotten."""
        ports: dict[str, Any] = {
            name: Pointed(getattr(self._bare.home, name), name, self)
            for name in Home.__dataclass_fields__
        }
        self.runtime = replace(self._bare, home=replace(self._bare.home, **ports))

    def interact(self, delivery: Delivery) -> MessageOutcome:
        """What the function behind the queue of interactions does with one message."""
        raise NotImplementedError

    def begin_play(self) -> None:
        """Forget what an earlier play left."""
        self.bell.rings, self.handed, self.marked, self.problems = [], [], {}, []

    def end_play(self) -> None:
        """The owner rejects what is still asked: else every sweep of later plays looks at it.

        Where nobody knows whether a question arrived, nobody has decided it.
        """
        self.trouble = Trouble()
        who = Decider(id="owner", is_owner=True, name="owner")
        asked = approvals.open_or_decided_approvals(self.runtime.home.facts, decided=False)
        for each in asked:
            approvals.decide_approval(self.runtime, each.id, approved=False, who=who)
        if asked:
            self.rest()

    def wait(self, seconds: float) -> None:
        """What a client does that must wait for a limit."""
        self.clock.advance(seconds)

    def passed(self, point: str, call: Callable[[], Any]) -> Any:
        """One point: whatever is to happen there happens, and the call."""
        trouble = self.trouble
        trouble.seen.append(point)
        happens = trouble.at.pop(len(trouble.seen), None)
        if happens is not None and not trouble.after:
            happens(point)
        answer = call()
        if happens is not None and trouble.after:
            happens(point)
        return answer

    def work(self) -> None:
        """Handle all messages of all queues that are visible now."""
        while self._handled():
            pass

    def rest(self) -> None:
        """Let everything happen until nothing is left to do."""
        for _ in range(60):
            for seconds in _PATIENCE:
                before = len(self.trouble.seen)
                self.clock.advance(seconds)
                with suppress(Killed, Unavailable):
                    run_autonomy_sweep(self.runtime)
                swept = len(self.trouble.seen) - before
                self.work()
                if len(self.trouble.seen) - before > swept + len(self._queues):
                    break
            else:
                return
        self.problems.append("no rest")

    @property
    def _queues(self) -> tuple[tuple[str, Queue], ...]:
        home = self.runtime.home
        assert home.interactions is not None
        return (
            ("interactions", home.interactions),
            ("turns", home.turns),
            ("deliveries", home.deliveries),
        )

    def handle(self, name: str, delivery: Delivery) -> MessageOutcome:
        """What the function behind a queue does with one message."""
        match name:
            case "interactions":
                return self.interact(delivery)
            case "turns":
                return self._turn(delivery)
        return deliver_session_utterance(self.runtime, delivery)

    def overlap(self) -> None:
        """Another worker has the newest message in its hands as well."""
        if self.handed:
            with suppress(Unavailable):
                self.handle(*self.handed[-1])

    def again(self) -> None:
        """All messages come once more, the newest first."""
        for name, delivery in reversed(self.handed.copy()):
            with suppress(Unavailable):
                self.handle(name, delivery)

    def _handled(self) -> bool:
        """One message, if there is one; a process that dies is followed by another."""
        for name, queue in self._queues:
            try:
                if self._take(name, queue):
                    return True
            except Killed:
                self.begin()
                return True
            except Unavailable:
                return True
            except OpenCrabError as error:
                self.problems.append(f"a worker raised {error!r}")
                return True
        return False

    def _take(self, name: str, queue: Queue) -> bool:
        seconds = _VISIBLE_AGAIN[name]
        delivery = queue.receive(visibility_seconds=seconds, wait_seconds=0)
        if delivery is None:
            return False
        self.handed.append((name, delivery))
        try:
            outcome = self.handle(name, delivery)
        except Unavailable:
            queue.continue_later(delivery.receipt, 2)
            return True
        if outcome is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
        return True

    def utterances(self) -> list[Utterance]:
        """All speech that was ever on its way."""
        outbox = self.home.outbox
        left = outbox.list_unsent(self.clock.now() + timedelta(days=1), 100)
        keys = {**dict.fromkeys((each.channel.target, each.key) for each in left), **self.marked}
        return [outbox.get(*key) for key in keys]

    def states(self) -> list[DeliveryState]:
        """How far all speech has come."""
        return [each.state for each in self.utterances()]

    def note(self, point: str, arguments: tuple[Any, ...]) -> None:
        """Remember what speech there is."""
        if point == "outbox.mark":
            utterance: Utterance = arguments[0]
            self.marked[utterance.channel.target, utterance.key] = None
