"""The ground of an AWS account in memory; every call of AWS is an I/O point.

Each life of a worker has its own stores, because it is a process of its own: what one of them
remembers of sessions nobody else knows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from opencrab.adapters.dynamodb import document as facts
from opencrab.adapters.dynamodb.conversation import line as lines
from opencrab.adapters.dynamodb.conversation import session as sessions
from opencrab.adapters.dynamodb.conversation import utterance
from opencrab.adapters.dynamodb.conversation.session import (
    CountedSession,
    DynamoSessions,
    SessionCache,
)
from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.item import Item, from_dynamodb_attribute
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.adapters.dynamodb.turn import record as records
from opencrab.adapters.dynamodb.turn.journal import DynamoJournal
from opencrab.adapters.dynamodb.usage.counters import DynamoTallies
from opencrab.adapters.dynamodb.usage.ledger import DynamoUsage
from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.s3_files import S3Blobs, S3Files
from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.adapters.sqs import SqsQueue
from opencrab.domain.agents.agent import Profile
from opencrab.ports.home import Home
from tests.aws_home import MEBIBYTE
from tests.aws_memory.account import MemoryAccount
from tests.crash.aws_state import AwsState
from tests.crash.ground import Awaited, Bug, Calls, Hands, NoBug, Stage
from tests.crash.scheduling import Ported, Task
from tests.crash.watching import Watch
from tests.crash.weather import Memory
from tests.crash.wire import Client, Wire
from tests.scale.dynamodb import MemoryTable

QUEUES = ("turns", "deliveries", "compactions", "interactions", "beats", "nights")
UNORDERED = {"beats", "nights"}


class Forgetful(SessionCache):
    """A memory that never gets beyond its first look: the oldest guess that there can be."""

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, CountedSession] = {}

    def note(self, counted: CountedSession) -> CountedSession:
        self._first.setdefault(counted.session.id, counted)
        return counted

    def guess(self, session_id: str) -> CountedSession | None:
        return self._first.get(session_id)


@dataclass(frozen=True)
class Process:
    """What one process has in its memory; `owner` is the first task that lived in it."""

    home: Home
    owner: Task | None


class AwsGround:
    """`ground.Ground` on a table, queues and a bucket in memory."""

    name = "aws"
    rewrites = False

    def __init__(self) -> None:
        self.clock = Hands()
        self._account = MemoryAccount(self.clock)
        self._table = MemoryTable()
        self._bucket = self._account.bucket()
        self._queues = {
            purpose: self._account.standard_queue(purpose)
            if purpose in UNORDERED
            else self._account.queue(purpose)
            for purpose in QUEUES
        }
        self._clients = {service: self._account.client(service) for service in ("sqs", "s3")}
        self.state = AwsState(self._table, self._account, self._bucket, self._queues)
        self.home = self._each(lambda name: _Own(self, name))
        self._warm: dict[str, Process] = {}
        self._shared: Process | None = None

    def close(self) -> None:
        self.state.wipe()

    def enter(self, stage: Stage) -> None:
        self._stage = stage
        self._wire = Wire(self.state, self.clock, stage)
        self._outside = self._process(None, SessionCache(), NoBug())

    def wipe(self, seen: Watch, profiles: Iterable[Profile]) -> None:
        self.state.wipe()
        self.clock.reset()
        self._warm, self._shared = {}, None
        self._wire = Wire(self.state, self.clock, self._stage)
        self._outside = self._process(None, SessionCache(), NoBug())
        for profile in profiles:
            if not self.state.put_back(profile.agent.id):
                self._outside.home.agents.create(profile)
                self.state.keep_agent(profile.agent.id)
        self.state.begin()

    def gated(self, home: Home) -> Home:
        """The home, each of whose calls is known to whoever watches the calls of AWS."""
        return self._each(lambda name: _Known(getattr(home, name), name, self._stage))

    def items(self) -> Iterator[tuple[str, str, str]]:
        for item in self.state.items():
            yield item["pk"]["S"], item["sk"]["S"], _body(item)
        for purpose in QUEUES:
            for number in range(self.state.dead_letters(purpose)):
                yield f"DEAD#{purpose}", str(number), "{}"

    def queued(self) -> dict[str, int]:
        counts = {purpose: len(self.state.messages(purpose)) for purpose in QUEUES}
        return {purpose: count for purpose, count in counts.items() if count}

    def awaited(self) -> Awaited:
        visible = [at for purpose in QUEUES for at in self.state.visible(purpose)]
        return Awaited(tuple(visible), tuple(map(_lapse, self._due())))

    def has_work(self, queue: str) -> bool:
        return self.state.ready(queue, sqlite_milliseconds(self.clock.now()))

    def file(self, agent_id: str, path: str) -> bytes | None:
        key = f"agents/{agent_id}/workspace/{path}"
        return self.state.objects(key).get(key)

    def process(self) -> Process:
        """The process in which the present task lives."""
        task = self._stage.scheduler.current
        if task is None:
            return self._outside
        if task.process is None:
            task.process = self._born(task)
        living: Process = task.process
        return living

    def _born(self, task: Task) -> Process:
        match self._stage.weather.memory:
            case Memory.FRESH:
                return self._process(task, SessionCache(), self._stage.bug)
            case Memory.WARM:
                known = self._warm.get(task.name)
                if known is None or (known.owner is not None and known.owner.dead):
                    known = self._process(task, SessionCache(), self._stage.bug)
                # It dies with whoever lives in it last.
                self._warm[task.name] = replace(known, owner=task)
                return known
            case Memory.STALE:
                self._shared = self._shared or self._process(None, Forgetful(), self._stage.bug)
                return self._shared

    def _process(self, owner: Task | None, seen: SessionCache, bug: Bug) -> Process:
        def through(service: str, ask: Calls) -> Calls:
            return bug.calls(service, self._wire.around(service, ask), self.state)

        table = Table("opencrab", through("dynamodb", self._table), pause=self._wire.pause)
        sqs, s3 = (
            Client(client, partial(through, service)) for service, client in self._clients.items()
        )
        stores = stores_on_dynamodb_table(table, consistent=False)
        turns, deliveries, compactions, interactions, beats, nights = (
            SqsQueue(sqs, urls.url, urls.dead_url) for urls in self._queues.values()
        )
        files = S3Files(
            s3,
            self._bucket,
            quota_bytes=100 * MEBIBYTE,
            file_bytes=5 * MEBIBYTE,
            ledger=DynamoLedger(table, self.clock),
            clock=self.clock,
        )
        home = Home(
            agents=stores.agents,
            sessions=DynamoSessions(table, seen),
            journal=(bug.journal() or DynamoJournal)(table, seen),
            turns=turns,
            deliveries=deliveries,
            compactions=compactions,
            interactions=interactions,
            beats=beats,
            nights=nights,
            outbox=stores.outbox,
            due=stores.due,
            facts=stores.facts,
            files=files,
            blobs=S3Blobs(s3, self._bucket),
            keys=stores.keys,
            idempotency=stores.idempotency,
            switches=stores.switches,
            budgets=stores.budgets,
            usage=DynamoUsage(table, self.clock),
            tallies=DynamoTallies(table),
            health=stores.health,
            preferences=stores.preferences,
            eraser=stores.eraser,
            feed=None,
        )
        return Process(home, owner)

    def _due(self) -> Iterator[Item]:
        return (item for item in self.state.items() if "due_list" in item)

    @staticmethod
    def _each(port: Any) -> Home:
        ports: dict[str, Any] = {name: port(name) for name in Home.__dataclass_fields__}
        return Home(**ports)


class _Own:
    """A port of whichever process runs now."""

    def __init__(self, ground: AwsGround, port: str) -> None:
        self._ground = ground
        self._port = port

    def __getattr__(self, method: str) -> Any:
        return getattr(getattr(self._ground.process().home, self._port), method)


class _Known:
    """A port whose calls are noted on the task that makes them."""

    def __init__(self, target: Any, port: str, stage: Stage) -> None:
        self._target = target
        self._port = port
        self._stage = stage

    def __getattr__(self, method: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            task = self._stage.scheduler.current
            inner = getattr(self._target, method)
            if task is None:
                return inner(*arguments, **named)
            before, task.call = task.call, Ported(self._port, method, arguments, named)
            try:
                return inner(*arguments, **named)
            finally:
                task.call = before

        return call


def _lapse(item: Item) -> tuple[str, int]:
    """From when the sweep may find an item; a turn lies in its list too early."""
    name = item["due_list"]["S"].partition("#")[0]
    at = item["lease_until" if name == headers.DUE else "due_at"]["N"]
    return name, int(at) // 1_000


def _body(item: Item) -> str:
    """An item as the file keeps it."""
    if item["pk"]["S"].startswith("BUDGET#"):
        return str(from_dynamodb_attribute(item["drawn"]))
    kept = _value(item["pk"]["S"].partition("#")[0], item["sk"]["S"], item)
    return "{}" if kept is None else kept.model_dump_json()


def _value(kind: str, sk: str, item: Item) -> BaseModel | None:
    match kind, sk:
        case "TURN", headers.HEADER:
            return headers.turn_from_dynamodb_item(item)
        case "TURN", _:
            return records.turn_record_from_dynamodb_item(item)
        case "SESSION", sessions.HEAD:
            return sessions.session_from_dynamodb_item(item).session
        case "SESSION", _:
            return lines.line_from_dynamodb_item(item)
        case "OUT", _:
            return utterance.utterance_from_dynamodb_item(item)
        case _:
            return (
                facts.document_from_dynamodb_item(item)
                if kind == "FACT" or sk == facts.MIND_KEY
                else None
            )
