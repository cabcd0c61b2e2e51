"""What an installation costs: exact, rounded against us, and never below zero."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid
from opencrab.domain.usage.aws_cost import (
    CostEstimate,
    PriceSheet,
    estimate_aws_usage_cost,
)
from opencrab.domain.usage.aws_meter import Meter, MeterPrice
from opencrab.domain.usage.aws_workload import AwsSearchBackend, AwsWorkload

AS_OF = "2025-06-01"
PER_DOLLAR = 1_000_000


def table(**changes: Any) -> dict[str, Any]:
    """A sheet in which every meter costs one dollar a piece, and nothing is used."""
    run = {"invocations": 1, "milliseconds": 0, "memory_mb": 1024}
    return {
        "region": "moon-1",
        "prices": {meter.value: {"usd": 1, "as_of": AS_OF} for meter in Meter},
        "standing": {},
        "polling": {"queues": 0, "pollers": 5, "wait_seconds": 20},
        "heartbeat": {"functions": {}},
        "turn": {"functions": {"agent_turn": {**run, "waits_for": "model"}}},
        "model_seconds": 0,
        **changes,
    }


def month(turns: int, **given: Any) -> AwsWorkload:
    """A month with so many turns."""
    return AwsWorkload(turns=turns, **given)


def amounts(found: CostEstimate) -> dict[str, dict[Meter, Decimal]]:
    bills = {"idle": found.idle, "turns": found.thousand_turns, "month": found.month}
    return {name: {part.meter: part.amount for part in bill.parts} for name, bill in bills.items()}


def test_a_price_is_for_so_many_and_rounds_up() -> None:
    tariff = MeterPrice(usd=Decimal("0.625"), per=1_000_000, as_of=AS_OF)  # type: ignore[arg-type]
    assert tariff.micro_usd(Decimal(0)) == 0
    assert tariff.micro_usd(Decimal(1)) == 1
    assert tariff.micro_usd(Decimal(8)) == 5
    assert tariff.micro_usd(Decimal(60_000)) == 37_500


def test_what_is_free_each_month_is_not_charged() -> None:
    tariff = MeterPrice(usd=Decimal("0.1"), free=Decimal(10), as_of=AS_OF)  # type: ignore[arg-type]
    assert [tariff.after_free(Decimal(count)) for count in (0, 10, 11)] == [0, 0, 100_000]
    assert tariff.micro_usd(Decimal(11)) == 1_100_000


def test_an_idle_month_is_what_stands_there_and_polls_and_beats() -> None:
    beat = {
        "uses": {"read_units": 12},
        "functions": {"heartbeat": {"invocations": 1, "milliseconds": 500, "memory_mb": 512}},
    }
    polling = {"queues": 2, "pollers": 5, "wait_seconds": 20}
    sheet = PriceSheet.of(table(standing={"alarms": 3}, polling=polling, heartbeat=beat))
    assert amounts(estimate_aws_usage_cost(sheet, month(0)))["idle"] == {
        Meter.ALARMS: 3,
        Meter.READ_UNITS: 525_600,
        Meter.SQS_REQUESTS: 1_314_000,
        Meter.LAMBDA_REQUESTS: 43_800,
        Meter.LAMBDA_GB_SECONDS: 10_950,
    }


def test_queues_without_order_have_a_price_of_their_own() -> None:
    polling = {"queues": 2, "standard_queues": 1, "pollers": 5, "wait_seconds": 20}
    found = amounts(estimate_aws_usage_cost(PriceSheet.of(table(polling=polling)), month(0)))[
        "idle"
    ]
    assert found == {Meter.SQS_REQUESTS: 1_314_000, Meter.STANDARD_SQS_REQUESTS: 657_000}


def test_a_day_of_beats_is_a_beat_as_often_as_it_comes() -> None:
    run = {"invocations": 1, "milliseconds": 50, "memory_mb": 512}
    beat = {"uses": {"write_units": 4}, "functions": {"heartbeat": run}}
    free = {"usd": 1, "free": 1_500, "as_of": AS_OF}
    prices = {**table()["prices"], "lambda_requests": free}
    standing = {"lambda_requests": 1_000}
    sheet = PriceSheet.of(table(prices=prices, standing=standing, beat=beat, beat_seconds=100))
    found = estimate_aws_usage_cost(sheet, month(0)).beating
    assert {part.meter: part.amount for part in found.parts} == {
        Meter.WRITE_UNITS: 3_456,
        Meter.LAMBDA_REQUESTS: 864,
        Meter.LAMBDA_GB_SECONDS: Decimal("21.6"),
    }
    assert found.micro_usd - found.after_free_micro_usd == 500 * PER_DOLLAR
    assert estimate_aws_usage_cost(PriceSheet.of(table()), month(0)).beating.parts == ()


def test_a_month_is_the_idle_one_with_its_turns() -> None:
    work = {"uses": {"write_units": 50}, "functions": {}}
    sheet = PriceSheet.of(table(standing={"write_units": 7}, turn=work))
    found = amounts(estimate_aws_usage_cost(sheet, month(30)))
    assert found["turns"] == {Meter.WRITE_UNITS: 50_000}
    assert found["month"] == {Meter.WRITE_UNITS: 1_507}
    assert amounts(estimate_aws_usage_cost(sheet, month(0)))["month"] == found["idle"]


def test_a_function_that_waits_for_its_model_is_paid_for_the_wait() -> None:
    sheet = PriceSheet.of(table(model_seconds=4))
    for given_seconds, expected in ((None, 4_000), (0, 0), (9, 9_000)):
        found = amounts(estimate_aws_usage_cost(sheet, month(1, model_seconds=given_seconds)))[
            "turns"
        ]
        assert found.get(Meter.LAMBDA_GB_SECONDS, 0) == expected


def test_a_client_that_waits_keeps_its_function_until_the_answer() -> None:
    functions = {
        "rest": {"invocations": 1, "milliseconds": 100, "memory_mb": 512, "waits_for": "answer"},
        "turn": {"invocations": 1, "milliseconds": 500, "memory_mb": 1024, "waits_for": "model"},
    }
    sheet = PriceSheet.of(table(turn={"functions": functions}, model_seconds=2))
    assert (
        amounts(estimate_aws_usage_cost(sheet, month(1)))["turns"][Meter.LAMBDA_GB_SECONDS] == 2_550
    )
    waited = amounts(estimate_aws_usage_cost(sheet, month(1, waiting=True)))["turns"]
    assert waited[Meter.LAMBDA_GB_SECONDS] == 2_550 + 1_250


def test_turns_get_what_an_idle_month_left_of_the_free_tier() -> None:
    prices = {**table()["prices"], "write_units": {"usd": 1, "free": 1_200, "as_of": AS_OF}}
    work = {"uses": {"write_units": 1}, "functions": {}}
    sheet = PriceSheet.of(table(prices=prices, standing={"write_units": 700}, turn=work))
    found = estimate_aws_usage_cost(sheet, month(1_000))
    assert found.idle.after_free_micro_usd == 0
    assert found.thousand_turns.micro_usd == 1_000 * PER_DOLLAR
    assert found.thousand_turns.after_free_micro_usd == 500 * PER_DOLLAR
    assert found.month.after_free_micro_usd == 500 * PER_DOLLAR


def test_visits_to_the_dashboard_are_no_part_of_the_month() -> None:
    visit = {"uses": {"cloudfront_requests": 2}, "functions": {}}
    found = estimate_aws_usage_cost(PriceSheet.of(table(visit=visit)), month(1_000))
    assert found.thousand_visits.micro_usd == 2_000 * PER_DOLLAR
    assert Meter.CLOUDFRONT_REQUESTS not in amounts(found)["month"]


@given(
    turns=st.integers(0, 10**9),
    idle=st.decimals(0, 10**6, places=3),
    each=st.decimals(0, 10**3, places=3),
    free=st.decimals(0, 10**9, places=3),
)
def test_a_total_is_the_sum_of_its_parts_and_the_free_tier_only_helps(
    turns: int, idle: Decimal, each: Decimal, free: Decimal
) -> None:
    price = {"usd": "0.0000133334", "per": 7, "free": free, "as_of": AS_OF}
    prices = {**table()["prices"], "traces": price}
    work = {"uses": {"traces": each}, "functions": {}}
    found = estimate_aws_usage_cost(
        PriceSheet.of(table(prices=prices, standing={"traces": idle}, turn=work)), month(turns)
    )
    for bill in (found.idle, found.thousand_turns, found.month):
        assert bill.micro_usd == sum(part.micro_usd for part in bill.parts)
        assert all(0 <= part.after_free_micro_usd <= part.micro_usd + 1 for part in bill.parts)
    assert found.month.micro_usd >= found.idle.micro_usd


def test_a_sheet_is_as_old_as_its_oldest_price() -> None:
    prices = {**table()["prices"], "traces": {"usd": 1, "as_of": "2019-03-02"}}
    assert PriceSheet.of(table(prices=prices)).as_of.isoformat() == "2019-03-02"


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"prices": {"traces": {"usd": -1, "as_of": AS_OF}}}, "prices.traces.usd"),
        ({"prices": {"traces": {"usd": float("nan"), "as_of": AS_OF}}}, "prices.traces.usd"),
        ({"prices": {"traces": {"usd": 1}}}, "prices.traces.as_of"),
        ({"standing": {"料金": 1}}, "standing.料金.[key]"),
        ({"standing": {"alarms": "many"}}, "standing.alarms"),
        ({"polling": {"queues": 1, "pollers": 5, "wait_seconds": 0}}, "polling.wait_seconds"),
        ({"model_seconds": None}, "model_seconds"),
        ({"beat_seconds": 0}, "beat_seconds"),
        ({"tax": 8}, "tax"),
        ({"prices": {}}, "prices"),
    ],
)
def test_a_sheet_with_a_mistake_is_refused_by_its_place(
    changes: dict[str, Any], place: str
) -> None:
    with pytest.raises(Invalid) as refused:
        PriceSheet.of(table(**changes))
    assert repr(place) in refused.value.message
    assert refused.value.field == place
    assert "config/aws-pricing.toml" in str(refused.value.cure)


def test_a_month_has_agents_that_beat_and_turns_that_they_start() -> None:
    run = {"invocations": 1, "milliseconds": 0, "memory_mb": 512}
    beat = {"uses": {"write_units": 4}, "functions": {"heartbeat": run}}
    work = {"uses": {"write_units": 10}, "functions": {}}
    sheet = PriceSheet.of(table(beat=beat, beat_seconds=86_400, turn=work))
    workload = month(100, agents=24, own_turns=Decimal("0.5"), model_usd=Decimal("0.25"))
    found = amounts(estimate_aws_usage_cost(sheet, workload))["month"]
    assert found[Meter.LAMBDA_REQUESTS] == 730
    assert found[Meter.WRITE_UNITS] == 730 * 4 + (100 + 365) * 10
    assert found[Meter.MODEL_USD] == (100 + 365) * Decimal("0.25")


def test_who_watches_polls_without_a_websocket_and_is_connected_with_one() -> None:
    watch = {"uses": {"http_requests": 900}, "functions": {}}
    live = {"uses": {"websocket_minutes": 60}, "functions": {}}
    sheet = PriceSheet.of(table(watch=watch, live=live, choices=EVERY))
    polling = amounts(estimate_aws_usage_cost(sheet, month(0, watch_hours=3)))["month"]
    assert polling == {Meter.HTTP_REQUESTS: 2_700}
    connected = month(0, watch_hours=3, websocket=True)
    assert amounts(estimate_aws_usage_cost(sheet, connected))["month"] == {
        Meter.WEBSOCKET_MINUTES: 180
    }


def test_a_share_of_turns_begins_with_an_init_which_is_paid() -> None:
    cold = {"functions": {"f": {"invocations": 0, "milliseconds": 1_000, "memory_mb": 1024}}}
    sheet = PriceSheet.of(table(turn={"functions": {}}, cold=cold, cold_share="0.25"))
    found = amounts(estimate_aws_usage_cost(sheet, month(8)))
    assert found["turns"][Meter.LAMBDA_GB_SECONDS] == 250
    assert found["month"][Meter.LAMBDA_GB_SECONDS] == 2


EVERY: dict[str, Any] = {name: {} for name in AwsWorkload.choice_names()}


def test_what_is_chosen_costs_all_month_and_with_each_turn() -> None:
    choices = {
        **EVERY,
        "alarms": {"standing": {"alarms": 10}},
        "discord_alarms": {"standing": {"alarms": 2}},
        "discord": {"queues": 2, "turn": {"uses": {"sqs_requests": 6}, "functions": {}}},
        "opensearch": {"standing": {"search_hours": 730}},
    }
    sheet = PriceSheet.of(table(choices=choices, turn={"functions": {}}))
    plain = amounts(estimate_aws_usage_cost(sheet, month(1)))
    assert plain["idle"] == plain["turns"] == {}
    alone = amounts(estimate_aws_usage_cost(sheet, month(1, discord=True)))
    assert alone["idle"] == {Meter.SQS_REQUESTS: 1_314_000}
    assert alone["turns"] == {Meter.SQS_REQUESTS: 6_000}
    assert alone["month"] == {Meter.SQS_REQUESTS: 1_314_006}
    everything = month(0, alarms=True, discord=True, search=AwsSearchBackend.OPENSEARCH)
    found = amounts(estimate_aws_usage_cost(sheet, everything))["idle"]
    assert found[Meter.ALARMS] == 12
    assert found[Meter.SEARCH_HOURS] == 730


def test_a_sheet_with_choices_has_all_of_them() -> None:
    with pytest.raises(Invalid, match="there is no usage for world"):
        PriceSheet.of(table(choices={name: {} for name in EVERY if name != "world"}))
