"""Costs over REST: where each micro-dollar of a turn went, to the last one."""

from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.domain.money.budget import Usage
from tests.integration.rest.house import House, problem
from tests.integration.rest.thinking import PRICE

ODD = Usage(input_tokens=333, output_tokens=77, cached_tokens=101)


def explained(house: House, *answers: ScriptedAnswer) -> dict[str, Any]:
    """A turn that went so, explained."""
    house.thinking.model = Scripted(answers, price=PRICE)
    session_id = house.session(house.agent("葵"))
    turn_id = house.say(session_id, "ファイルを見せて")[0]
    house.work()
    turn = house.got(f"/turns/{turn_id}")
    found: dict[str, Any] = house.got(f"/costs/explain?turn={turn_id}")
    assert found["spent_micro_usd"] == turn["spent_micro_usd"]
    assert found["spent_micro_usd"] == sum(call["cost_micro_usd"] for call in found["calls"])
    for call in found["calls"]:
        assert sum(share["micro_usd"] for share in call["shares"]) == call["cost_micro_usd"]
    return found


def sums(found: dict[str, Any]) -> tuple[int, int, int, int]:
    """Drawn, spent, held and returned."""
    drawn, spent, held, returned = (
        found[f"{name}_micro_usd"] for name in ("drawn", "spent", "held", "returned")
    )
    return drawn, spent, held, returned


def test_a_turns_money_is_told_to_the_last_micro_dollar(house: House) -> None:
    found = explained(
        house,
        ScriptedAnswer(calls=(ScriptedCall("ws_list", {}),), usage=ODD),
        ScriptedAnswer(text="空です", usage=ODD),
    )
    drawn, spent, held, returned = sums(found)
    assert (found["status"], found["adds_up"], found["complete"]) == ("completed", True, True)
    assert spent == 2 * PRICE.cost(ODD)
    assert held == 0
    assert returned == drawn - spent > 0
    first = found["calls"][0]
    assert first["ground"] == "counted"
    assert [share["kind"] for share in first["shares"]] == [
        *("input", "cached", "output", "rounding")
    ]
    assert first["price"]["input_per_million"] == PRICE.input_per_million
    budgets = house.got(f"/budgets?agent={found['agent_id']}")["drawn"]
    assert [one["drawn_micro_usd"] for one in budgets[:2]] == [spent, spent]
    assert found["scopes"] == [f"agent:{found['agent_id']}", "installation"]
    assert sum(block["micro_usd"] for block in found["drawn"]) == drawn


@pytest.mark.parametrize(
    ("answer", "ground", "costs"),
    [
        (ScriptedAnswer(error="server_error"), "perhaps_billed", True),
        (ScriptedAnswer(error="timeout"), "perhaps_billed", True),
        (ScriptedAnswer(error="unreachable"), "not_billed", False),
        (ScriptedAnswer(error="bad_request"), "not_billed", False),
        (ScriptedAnswer(text="x", usage=Usage()), "uncounted", True),
        (ScriptedAnswer(text="x", usage=Usage(reported_micro_usd=42)), "reported", True),
        (ScriptedAnswer(text="x", usage=Usage(reported_micro_usd=0)), "reported", False),
    ],
)
def test_each_call_says_why_it_cost_what_it_did(
    house: House,
    answer: ScriptedAnswer,
    ground: str,
    costs: bool,  # noqa: FBT001
) -> None:
    found = explained(house, answer, ScriptedAnswer(text="終わり", usage=ODD))
    call = found["calls"][0]
    assert call["ground"] == ground
    assert bool(call["cost_micro_usd"]) is costs
    assert [share["kind"] for share in call["shares"]] == ([ground] if costs else [])
    assert (found["adds_up"], found["complete"]) == (True, True)


def test_a_vendor_that_counts_more_than_was_reserved_is_paid_from_the_day(house: House) -> None:
    found = explained(house, ScriptedAnswer(text="x", usage=Usage(reported_micro_usd=700_000)))
    drawn, spent, _, returned = sums(found)
    assert spent == 700_000
    assert returned == drawn - spent < 0
    assert found["adds_up"] is True
    budgets = house.got("/budgets")["drawn"]
    assert budgets[0]["drawn_micro_usd"] == spent


def test_a_turn_that_waits_holds_what_it_drew(house: House) -> None:
    session_id = house.session(house.agent())
    turn_id = house.say(session_id, "まだ")[0]
    found = house.got(f"/costs/explain?turn={turn_id}")
    assert sums(found) == (0, 0, 0, 0)
    assert (found["status"], found["adds_up"], found["calls"]) == ("queued", True, [])


def test_nobody_but_the_owner_reads_a_turns_costs(house: House) -> None:
    path = "/costs/explain?turn=t"
    problem(house.call("GET", path, key=house.chat), 403)
    problem(house.call("GET", path, headers={"Authorization": ""}), 401)
    problem(house.call("GET", path), 404)


@pytest.mark.parametrize("query", ["", "turn=", "turn=a%20b", f"turn={'x' * 65}", "turn=%00"])
def test_a_turn_is_named_by_its_id(house: House, query: str) -> None:
    problem(house.raw("GET", f"/costs/explain?{query}"), 422, "turn")
