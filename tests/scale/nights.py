"""A night: how long it takes until all agents of a day are reviewed, by how many functions.

The function of the night and the reviews are the product's own, on the adapters of DynamoDB; below
them lie the table in memory and the network of `tests/scale/network.py`. Reports go to files here,
each call of which takes as long as one of S3. A function that is called starts two seconds later,
and has 15 minutes.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from threading import Timer
from typing import Any, cast

from opencrab import settings
from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.usage.counters import (
    dynamodb_usage_counter_writes,
    mark_agents_active_in_dynamodb,
)
from opencrab.adapters.local_files.files import LocalFiles
from opencrab.bootstrap.aws.functions import rules_on_aws
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.document import new_fact
from opencrab.domain.learning.review_period import NIGHT, NightlyRun
from opencrab.domain.learning.signals import SIGNALS, ServedCalls, TurnSignals
from opencrab.domain.models.routing import Use
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.engine.learning.nightly.run import run_nightly_review
from opencrab.engine.learning.nightly.schedule import (
    send_learning_reviews_by_sessions,
    send_nightly_learning_reviews,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.aws.lambda_log import LambdaLog
from opencrab.gateways.aws.night_calls import NightCalls
from opencrab.gateways.aws.nightly import NightWorker
from opencrab.ports.turn.queue import Delivery
from tests.aws import account
from tests.aws_home import home_on
from tests.contract.example import usage_row
from tests.crash.outside import Bell, Provider, registry
from tests.scale.clockwork import Clockwork
from tests.scale.dynamodb import MemoryTable
from tests.scale.network import Network
from tests.scale.recovery import DistantQueue

TUESDAY = datetime(2026, 1, 6, 18, 5, tzinfo=UTC)
MONDAY = datetime(2026, 1, 12, 18, 5, tzinfo=UTC)
"""The night of a week: two reviews of each agent."""

CALL_SECONDS, START_SECONDS = 900.0, 2.0
_FILE_SECONDS = 0.03
_TURNS = 5


@dataclass
class Night:
    """What came of a night: when each review was done, in seconds, and by how many calls."""

    done: list[float] = field(default_factory=list)
    calls: int = 0
    failed: int = 0
    agents_reviewed: int = 0


class QuietLog:
    """Instead of the function's log; it counts failures."""

    def __init__(self) -> None:
        self.failures = 0

    def set_context(self, **_: str) -> None:
        """Nothing."""

    def count(self, _name: str) -> None:
        """Count a failure."""
        self.failures += 1


class DistantFiles:
    """Files of which each call takes its time; a folder has a hundred agents, to be quick."""

    def __init__(self, folder: Path, clockwork: Clockwork) -> None:
        self._files = cache(lambda group: LocalFiles(folder / group))
        self._clockwork = clockwork

    def __getattr__(self, name: str) -> Any:
        def called(agent_id: str, *given: Any, **named: Any) -> Any:
            self._clockwork.sleep(_FILE_SECONDS)
            return getattr(self._files(agent_id[:-2]), name)(agent_id, *given, **named)

        return called


class NightQueue(DistantQueue):
    """The queue of nights; it notes when a review was done."""

    def __init__(self, clockwork: Clockwork) -> None:
        super().__init__(clockwork)
        self.done: list[float] = []

    def acknowledge(self, receipt: str) -> None:
        self.done.append(self._clockwork.seconds)
        super().acknowledge(receipt)


