"""The board: one item and one read, and nothing on it disturbs anything else."""

import pytest

from opencrab.adapters.dynamodb.table import item_key
from opencrab.domain.errors import Conflict
from opencrab.domain.models.health import BreakerState
from opencrab.domain.models.preferences import Preferences
from opencrab.domain.money.budget import LIMITS
from opencrab.ports.turn.journal import StepState
from tests.contract.example import NOW, turn
from tests.unit.adapters.dynamodb.turn.test_header import size_of
from tests.unit.adapters.dynamodb.wire import Dynamo

ILL = BreakerState(failures=3, failed_at=NOW, paused_until=NOW)


def test_one_strongly_consistent_read_tells_all(dynamo: Dynamo) -> None:
    dynamo.stores.budgets.change_limits({"turn_micro_usd": 7})
    dynamo.stores.health.put("openai", ILL, None)
    dynamo.stores.preferences.save(Preferences(), 0)
    dynamo.wire.calls.clear()
    seen = dynamo.stores.journal.read_step_state(turn())
    assert (seen.limits, seen.health) == ({"turn_micro_usd": 7}, {"openai": ILL})
    assert seen.settings_version == 1
    ((operation, arguments),) = dynamo.wire.calls
    assert operation == "GetItem"
    assert arguments["ConsistentRead"] is True


def test_a_board_from_before_there_were_limits_is_read(dynamo: Dynamo) -> None:
    old = {**item_key("SWITCH", "S"), "schema": {"N": "1"}, "frozen": {"SS": ["hana"]}}
    dynamo.account.client("dynamodb").put_item(TableName=dynamo.name, Item=old)
    assert dynamo.stores.journal.read_step_state(turn()) == StepState("hana", ())
    assert dynamo.stores.budgets.limits() == {}
    assert dynamo.stores.preferences.get().version == 0


def test_a_board_with_every_usual_provider_is_one_read_unit(dynamo: Dynamo) -> None:
    numbers = dict.fromkeys(LIMITS, 10**12) | {"heartbeat_percent": 100}
    dynamo.stores.budgets.change_limits(numbers)
    for number in range(20):
        dynamo.stores.health.put(f"provider_{number}", ILL, None)
    item = dynamo.table.get("SWITCH", "S")
    assert item is not None
    assert size_of(item) <= 4_096


def test_limits_are_changed_in_one_write_of_just_these(dynamo: Dynamo) -> None:
    dynamo.stores.switches.set("hana", frozen=True)
    dynamo.stores.budgets.change_limits({"turn_micro_usd": 5, "block_micro_usd": 6})
    dynamo.wire.calls.clear()
    dynamo.stores.budgets.change_limits({"turn_micro_usd": None, "session_micro_usd": 0})
    ((operation, arguments),) = dynamo.wire.calls
    assert operation == "UpdateItem"
    assert "ConditionExpression" not in arguments
    named = set(arguments["ExpressionAttributeNames"].values())
    assert named == {"limit#turn_micro_usd", "limit#session_micro_usd", "schema"}
    assert dynamo.stores.budgets.limits() == {"block_micro_usd": 6, "session_micro_usd": 0}
    assert dynamo.stores.switches.all_frozen() == ("hana",)


def test_no_change_is_no_write(dynamo: Dynamo) -> None:
    dynamo.stores.budgets.change_limits({})
    assert dynamo.wire.calls == []


def test_settings_that_were_changed_meanwhile_leave_the_board_alone(dynamo: Dynamo) -> None:
    dynamo.stores.preferences.save(Preferences(), 0)

    def others() -> None:
        dynamo.others.preferences.save(Preferences(fallback=("local",)), 1)

    dynamo.wire.before("TransactWriteItems", others)
    with pytest.raises(Conflict, match="changed concurrently"):
        dynamo.stores.preferences.save(Preferences(), 1)
    assert dynamo.stores.journal.read_step_state(turn()).settings_version == 2
    assert dynamo.stores.preferences.get().preferences.fallback == ("local",)
