"""Speed that does not depend on how much is stored: every statement finds its rows by an index."""

import re
import sqlite3
from pathlib import Path

import pytest

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.database import Database, sqlite_milliseconds
from opencrab.adapters.sqlite.home import FILE, sqlite_home_on_database
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.conversation.message import DeliveryState, Instruction
from opencrab.domain.conversation.session import SessionChange
from opencrab.domain.models.health import BreakerState
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.money.budget import LIMITS, BudgetDraw
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.home import Home
from tests.contract.example import (
    CHANNEL,
    DAY,
    JAPANESE,
    NOW,
    admission,
    due_item,
    ending,
    intent,
    later,
    line,
    profile,
    request,
    result,
    session,
    step,
    usage_row,
    utterance,
    wish,
)
from tests.contract.following import feed_of

OWN_ROWS = re.compile(r"SCAN \d+ CONSTANT ROWS?")
"""What an INSERT of several rows looks through: those that it brings, and no table."""
DATA = re.compile(r"^(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b", re.IGNORECASE)


class Overheard(Database):
    """A database that remembers every statement, with its values in it."""

    def __init__(self, path: Path) -> None:
        self.statements: set[str] = set()
        super().__init__(path, durable=False, patience_seconds=0.05)

    def _open(self, *, waits: bool = True) -> sqlite3.Connection:
        connection = super()._open(waits=waits)
        connection.set_trace_callback(self.statements.add)
        return connection


def claimed(home: Home, receipt: str) -> Turn:
    found = home.journal.claim("t1", lease_until=later(60), receipt=receipt)
    assert found is not None
    return found.turn


def received(home: Home) -> str:
    delivery = home.turns.receive(visibility_seconds=60, wait_seconds=0)
    assert delivery is not None
    return delivery.receipt


def a_turns_life(home: Home) -> None:
    home.agents.create(profile())
    home.sessions.create(session())
    (queued,) = home.journal.admit(admission())
    home.journal.admit(admission())
    home.turns.send("t1", group="s1", deduplication="t1")
    receipt = received(home)
    current = claimed(home, receipt)
    home.agents.get("hana")
    home.sessions.get("s1")
    home.journal.read_step_state(queued)
    home.journal.lines("s1", before=1, newest_first=True)
    home.journal.lines("s1")
    blocks = (BudgetDraw(scope="agent:hana", day=DAY, micro_usd=5, limit_micro_usd=9),)
    current = home.journal.commit(
        step(
            current,
            intent(),
            draws=blocks,
            unless_stopped=True,
            due=(due_item(),),
            usage=(usage_row(),),
        )
    )
    home.journal.extend(current, later(90))
    current = home.journal.load("t1").turn
    current = home.journal.commit(step(current, result(), request(2), status=TurnStatus.WAITING))
    home.turns.continue_later(receipt, 0)
    decided = ApprovalDecision(
        n=2, call_id="c1", argument_hash="arguments", approved=True, by="owner"
    )
    home.journal.decide("t1", decided)
    receipt = received(home)
    current = claimed(home, receipt)
    home.journal.stop("t1", wish())
    told = SessionChange(agent_id="hana", spoke_at=NOW)
    said = (line(turn_id="t1", group_line=1),)
    home.journal.commit(ending(current, session=told, lines=said, utterances=(utterance(),)))
    home.turns.acknowledge(receipt)


def what_surrounds_it(home: Home) -> None:
    home.turns.receive(visibility_seconds=60, wait_seconds=0.001)
    home.turns.dead_letter("t0", group="s1", reason="壊れた")
    home.turns.list_dead_letters(5)
    home.journal.list_overdue(NOW, 10)
    told = Instruction(id="i1", session_id="s1", text=JAPANESE, by="owner", at=NOW)
    for _ in range(2):
        home.journal.instruct(told, line(group="i1"))
    home.outbox.get(CHANNEL.target, "t1#0001")
    home.outbox.mark(utterance(state=DeliveryState.SENDING), DeliveryState.QUEUED)
    home.outbox.list_unsent(NOW, 10)
    home.due.put(due_item("d2"))
    home.due.list_due(NOW, 10)
    home.due.remove("d2")
    feed_of(home).wait(after=feed_of(home).position(), seconds=0.001)
    feed_of(home).read(after=0, limit=10)
    home.budgets.drawn_micro_usd("agent:hana", DAY)
    home.switches.set("hana", frozen=False)
    home.switches.is_frozen("hana")
    home.keys.put(ApiKey(id="k", name="鍵", scope=Scope.CHAT, hash="h", created_at=NOW))
    home.keys.find("h")
    home.keys.revoke("k", NOW)
    home.idempotency.begin("key", "hash", NOW)
    home.idempotency.finish("key", 200, "はい")
    home.agents.page(after=None, limit=10)
    home.agents.save(profile().agent, soul=profile().soul)
    home.sessions.page(after=None, limit=10)
    home.sessions.end("s1", NOW)


def what_is_seen_on_the_board(home: Home) -> None:
    home.switches.all_frozen()
    home.budgets.change_limits({"turn_micro_usd": 1})
    home.budgets.limits()
    home.budgets.change_limits(dict.fromkeys(LIMITS))
    ill = BreakerState(failed_at=NOW)
    home.health.put("openai", ill, None)
    home.health.all()
    home.health.forget("openai")
    home.preferences.save(Preferences(), home.preferences.get().version)
    home.usage.row("hana", home.usage.rows("hana", since=NOW, until=later(1))[0].id)


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """How SQLite finds the rows of each statement."""
    folder = tmp_path_factory.mktemp("plans")
    opened = Overheard(folder / FILE)
    try:
        files, blobs = LocalFiles(folder), LocalBlobs(folder)
        home = sqlite_home_on_database(opened, FakeClock(NOW), files=files, blobs=blobs)
        a_turns_life(home)
        what_surrounds_it(home)
        what_is_seen_on_the_board(home)
        opened.purge(sqlite_milliseconds(NOW), sqlite_milliseconds(NOW))
        heard = sorted(found for found in opened.statements if DATA.match(found))
        with opened.read_transaction() as items:
            return {
                statement: [row[3] for row in items.execute(f"EXPLAIN QUERY PLAN {statement}")]
                for statement in heard
            }
    finally:
        opened.close()


def test_every_kind_of_statement_was_overheard(plans: dict[str, list[str]]) -> None:
    for part in (
        "SELECT body FROM item WHERE pk=",
        "INSERT INTO item",
        "UPDATE queue SET visible_at=",
        "DELETE FROM queue WHERE receipt=",
        "INSERT INTO feed",
        "DELETE FROM feed",
        "INSERT INTO sent",
        "due_list=",
        "listing=",
    ):
        assert any(part in statement for statement in plans), part
    assert len(plans) > 60


def test_no_statement_of_a_turns_life_looks_through_a_table(plans: dict[str, list[str]]) -> None:
    scans = {
        statement: steps
        for statement, steps in plans.items()
        if any(step.startswith("SCAN") and not OWN_ROWS.fullmatch(step) for step in steps)
    }
    assert scans == {}


def test_no_statement_sorts_what_an_index_could_hold_in_order(
    plans: dict[str, list[str]],
) -> None:
    sorts = {
        statement: steps
        for statement, steps in plans.items()
        if any("TEMP B-TREE" in step for step in steps)
    }
    assert sorts == {}
