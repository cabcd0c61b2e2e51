"""A lease of a budget: what it takes, what it holds back, and when that returns."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from opencrab.adapters.dynamodb.money.budget import DynamoBudgets
from opencrab.adapters.dynamodb.money.budget_item import LeaseReturned, refused_dynamodb_draw_error
from opencrab.adapters.dynamodb.money.budget_item import dynamodb_budget_draw_write as direct_write
from opencrab.adapters.dynamodb.money.lease import (
    LEASE,
    SKEW,
    BudgetLeases,
    LeasedDraws,
    return_lapsed_dynamodb_leases,
)
from opencrab.adapters.dynamodb.table import Cancelled, Table
from opencrab.domain.errors import Exhausted, Stopped
from opencrab.domain.money.budget import INSTALLATION, BudgetDraw
from opencrab.domain.turn.turn import Turn, TurnStatus
from tests.money.leases import RUNNING
from tests.scale.clockwork import START
from tests.scale.dynamodb import MemoryTable, cancelled

DAY, BLOCK = "2026-01-05", 50_000
LARGE = 1_000 * BLOCK


class Repeating:
    """DynamoDB whose answers to single writes get lost, so that the SDK sends each once more.

    A transaction has a token, by which its repeat changes nothing.
    """

    def __init__(self, stored: MemoryTable) -> None:
        self._stored = stored

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._stored(operation, arguments)
        return self._stored(operation, arguments) if operation == "UpdateItem" else answer


class Refusing:
    """DynamoDB where each transaction meets another one."""

    def __init__(self, stored: MemoryTable) -> None:
        self._stored = stored

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems":
            raise cancelled([("TransactionConflict", None)] * len(arguments["TransactItems"]))
        return self._stored(operation, arguments)


@pytest.fixture
def stored() -> MemoryTable:
    return MemoryTable()


@pytest.fixture
def table(stored: MemoryTable) -> Table:
    return Table("t", stored)


def draw(micro_usd: int, limit: int | None = LARGE) -> BudgetDraw:
    return BudgetDraw(scope=INSTALLATION, day=DAY, micro_usd=micro_usd, limit_micro_usd=limit)


def committing(table: Table, status: TurnStatus) -> Callable[[LeasedDraws], Turn]:
    def commit(planned: LeasedDraws) -> Turn:
        writes = [direct_write(one, START) for one in planned.direct]
        try:
            table.transact(*writes, *([planned.write] if planned.write else []))
        except Cancelled as refusal:
            if len(writes) in refusal.failed:
                raise LeaseReturned(refusal.failed[len(writes)]) from None
            raise refused_dynamodb_draw_error(planned.direct[0], refusal.failed[0]) from None
        return RUNNING.replaced(status=status)

    return commit


def begin(
    table: Table, leases: BudgetLeases, limit: int = LARGE, at: timedelta = timedelta()
) -> None:
    leases.draw((draw(BLOCK, limit),), START + at, committing(table, TurnStatus.RUNNING))


def end(table: Table, leases: BudgetLeases, spent: int = 500) -> None:
    rest = (draw(spent - BLOCK, None),)
    leases.draw(rest, START, committing(table, TurnStatus.COMPLETED))


def counted(stored: MemoryTable, name: str) -> int:
    return int(stored.items[f"BUDGET#{INSTALLATION}", DAY].get(name, {"N": "0"})["N"])


def test_turns_of_a_process_draw_from_its_slice_and_seldom_from_the_budget(
    stored: MemoryTable, table: Table
) -> None:
    leases = BudgetLeases(table, "p")
    for _ in range(20):
        begin(table, leases)
        end(table, leases)
        assert counted(stored, "drawn") == counted(stored, "leased") == 2 * BLOCK
    assert DynamoBudgets(table).drawn_micro_usd(INSTALLATION, DAY) == 20 * 500
    for _ in range(100):
        begin(table, leases)
        end(table, leases)
    assert counted(stored, "leased") == 2 * BLOCK, "a refill takes no more of the pool"
    assert DynamoBudgets(table).drawn_micro_usd(INSTALLATION, DAY) == 120 * 500


def test_a_small_budget_is_drawn_from_directly(stored: MemoryTable, table: Table) -> None:
    leases = BudgetLeases(table, "p")
    begin(table, leases, 39 * BLOCK)
    assert counted(stored, "drawn") == BLOCK
    assert [pk for pk, _ in stored.items] == [f"BUDGET#{INSTALLATION}"]


def test_what_a_dead_process_held_returns_when_its_lease_has_ended(
    stored: MemoryTable, table: Table
) -> None:
    begin(table, BudgetLeases(table, "p"))
    soon = START + LEASE
    assert return_lapsed_dynamodb_leases(table, soon) == 0
    assert DynamoBudgets(table).return_unspent(soon + SKEW) == 1
    assert (counted(stored, "drawn"), counted(stored, "leased")) == (BLOCK, 0)
    assert return_lapsed_dynamodb_leases(table, soon + SKEW) == 0


def test_a_process_whose_lease_a_fast_clock_returned_takes_another(
    stored: MemoryTable, table: Table
) -> None:
    leases = BudgetLeases(table, "p")
    begin(table, leases)
    assert return_lapsed_dynamodb_leases(table, START + timedelta(hours=1)) == 1
    begin(table, leases)
    begin(table, leases)
    end(table, leases)
    assert DynamoBudgets(table).drawn_micro_usd(INSTALLATION, DAY) == 2 * BLOCK + 500


def test_leases_hold_at_most_a_twentieth_together_and_the_others_draw_directly(
    stored: MemoryTable, table: Table
) -> None:
    processes = [BudgetLeases(table, f"p{number}") for number in range(5)]
    for leases in processes:
        begin(table, leases, 100 * BLOCK)
    assert counted(stored, "leased") == 4 * BLOCK <= 100 * BLOCK // 20
    for leases in processes:
        end(table, leases)
    assert counted(stored, "drawn") <= 4 * BLOCK + 5 * 500, "those without a slice gave it all back"


def test_a_lowered_limit_takes_the_slice_back(stored: MemoryTable, table: Table) -> None:
    leases = BudgetLeases(table, "p")
    begin(table, leases)
    with pytest.raises(Exhausted) as refusal:
        begin(table, leases, 60 * BLOCK - 59 * BLOCK - 1)
    assert refusal.value.drawn_micro_usd in (None, BLOCK)
    assert (counted(stored, "drawn"), counted(stored, "leased")) == (BLOCK, 0)


def test_a_limit_too_low_for_leases_takes_the_slice_back_too(
    stored: MemoryTable, table: Table
) -> None:
    leases = BudgetLeases(table, "p")
    begin(table, leases)
    begin(table, leases, 30 * BLOCK)
    assert (counted(stored, "drawn"), counted(stored, "leased")) == (2 * BLOCK, 0)


def test_a_slice_that_cannot_go_back_now_goes_back_with_the_next_draw(stored: MemoryTable) -> None:
    table = Table("t", stored, pause=lambda _seconds: None)
    leases = BudgetLeases(table, "p")
    begin(table, leases)
    busy = Table("t", Refusing(stored), pause=lambda _seconds: None)
    leases._table = busy
    begin(table, leases, 50 * BLOCK)
    assert counted(stored, "leased") == 2 * BLOCK
    leases._table = table
    begin(table, leases, 50 * BLOCK)
    assert (counted(stored, "drawn"), counted(stored, "leased")) == (3 * BLOCK, 0)


def test_the_last_block_of_a_budget_is_found_in_the_slice(table: Table) -> None:
    leases, limit = BudgetLeases(table, "p"), 40 * BLOCK
    for _ in range(40):
        begin(table, leases, limit)
    with pytest.raises(Exhausted) as refusal:
        begin(table, leases, limit)
    assert refusal.value.drawn_micro_usd == limit


def test_what_was_taken_for_a_stopped_turn_stays_in_the_lease(
    stored: MemoryTable, table: Table
) -> None:
    def stops(_planned: LeasedDraws) -> Turn:
        raise Stopped("stopped")

    leases = BudgetLeases(table, "p")
    with pytest.raises(Stopped):
        leases.draw((draw(BLOCK),), START, stops)
    assert DynamoBudgets(table).drawn_micro_usd(INSTALLATION, DAY) == 0
    begin(table, leases)
    assert counted(stored, "drawn") == 2 * BLOCK


def test_a_write_that_the_sdk_repeats_after_a_lost_answer_makes_no_money(
    stored: MemoryTable,
) -> None:
    def stops(_planned: LeasedDraws) -> Turn:
        raise Stopped("stopped")

    table = Table("t", Repeating(stored))
    with pytest.raises(Stopped):
        BudgetLeases(table, "p").draw((draw(BLOCK),), START, stops)
    assert counted(stored, "drawn") == 2 * BLOCK
    assert DynamoBudgets(table).drawn_micro_usd(INSTALLATION, DAY) == 0


def test_what_was_taken_beside_a_returned_lease_is_not_taken_again(
    stored: MemoryTable, table: Table
) -> None:
    leases, own = BudgetLeases(table, "p"), draw(BLOCK).replaced(scope="agent:amy")
    begin(table, leases)
    assert return_lapsed_dynamodb_leases(table, START + timedelta(hours=1)) == 1
    leases.draw((draw(BLOCK), own), START, committing(table, TurnStatus.RUNNING))
    for scope in (INSTALLATION, "agent:amy"):
        assert stored.items[f"BUDGET#{scope}", DAY]["leased"] == {"N": str(2 * BLOCK)}


def test_a_release_before_draws_beside_leases_and_the_limit_holds(table: Table) -> None:
    leases, limit = BudgetLeases(table, "p"), 40 * BLOCK
    begin(table, leases, limit)
    older = direct_write(draw(BLOCK, limit), START)
    for _ in range(38):
        table.transact(older)
    with pytest.raises(Cancelled):
        table.transact(older)  # what the lease holds counts as drawn
    begin(table, leases, limit)


def test_another_day_has_a_lease_of_its_own(stored: MemoryTable, table: Table) -> None:
    leases = BudgetLeases(table, "p")
    begin(table, leases)
    tomorrow = draw(BLOCK).replaced(day="2026-01-06")
    leases.draw((tomorrow,), START, committing(table, TurnStatus.RUNNING))
    end(table, leases)
    assert {sk for pk, sk in stored.items if pk == "LEASE#p"} == {DAY, "2026-01-06"}
    assert DynamoBudgets(table).drawn_micro_usd(INSTALLATION, DAY) == 500
