"""A turn's header: claims count, money is conserved, and nothing is drawn beyond a limit."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.authority import Authority, Source
from opencrab.domain.errors import Exhausted
from opencrab.domain.money import INSTALLATION, Draw, Limits, agent_scope
from opencrab.domain.turn import Block, Stop, Trigger, Turn, TurnStatus, draws_for

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
LIMITS = Limits(turn_micro_usd=1_000, block_micro_usd=100)
DAYS = ("2026-02-16", "2026-02-17", "2026-02-18")


def turn(**fields: Any) -> Turn:
    given: dict[str, Any] = {
        "id": "t1",
        "agent_id": "mika",
        "session_id": "s1",
        "trigger": Trigger.MESSAGE,
        "source": Source.REST,
        "authority": Authority.OWNER,
        "principal_id": "owner",
        "group": "m1",
        "body_hash": "h",
        "created_at": NOW,
    }
    return Turn(**given | fields)


def returned(closing: Turn, limits: Limits = LIMITS) -> dict[str, int]:
    """What a closing turn gives back to its agent's budget, by day."""
    draws = closing.returns(limits)
    own = {d.day: -d.micro_usd for d in draws if d.scope == agent_scope(closing.agent_id)}
    shared = {d.day: -d.micro_usd for d in draws if d.scope == INSTALLATION}
    assert own == shared
    return own


def reserved(header: Turn, amount: int, day: str = DAYS[0]) -> Turn:
    """The header after a reservation, with a block drawn if it takes one."""
    return header.reserving(amount, header.block_for(amount, day, LIMITS))


def test_a_claim_is_a_new_epoch_and_one_more_delivery() -> None:
    claimed = turn(deliveries=1, epoch=4).claimed(lease_until=NOW, receipt="r1")
    assert (claimed.status, claimed.epoch, claimed.deliveries) == (TurnStatus.RUNNING, 5, 2)
    assert (claimed.lease_until, claimed.receipt) == (NOW, "r1")


def test_a_turn_has_ended_unless_it_is_queued_running_or_waiting() -> None:
    going_on = {status for status in TurnStatus if not status.is_end}
    assert going_on == {TurnStatus.QUEUED, TurnStatus.RUNNING, TurnStatus.WAITING}


def test_a_turn_draws_whole_blocks() -> None:
    assert turn().block_for(1, DAYS[0], LIMITS) == Block(day=DAYS[0], micro_usd=100)
    assert turn().block_for(101, DAYS[0], LIMITS) == Block(day=DAYS[0], micro_usd=101)


def test_a_covered_reservation_draws_nothing() -> None:
    assert turn(allowance=100).block_for(100, DAYS[0], LIMITS) is None
    assert turn().block_for(0, DAYS[0], LIMITS) is None


def test_the_last_block_is_what_the_turn_may_still_spend() -> None:
    block = turn(spent=950, allowance=10).block_for(20, DAYS[0], LIMITS)
    assert block == Block(day=DAYS[0], micro_usd=40)


def test_a_turn_beyond_its_own_budget_is_exhausted() -> None:
    with pytest.raises(Exhausted) as error:
        turn(spent=900).block_for(101, DAYS[0], LIMITS)
    assert error.value.field == "turn"
    assert "'t1' has 100 micro-dollars of budget left and needs 101" in error.value.message
    assert error.value.cure


def test_a_reservation_counts_an_attempt_and_leaves_the_rest_as_allowance() -> None:
    held = reserved(turn(), 60)
    assert (held.allowance, held.attempts, held.spent) == (40, 1, 0)
    assert held.blocks == (Block(day=DAYS[0], micro_usd=100),)
    assert reserved(held, 40).blocks == held.blocks


def test_settling_gives_the_difference_back_to_the_allowance() -> None:
    settled = reserved(turn(), 60).settled(reserved=60, cost=25)
    assert (settled.allowance, settled.spent) == (75, 25)
    assert returned(settled) == {DAYS[0]: 75}


def test_the_rest_goes_back_to_the_newest_day_first() -> None:
    first = reserved(turn(), 100).settled(reserved=100, cost=80)
    second = reserved(first, 90, DAYS[1]).settled(reserved=90, cost=0)
    assert [block.day for block in second.blocks] == list(DAYS[:2])
    assert returned(second) == {DAYS[1]: 100, DAYS[0]: 20}


def test_a_turn_that_used_all_gives_nothing_back() -> None:
    assert reserved(turn(), 100).settled(reserved=100, cost=100).returns(LIMITS) == ()
    assert turn().returns(LIMITS) == ()


calls = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 100), st.sampled_from(DAYS), st.booleans()),
    max_size=12,
)


@given(made=calls)
def test_money_is_conserved_whatever_a_turn_does(made: list[tuple[int, int, str, bool]]) -> None:
    header, drawn = turn(), dict.fromkeys(DAYS, 0)
    for amount, percent, day, crashed in sorted(made, key=lambda call: call[2]):
        try:
            block = header.block_for(amount, day, LIMITS)
        except Exhausted:
            continue
        if block is not None:
            drawn[day] += block.micro_usd
        held = header.reserving(amount, block)
        assert held.allowance >= 0
        assert held.allowance + held.spent + amount == sum(drawn.values())
        cost = amount if crashed else amount * percent // 100
        header = held.settled(reserved=amount, cost=cost)
        assert header.allowance + header.spent == sum(drawn.values())
    back = returned(header)
    assert sum(drawn.values()) - sum(back.values()) == header.spent <= LIMITS.turn_micro_usd
    assert all(0 < back[day] <= drawn[day] for day in back)


@pytest.mark.parametrize(("own", "limit"), [(None, LIMITS.agent_day_micro_usd), (7, 7), (0, 0)])
def test_a_block_counts_for_the_agents_day_and_the_installations(
    own: int | None, limit: int
) -> None:
    agent, house = draws_for("mika", DAYS[0], 50, LIMITS, own)
    assert agent == Draw(scope="agent:mika", day=DAYS[0], micro_usd=50, limit_micro_usd=limit)
    assert (house.scope, house.micro_usd) == (INSTALLATION, 50)
    assert house.limit_micro_usd == LIMITS.installation_day_micro_usd


@pytest.mark.parametrize("reason", ["もういい", "enough"])
def test_a_header_comes_back_from_its_stored_form(reason: str) -> None:
    header = reserved(turn(stop=Stop(by="owner", reason=reason, at=NOW), note=reason), 10)
    assert Turn.model_validate_json(header.model_dump_json()) == header
