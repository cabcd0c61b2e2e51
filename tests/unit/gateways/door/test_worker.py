"""What the door queued is done once, comes again while it cannot be done, and is never lost."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.channels.interactions import handle_queued_interaction
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Unavailable
from opencrab.domain.webhooks.webhook import WEBHOOK, WEBHOOKS, Webhook
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.door import READERS
from opencrab.gateways.door.worker import HANDLERS, TRIES, handle_queued_event
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.example import NOW, profile
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Bell, Provider, registry
from tests.unit.gateways.door.visiting import SECRET, Visit, signed, standard


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    clock = FakeClock(NOW)
    with request.param(tmp_path, clock) as home:
        home.agents.create(profile("hana", "hana"))
        hook = Webhook(secrets=(SECRET,), agent_id="hana", created_by="taro", created_at=NOW)
        home.facts.commit(new_fact(WEBHOOKS, WEBHOOK, "ci", hook))
        yield Runtime(
            home=home,
            clock=clock,
            models=Provider({}),
            actions=registry(Bell()),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )


def queued(*bodies: bytes, name: str = "ci") -> list[str]:
    """What the door makes of requests."""
    visit = Visit({name: standard()})
    for number, body in enumerate(bodies):
        assert visit.ask(name, signed(body, event_id=f"m{number}"), body).status == 202
    return [body for body, _, _ in visit.queued]


def taken(runtime: Runtime, body: str, count: int = 1) -> MessageOutcome:
    queue = runtime.home.interactions
    assert queue is not None
    queue.send(body, group=f"g{count}{len(body)}", deduplication=f"d{count}{len(body)}")
    found = queue.receive(visibility_seconds=60, wait_seconds=0)
    assert found is not None
    delivery = Delivery(found.body, found.group, found.receipt, count)
    outcome = handle_queued_event(runtime, delivery)
    if outcome is MessageOutcome.FINISHED:
        queue.acknowledge(found.receipt)
    return outcome


def dead(runtime: Runtime) -> list[tuple[str, str]]:
    queue = runtime.home.interactions
    assert queue is not None
    return list(queue.list_dead_letters(10))


def turns(runtime: Runtime) -> list[Any]:
    found = []
    while (
        delivery := runtime.home.turns.receive(visibility_seconds=60, wait_seconds=0)
    ) is not None:
        found.append(delivery)
        runtime.home.turns.acknowledge(delivery.receipt)
    return found


def test_what_was_queued_becomes_one_turn_however_often_it_comes(runtime: Runtime) -> None:
    (body,) = queued('{"text":"蟹"}'.encode())
    delivery = Delivery(body, "g", "r", 1)
    for _ in range(3):
        assert handle_queued_interaction(runtime, delivery) is MessageOutcome.FINISHED
    assert len(turns(runtime)) == 1
    assert dead(runtime) == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (queued(b"{}", name="gone")[0], "there is no webhook 'gone'"),
        ('received {"kind":"fax","name":"","id":"1","group":"g"}\n{}', "unknown kind 'fax'"),
        ("received nonsense", ""),
        (f"{queued(b'{}')[0].partition('{}')[0]}{'[' * 100_000}{']' * 100_000}", "recursion"),
    ],
)
def test_what_cannot_be_done_is_kept_with_the_reason(runtime: Runtime, body: str, why: str) -> None:
    assert taken(runtime, body) is MessageOutcome.FINISHED
    ((kept, reason),) = dead(runtime)
    assert kept == body
    assert why in reason
    assert turns(runtime) == []


def test_while_the_store_does_not_answer_it_comes_again_and_then_it_is_kept(
    runtime: Runtime,
) -> None:
    (body,) = queued(b'{"n":1}')

    class Broken:
        def get(self, *_: Any) -> Any:
            raise Unavailable("the table does not answer", cure="wait")

    broken = replace(runtime, home=replace(runtime.home, facts=Broken()))  # type: ignore[arg-type]
    assert taken(broken, body) is MessageOutcome.CONTINUE
    assert dead(runtime) == []
    assert taken(broken, body + " ", count=TRIES) is MessageOutcome.FINISHED
    assert [reason for _, reason in dead(runtime)] == ["the table does not answer"]
    assert taken(runtime, body + "  ") is MessageOutcome.FINISHED
    assert len(turns(runtime)) == 1


def test_the_log_does_not_repeat_what_was_sent(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    (body,) = queued(b'{"card":"4242-4242"}', name="gone")
    taken(runtime, body)
    assert "dead-letter" in caplog.text
    assert "4242" not in caplog.text


def test_every_kind_that_is_read_is_handled() -> None:
    # Mails are read from a mailbox, and come through no door.
    assert {*READERS, "email"} == HANDLERS.keys()
    for module in HANDLERS.values():
        assert callable(import_module(module).handle_received_event)


class Faulty:
    """Stores of a home; the call of this number fails, before or after it was carried out."""

    def __init__(self, number: int, *, after: bool) -> None:
        self.left, self.after, self.broke = number, after, False

    def over(self, store: Any) -> Any:
        return _Wrapped(self, store)

    def call(self, method: Any, *args: Any, **named: Any) -> Any:
        self.left -= 1
        if self.left != 0:
            return method(*args, **named)
        self.broke = True
        if self.after:
            method(*args, **named)
        raise Unavailable("the answer is lost" if self.after else "nothing arrived", cure="wait")


class _Wrapped:
    def __init__(self, faulty: Faulty, store: Any) -> None:
        self._faulty, self._store = faulty, store

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return partial(self._faulty.call, found) if callable(found) else found


@pytest.mark.parametrize("after", [False, True])
def test_a_fault_at_any_call_of_a_store_leaves_one_turn(runtime: Runtime, *, after: bool) -> None:
    home, broke = runtime.home, 0
    for number in range(1, 40):
        visit = Visit({"ci": standard()})
        content = b'{"n":%d}' % number
        assert visit.ask("ci", signed(content, event_id=f"f{number}"), content).status == 202
        ((body, _, _),) = visit.queued
        faulty = Faulty(number, after=after)
        names = ("agents", "sessions", "journal", "facts", "turns")
        stores = {name: faulty.over(getattr(home, name)) for name in names}
        broken = replace(runtime, home=replace(home, **stores))
        outcome = handle_queued_event(broken, Delivery(body, "g", "r", 1))
        assert (outcome is MessageOutcome.CONTINUE) is faulty.broke
        assert handle_queued_event(runtime, Delivery(body, "g", "r", 2)) is MessageOutcome.FINISHED
        found = turns(runtime)
        assert len({each.body for each in found}) == 1, (number, found)
        broke += faulty.broke
        if not faulty.broke:
            break
    assert broke >= 5
    assert dead(runtime) == []