class Nightfall:
    """An installation of so many agents, each of which had some turns on the day."""

    def __init__(
        self, agents: int, at: datetime = TUESDAY, *, is_divided: bool = True, functions: int = 4
    ) -> None:
        self._clockwork = Clockwork(at)
        self._agents = agents
        self._at = at
        self._is_divided = is_divided
        self._functions = functions
        self._night = Night()
        self._log = QuietLog()

    def run(self) -> Night:
        """The hour of the night, and all functions that it calls."""
        with self._runtime() as (runtime, queue):
            self._clockwork.start(partial(self._invoke, runtime, {}), 0.0)
            self._clockwork.run()
            self._night.done, self._night.failed = queue.done, self._log.failures
            for number in range(self._agents):
                found = runtime.home.facts.page(f"a{number:05d}", NIGHT, limit=9)
                runs = [fact.read(NightlyRun) for fact in found]
                self._night.agents_reviewed += bool(runs) and all(each.done_at for each in runs)
        return self._night

    @contextmanager
    def _runtime(self) -> Iterator[tuple[Runtime, NightQueue]]:
        clockwork = self._clockwork
        with account(clockwork.clock) as opened, tempfile.TemporaryDirectory() as folder:
            memory = MemoryTable()
            table = Table("t", Network(memory, clockwork), pause=clockwork.sleep)
            queue = NightQueue(clockwork)
            files = cast(Any, DistantFiles(Path(folder), clockwork))
            home = home_on(table, opened, clockwork.clock)
            runtime = Runtime(
                home=replace(home, nights=queue, files=files),
                clock=clockwork.clock,
                models=Provider({}),
                actions=registry(Bell()),
                rules=rules_on_aws(settings.load_settings({}, {})),
                consequences=CONSEQUENCES,
                jobs=JOBS,
            )
            before = Table("t", memory)
            stores = stores_on_dynamodb_table(before)
            for number in range(self._agents):
                self._live(stores, before, f"a{number:05d}")
            yield runtime, queue

    def _live(self, stores: Any, table: Table, agent_id: str) -> None:
        """Let an agent have some turns on the day that has ended."""
        day = self._at - timedelta(hours=20)
        agent = Agent(id=agent_id, name="Crab", created_at=day, updated_at=day)
        soul, identity = Soul(persona_name="Crab"), Identity(name="Crab")
        stores.agents.create(Profile(agent=agent, soul=soul, identity=identity))
        row = usage_row(agent_id=agent_id, turn_id=f"t-{agent_id}", at=day)
        table.transact(*dynamodb_usage_counter_writes((row,)))
        mark_agents_active_in_dynamodb(table, (row,), day, set())
        signals = [_signals(day + timedelta(minutes=number), number) for number in range(_TURNS)]
        stores.facts.commit(*(new_fact(agent_id, SIGNALS, one.id, one) for one in signals))

    def _invoke(self, runtime: Runtime, event: Mapping[str, Any]) -> None:
        """One call of the function."""
        self._night.calls += 1
        began = self._clockwork.seconds
        context = _Context(lambda: CALL_SECONDS - (self._clockwork.seconds - began))

        def call(_name: str, told: Mapping[str, Any]) -> None:
            if self._is_divided:
                begin = self._clockwork.seconds + START_SECONDS
                self._clockwork.start(partial(self._invoke, runtime, told), begin)

        def review(with_runtime: Runtime, delivery: Delivery, pace: Any) -> Any:
            return run_nightly_review(with_runtime, delivery, pace)

        NightWorker(
            runtime,
            cast(LambdaLog, self._log),
            fall=send_nightly_learning_reviews,
            review=send_learning_reviews_by_sessions,
            run=review,
            price=lambda _: 0,
            calls=NightCalls(call, self._functions, pause=lambda _: None),
            set_timer=lambda _seconds, _act: Timer(0, lambda: None),
        ).run_nightly(event, context)


class _Context:
    """What Lambda tells a function of a call."""

    function_name = "opencrab-test-meta-analysis"

    def __init__(self, seconds_left: Any) -> None:
        self._seconds_left = seconds_left

    def get_remaining_time_in_millis(self) -> int:
        """The time that is left."""
        return int(self._seconds_left() * 1_000)


def _signals(at: datetime, number: int) -> TurnSignals:
    served = ServedCalls(
        model="fake:none",
        purpose=Use.CONVERSATION,
        task_type="chat",
        chosen_by="default",
        cost=5_000,
        latency_ms=800,
    )
    return TurnSignals(
        turn_id=f"turn-{number}",
        session_id="s",
        at=at,
        trigger=Trigger.MESSAGE,
        status=TurnStatus.COMPLETED,
        served=(served,),
        task_success=number % 2 == 0,
        spoke=True,
    )
