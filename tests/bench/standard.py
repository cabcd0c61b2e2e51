"""The standard turn on the home of AWS: one `ws_write`, two model calls, in a session with history.

Everything has the size that it has in life: ids of 26 characters, a receipt as SQS gives them,
messages of about 60 characters, an agent with a personality in words.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

from opencrab.adapters.dynamodb.conversation import line as line_items
from opencrab.adapters.dynamodb.conversation import session as session_items
from opencrab.adapters.dynamodb.conversation.session import CountedSession
from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.turn.journal import OnTurn
from opencrab.adapters.dynamodb.workspace import DynamoLedger
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    Transport,
    provider_exchange_never_stopped,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul, ThinkingStyle
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Delivery
from tests.aws import REGION, Account, account
from tests.aws_home import create_table, dispatch_in, home_on
from tests.bench import stub
from tests.bench.units import Meter
from tests.bench.world import World, history_line, models_at, runtime_with

START = datetime(2026, 1, 5, 9, 1, tzinfo=UTC)
MODEL_SECONDS = 2
NOWHERE = "http://127.0.0.1:9/v1"
RECEIPT = "AQEB" + "x" * 408
"""As long as SQS's receipt handles are."""

SAID = {
    Language.JA: "あしたの朝の買い物のメモを書いておいてください。牛乳と卵とパンを忘れずに、"
    "お願いします。ついでに、花も一束、お願いします。",
    Language.EN: "Please write a note for tomorrow's shopping: milk and eggs.",
}
_NAME = {Language.JA: "みかづき", Language.EN: "Mikazuki"}
_PURPOSE = {
    Language.JA: "家族の暮らしを手伝い、忘れごとをなくし、毎日を少し楽しくする。",
    Language.EN: "Help the family with their days, forget nothing, and brighten them a little.",
}
_TRAITS = {
    Language.JA: {
        "口ぐせ": "「まかせて」と言ってから始める。語尾はやわらかく、敬語は軽め。",
        "好きなもの": "海辺の散歩、季節の野菜、古い時計の修理、静かな雨の夜。",
    },
    Language.EN: {
        "manner": "Says 'leave it to me' before beginning; soft in tone, never formal.",
        "likes": "walks along the shore, vegetables in season, old clocks, quiet rainy nights",
    },
}


class Thinking:
    """A model server in this process, whose answers take their time by the clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        """`Transport.send`."""
        assert body is not None
        self._clock.advance(MODEL_SECONDS)
        answer = json.dumps(stub.answer(json.loads(body)), ensure_ascii=False)
        return Reply(200, answer.encode(), {"content-type": "application/json"})

    @contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        """`Transport.open`: a server that has no streams."""
        reply = self.send(url, headers=headers, body=body, timeout_seconds=timeout_seconds)
        yield OpenReply(reply.status, reply.headers, iter((reply.body,)))


@dataclass(frozen=True)
class Installation:
    """A table with its bill, the process of REST, and the process of a worker."""

    opened: Account
    clock: FakeClock
    meter: Meter
    table: Table
    rest: World
    home: Home

    def worker(self) -> Runtime:
        """A worker that just began: it has seen nothing."""
        home = worker_home(self.home, self.table, self.clock)
        return runtime_with(home, self.clock, self.rest.runtime.models)

    def agent(self, language: Language) -> str:
        """A new agent's id."""
        profile = profile_of(self.clock, language)
        return self.home.agents.create(profile).agent.id

    def session(self, agent_id: str, lines: int) -> str:
        """A new session's id, with so many lines of history, which nobody is billed for."""
        session = Session(
            id=self.clock.new_id(),
            participants=(Participant(agent_id=agent_id),),
            created_by="owner",
            created_at=self.clock.now(),
            updated_at=self.clock.now(),
        )
        self._keep(
            session_items.session_to_dynamodb_item(CountedSession(session, lines, lines + 1))
        )
        for number in range(1, lines + 1):
            line = history_line(self.clock, session.id, agent_id, number)
            self._keep(
                line_items.line_to_dynamodb_item(line.replaced(sequence=number, group_line=number))
            )
        return session.id

    def run(self, worker: Runtime, turn: Turn) -> None:
        """What a worker does with a turn's message; it must come to its end."""
        run_turn(worker, delivery_of(turn), Pace())
        stored = worker.home.journal.header(turn.id)
        self.meter.charges.pop()
        assert stored.status is TurnStatus.COMPLETED, stored.note

    def _keep(self, item: Item) -> None:
        table = dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION].tables[self.table.name]
        table.put_item(item)


def delivery_of(turn: Turn) -> Delivery:
    """The turn as the queue delivers it."""
    body = json.dumps({"v": 1, "turn": turn.id}, separators=(",", ":"))
    return Delivery(body=body, group=turn.session_id, receipt=RECEIPT, count=1)


def event_of(turn: Turn) -> dict[str, Any]:
    """The turn as Lambda gets it."""
    delivery = delivery_of(turn)
    attributes = {"MessageGroupId": delivery.group, "ApproximateReceiveCount": "1"}
    record = {
        "messageId": turn.id,
        "receiptHandle": delivery.receipt,
        "body": delivery.body,
        "attributes": attributes,
    }
    return {"Records": [record]}


def profile_of(clock: FakeClock, language: Language) -> Profile:
    """An agent of typical size."""
    now, name = clock.now(), _NAME[language]
    agent = Agent(
        id=clock.new_id(),
        name=name,
        language=language,
        purpose=_PURPOSE[language],
        created_at=now,
        updated_at=now,
    )
    thinking = ThinkingStyle(description=_PURPOSE[language])
    soul = Soul(persona_name=name, thinking_style=thinking, custom_traits=_TRAITS[language])
    return Profile(agent=agent, soul=soul, identity=Identity(name=name))


def worker_home(home: Home, table: Table, clock: FakeClock, on_turn: OnTurn | None = None) -> Home:
    """The same home as another process has it, which remembers nothing of the first."""
    stores = stores_on_dynamodb_table(table, consistent=False, on_turn=on_turn)
    files: Any = copy.copy(home.files)
    files._ledger = DynamoLedger(table, clock)
    return replace(
        home, agents=stores.agents, sessions=stores.sessions, journal=stores.journal, files=files
    )


@contextmanager
def installation(transport: Transport | None = None) -> Iterator[Installation]:
    """An empty installation, billed from here on."""
    clock = FakeClock(START)
    models = ProviderModels(lambda: models_at(NOWHERE), lambda: transport or Thinking(clock))
    with account(clock) as opened:
        meter = Meter(dispatch_in(opened))
        table = Table(create_table(opened), meter, pause=clock.advance)
        home = home_on(table, opened, clock)
        rest = World(runtime_with(home, clock, models))
        yield Installation(opened, clock, meter, table, rest, home)
