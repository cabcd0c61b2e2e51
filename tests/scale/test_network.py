"""The network refuses what DynamoDB does: transactions that meet, and full partitions."""

import pytest
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.table import Table, update_item
from opencrab.domain.errors import Unavailable
from tests.scale.clockwork import Clockwork
from tests.scale.dynamodb import MemoryTable
from tests.scale.network import Network

COUNT = update_item("P", "S", Update(Path("n").add(1)))
OTHER = update_item("P", "T", Update(Path("n").add(1)))


class Stage:
    def __init__(self) -> None:
        self.clockwork, self.stored = Clockwork(), MemoryTable()
        self.network = Network(self.stored, self.clockwork)
        self.table = Table("t", self.network, pause=self.clockwork.sleep)
        self.failed = 0

    def count(self) -> int:
        return int(self.stored.items["P", "S"]["n"]["N"])

    def write(self) -> None:
        self.table.write(COUNT)

    def transact(self) -> None:
        try:
            self.table.transact(COUNT, OTHER)
        except Unavailable:
            self.failed += 1


def test_single_writes_of_one_item_never_conflict() -> None:
    stage = Stage()
    for number in range(50):
        stage.clockwork.start(stage.write, number * 0.001)
    stage.clockwork.run()
    assert (stage.count(), stage.network.conflicts.total()) == (50, 0)


def test_transactions_that_meet_are_refused_and_tried_again() -> None:
    stage = Stage()
    for _ in range(5):
        stage.clockwork.start(stage.transact, 0.0)
    stage.clockwork.run()
    assert stage.network.conflicts["P"] >= 4
    assert stage.count() + stage.failed == 5


@pytest.mark.parametrize(("a_second", "throttled"), [(800, False), (3_000, True)])
def test_a_partition_takes_a_thousand_write_units_a_second(
    a_second: int, *, throttled: bool
) -> None:
    stage = Stage()

    def write() -> None:
        try:
            stage.write()
        except Unavailable:
            stage.failed += 1

    for number in range(a_second):
        stage.clockwork.start(write, number / a_second)
    stage.clockwork.run()
    assert (stage.network.throttles > 0) is throttled
    assert stage.count() + stage.failed == a_second
