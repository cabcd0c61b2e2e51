"""After an outage, and in a minute in which much is due: how long things wait for the sweep.

The sweep and the functions of its queue are the product's own, on the adapters of DynamoDB; below
them lie the table in memory and the network of `tests/scale/network.py`. The sweep comes each
minute and has 50 seconds, as in the template, and up to 50 functions take its messages.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import Any

from opencrab import settings
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.memory_queue import MemoryQueue
from opencrab.bootstrap.aws.functions import rules_on_aws
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Soul
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.document import new_fact
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.queue import BatchedMessage, Delivery
from tests.aws_home import home_on
from tests.aws_memory.account import MemoryAccount
from tests.crash.outside import Bell, Provider, registry
from tests.scale.clockwork import START, Clockwork
from tests.scale.dynamodb import MemoryTable
from tests.scale.network import Network

SWEEP_SECONDS, FUNCTION_SECONDS = 60.0, 50.0
FUNCTIONS = 50
_CALL_SECONDS = 0.01
_POLL_SECONDS = 0.5
_SESSIONS = 500
_VISIBLE_SECONDS = 1_800


class DistantQueue(MemoryQueue):
    """A queue to which each call takes its time; it notes when a message was given or sent."""

    def __init__(self, clockwork: Clockwork) -> None:
        super().__init__(clockwork.clock, self)
        self._clockwork = clockwork
        self.times: list[float] = []

    def send(self, body: str, **given: Any) -> None:
        self._clockwork.sleep(_CALL_SECONDS)
        self.times.append(self._clockwork.seconds)
        super().send(body, **given)

    def send_batch(self, messages: Iterable[BatchedMessage]) -> None:
        listed = list(messages)
        self._clockwork.sleep(_CALL_SECONDS * ceil(len(listed) / 10))
        for each in listed:
            super().send(
                each.body,
                group=each.group,
                deduplication=each.deduplication,
                delay_seconds=each.delay_seconds,
            )

    def receive(self, *, visibility_seconds: int, wait_seconds: float) -> Delivery | None:
        self._clockwork.sleep(_CALL_SECONDS)
        return super().receive(visibility_seconds=visibility_seconds, wait_seconds=wait_seconds)

    def continue_later(self, receipt: str, seconds: int) -> bool:
        self._clockwork.sleep(_CALL_SECONDS)
        self.times.append(self._clockwork.seconds)
        return super().continue_later(receipt, seconds)


@dataclass
class Lags:
    """How long things waited, in seconds, and how many there were."""

    name: str
    wanted: int
    seconds: list[float] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """The longest wait."""
        return max(self.seconds, default=0.0)


class Recovery:
    """An installation whose workers have all died, or that has much to do at once."""

    def __init__(self, *, functions: int = FUNCTIONS) -> None:
        self.clockwork = Clockwork(START)
        self._functions = functions
        self._over = False
        self._late: list[float] = []

    def dead_workers(self, count: int) -> Lags:
        """So many turns run when every function dies: how long until each may be run again."""
        lags = Lags("turns whose worker died", count)

        def prepare(runtime: Runtime) -> None:
            until = START + timedelta(seconds=runtime.rules.step_lease_seconds)
            for number in range(count):
                turn_id = f"t{number}"
                runtime.home.journal.open(_turn(turn_id))
                runtime.home.turns.send(turn_id, group=turn_id, deduplication=turn_id)
                taken = runtime.home.turns.receive(
                    visibility_seconds=_VISIBLE_SECONDS, wait_seconds=0
                )
                assert taken is not None
                receipt = taken.receipt
                assert runtime.home.journal.claim(turn_id, lease_until=until, receipt=receipt)

        self._run(prepare, lags, sweeps_from=SWEEP_SECONDS - 1)
        return lags

    def due_at_once(self, count: int) -> Lags:
        """So many things are due in the same minute: how long until each has begun.

        The sweep comes as the minute begins. The first that is due is taken for the first that
        begins, and so on.
        """
        lags = Lags("due items of one minute", count)

        def prepare(runtime: Runtime) -> None:
            for number in range(_SESSIONS):
                runtime.home.sessions.create(_session(f"s{number}"))
            for number in range(count):
                at = START + timedelta(seconds=SWEEP_SECONDS * number / count)
                runtime.home.due.put(_due(f"d{number}", f"s{number % _SESSIONS}", at))

        self._run(prepare, lags, sweeps_from=0.0)
        places = (SWEEP_SECONDS * number / count for number in range(count))
        lags.seconds = [time - due for time, due in zip(sorted(lags.seconds), places, strict=False)]
        return lags

    def heartbeats(self, count: int) -> Lags:
        """So many idle agents have a heartbeat in the same minute: how late each is decided."""
        # The next sweep may decide a hundred itself, which nobody times.
        lags = Lags("heartbeats of one minute", count - 100)

        def prepare(runtime: Runtime) -> None:
            often = Heartbeat(enabled=True, interval_seconds=61)
            for number in range(count):
                at = START + timedelta(seconds=1 + (SWEEP_SECONDS - 1) * number // count)
                signs = VitalSigns(
                    agent_id=f"a{number}",
                    heartbeat=often,
                    next_beat_at=at,
                    lived_at=START,
                    reviewed_at=START,
                )
                fact = new_fact(signs.agent_id, VITALS, VITALS, signs)
                runtime.home.facts.commit(fact.replaced(due_at=at))

        self._run(prepare, lags, sweeps_from=0.0)
        lags.seconds = self._late
        return lags

    def _run(self, prepare: Any, lags: Lags, *, sweeps_from: float) -> None:
        network = Network(MemoryTable(), self.clockwork)
        table = Table("t", network, pause=self.clockwork.sleep)
        home = home_on(table, MemoryAccount(self.clockwork.clock), self.clockwork.clock)
        self._turns, self._beats = DistantQueue(self.clockwork), DistantQueue(self.clockwork)
        runtime = Runtime(
            home=replace(home, turns=self._turns, beats=self._beats),
            clock=self.clockwork.clock,
            models=Provider({}),
            actions=registry(Bell()),
            rules=rules_on_aws(settings.load_settings({}, {})),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        agent = Agent(id="crab", name="Crab", created_at=START, updated_at=START)
        soul, identity = Soul(persona_name="Crab"), Identity(name="Crab")
        runtime.home.agents.create(Profile(agent=agent, soul=soul, identity=identity))
        prepare(runtime)
        self._turns.times.clear()
        self.clockwork.start(partial(self._sweep, runtime, lags), sweeps_from)
        for _ in range(self._functions):
            self.clockwork.start(partial(self._work, runtime), 0.0)
        self.clockwork.run()
        lags.seconds = self._turns.times

    def _sweep(self, runtime: Runtime, lags: Lags) -> None:
        """Sweep each minute until nothing waits any more, or for a quarter of an hour."""
        for _ in range(15):
            began = self.clockwork.seconds
            run_autonomy_sweep(runtime, partial(self._left, began))
            self.clockwork.sleep(max(began + SWEEP_SECONDS - self.clockwork.seconds, 0.0))
            if max(len(self._turns.times), len(self._late)) >= lags.wanted:
                break
        self._over = True

    def _left(self, began: float) -> float:
        return FUNCTION_SECONDS - (self.clockwork.seconds - began)

    def _work(self, runtime: Runtime) -> None:
        """One function after another takes what the sweep has sent."""
        while not self._over:
            found = self._beats.receive(visibility_seconds=300, wait_seconds=0)
            if found is None:
                self.clockwork.sleep(_POLL_SECONDS)
                continue
            decide_queued_heartbeat(runtime, found)
            self._beats.acknowledge(found.receipt)
            if slot := json.loads(found.body).get("slot"):
                self._late.append(self.clockwork.clock.now().timestamp() - slot)


def _turn(turn_id: str) -> Turn:
    return Turn(
        id=turn_id,
        agent_id="crab",
        session_id="",
        trigger=Trigger.MESSAGE,
        source=Source.REST,
        authority=Authority.OWNER,
        principal_id="owner",
        group=turn_id,
        body_hash=turn_id,
        lease_until=START,
        created_at=START,
    )


def _session(session_id: str) -> Session:
    return Session(
        id=session_id,
        participants=(Participant(agent_id="crab"),),
        created_by="owner",
        created_at=START,
        updated_at=START,
    )


def _due(item_id: str, session_id: str, at: datetime) -> DueItem:
    message = Message(
        source=Source.SCHEDULE,
        source_id=item_id,
        principal_id="owner",
        sender=Sender(id="owner", name="Hana"),
        authority=Authority.OWNER,
        parts=(TextPart(text="Water the plants."),),
    )
    return DueItem(id=item_id, at=at, session_id=session_id, message=message)
