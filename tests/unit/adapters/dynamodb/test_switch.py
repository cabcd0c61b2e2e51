"""The board: one item and one read, and nothing on it disturbs anything else."""

import pytest

from opencrab.adapters.dynamodb.table import key
from opencrab.domain.errors import Conflict
from opencrab.domain.health import Health
from opencrab.domain.money import Limits
from opencrab.domain.preference import Preferences
from opencrab.ports.journal import Boundary
from tests.contract.example import NOW, turn
from tests.unit.adapters.dynamodb.test_turn import size_of
from tests.unit.adapters.dynamodb.wire import Dynamo

ILL = Health(failures=3, failed_at=NOW, paused_until=NOW)


def test_one_strongly_consistent_read_tells_all(dynamo: Dynamo) -> None:
    dynamo.stores.budgets.set_limits(Limits())
    dynamo.stores.health.put("openai", ILL, None)
    dynamo.stores.preferences.save(Preferences(), 0)
    dynamo.wire.calls.clear()
    seen = dynamo.stores.journal.boundary(turn())
    assert (seen.limits, seen.health, seen.settings_version) == (Limits(), {"openai": ILL}, 1)
    ((operation, arguments),) = dynamo.wire.calls
    assert operation == "GetItem"
    assert arguments["ConsistentRead"] is True


def test_a_board_from_before_there_were_limits_is_read(dynamo: Dynamo) -> None:
    old = {**key("SWITCH", "S"), "schema": {"N": "1"}, "frozen": {"SS": ["hana"]}}
    dynamo.account.client("dynamodb").put_item(TableName=dynamo.name, Item=old)
    assert dynamo.stores.journal.boundary(turn()) == Boundary("hana", ())
    assert dynamo.stores.budgets.limits() is None
    assert dynamo.stores.preferences.get().version == 0


def test_a_board_with_every_usual_provider_is_one_read_unit(dynamo: Dynamo) -> None:
    dynamo.stores.budgets.set_limits(Limits(session_micro_usd=10**12))
    for number in range(20):
        dynamo.stores.health.put(f"provider_{number}", ILL, None)
    item = dynamo.table.get("SWITCH", "S")
    assert item is not None
    assert size_of(item) <= 4_096


def test_settings_that_were_changed_meanwhile_leave_the_board_alone(dynamo: Dynamo) -> None:
    dynamo.stores.preferences.save(Preferences(), 0)

    def others() -> None:
        dynamo.others.preferences.save(Preferences(fallback=("local",)), 1)

    dynamo.wire.before("TransactWriteItems", others)
    with pytest.raises(Conflict, match="changed meanwhile"):
        dynamo.stores.preferences.save(Preferences(), 1)
    assert dynamo.stores.journal.boundary(turn()).settings_version == 2
    assert dynamo.stores.preferences.get().preferences.fallback == ("local",)
