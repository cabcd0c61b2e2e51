"""A turn's header: claims count, money is conserved, and nothing is drawn beyond a limit."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.errors import Exhausted
from opencrab.domain.money.budget import (
    INSTALLATION,
    WHOLE,
    BudgetDraw,
    Limits,
    agent_budget_scope,
    heartbeat_budget_scope,
    public_budget_scope,
    session_budget_scope,
)
from opencrab.domain.turn.turn import Block, Stop, Trigger, Turn, TurnStatus, turn_block_draws

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


def returned(closing: Turn) -> dict[str, int]:
    """What a closing turn gives back to its agent's budget, by day."""
    draws = closing.closing_budget_draws(DAYS[0])
    own = {d.day: -d.micro_usd for d in draws if d.scope == agent_budget_scope(closing.agent_id)}
    shared = {d.day: -d.micro_usd for d in draws if d.scope == INSTALLATION}
    assert own == shared
    return own


def reserved(header: Turn, amount: int, day: str = DAYS[0]) -> Turn:
    """The header after a reservation, with a block drawn if it takes one."""
    return header.with_reservation(amount, header.block_for(amount, day, LIMITS))


def test_a_claim_is_a_new_epoch_and_one_more_delivery() -> None:
    claimed = turn(deliveries=1, epoch=4).with_claim(lease_until=NOW, receipt="r1")
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
    settled = reserved(turn(), 60).with_cost(reserved=60, cost=25)
    assert (settled.allowance, settled.spent) == (75, 25)
    assert returned(settled) == {DAYS[0]: 75}


def test_the_rest_goes_back_to_the_newest_day_first() -> None:
    first = reserved(turn(), 100).with_cost(reserved=100, cost=80)
    second = reserved(first, 90, DAYS[1]).with_cost(reserved=90, cost=0)
    assert [block.day for block in second.blocks] == list(DAYS[:2])
    assert returned(second) == {DAYS[1]: 100, DAYS[0]: 20}


def test_a_turn_that_used_all_gives_nothing_back() -> None:
    assert (
        reserved(turn(), 100).with_cost(reserved=100, cost=100).closing_budget_draws(DAYS[0]) == ()
    )
    assert turn().closing_budget_draws(DAYS[0]) == ()


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
        held = header.with_reservation(amount, block)
        assert held.allowance >= 0
        assert held.allowance + held.spent + amount == sum(drawn.values())
        cost = amount if crashed else amount * percent // 100
        header = held.with_cost(reserved=amount, cost=cost)
        assert header.allowance + header.spent == sum(drawn.values())
    back = returned(header)
    # By what was really drawn, whatever the header says of it: only the last two days get theirs.
    newest = [drawn[day] for day in DAYS if drawn[day]][-2:]
    too_old = max(header.allowance - sum(newest), 0)
    assert sum(drawn.values()) - sum(back.values()) == header.spent + too_old
    assert header.spent <= LIMITS.turn_micro_usd
    assert all(0 < back[day] <= drawn[day] for day in back)


def asked_by(
    source: Source = Source.REST, authority: Authority = Authority.USER, **limits: Any
) -> tuple[Turn, Block, Limits]:
    """A turn with its first block, and the limits that it was drawn under."""
    header, under = turn(source=source, authority=authority), LIMITS.replaced(**limits)
    block = header.block_for(50, DAYS[0], under)
    assert block is not None
    return header, block, under


@pytest.mark.parametrize(("own", "limit"), [(None, LIMITS.agent_day_micro_usd), (7, 7), (0, 0)])
def test_a_block_counts_for_the_agents_day_and_the_installations(
    own: int | None, limit: int
) -> None:
    agent, house = turn_block_draws(*asked_by(), own)
    assert agent == BudgetDraw(
        scope="agent:mika", day=DAYS[0], micro_usd=100, limit_micro_usd=limit
    )
    assert (house.scope, house.day, house.micro_usd) == (INSTALLATION, DAYS[0], 100)
    assert house.limit_micro_usd == LIMITS.installation_day_micro_usd


def test_a_sessions_budget_has_no_days_and_is_asked_only_when_it_has_a_limit() -> None:
    *_, last = turn_block_draws(*asked_by(session_micro_usd=300), None)
    assert last == BudgetDraw(scope="session:s1", day=WHOLE, micro_usd=100, limit_micro_usd=300)
    assert len(turn_block_draws(*asked_by(session_micro_usd=None), None)) == 2


@pytest.mark.parametrize(
    ("own", "percent", "share"), [(None, 25, 250_000), (99, 50, 49), (99, 0, 0), (7, 100, 7)]
)
def test_heartbeats_have_a_share_of_their_agents_day(
    own: int | None, percent: int, share: int
) -> None:
    asked = asked_by(Source.HEARTBEAT, Authority.SELF, heartbeat_percent=percent)
    *_, last = turn_block_draws(*asked, own)
    assert last == BudgetDraw(
        scope="heartbeat:mika", day=DAYS[0], micro_usd=100, limit_micro_usd=share
    )


def test_a_member_of_the_public_has_a_day_of_their_own() -> None:
    *_, last = turn_block_draws(
        *asked_by(authority=Authority.PUBLIC, public_user_day_micro_usd=5), None
    )
    assert last == BudgetDraw(scope="public:owner", day=DAYS[0], micro_usd=100, limit_micro_usd=5)


def test_a_turn_of_no_human_draws_from_the_day_of_the_public_person_that_it_goes_back_to() -> None:
    header = turn(source=Source.PEER, authority=Authority.PEER, payer="stranger")
    under = LIMITS.replaced(public_user_day_micro_usd=5)
    block = header.block_for(50, DAYS[0], under)
    assert block is not None
    *_, last = turn_block_draws(header, block, under, None)
    assert last == BudgetDraw(
        scope="public:stranger", day=DAYS[0], micro_usd=100, limit_micro_usd=5
    )
    older = header.model_dump(mode="json")
    del older["payer"]
    assert Turn.model_validate(older).public_payer is None
    assert header.without_content().payer is None


def test_no_block_takes_from_more_than_five_budgets() -> None:
    asked = asked_by(Source.HEARTBEAT, Authority.PUBLIC, session_micro_usd=1)
    scopes = [draw.scope for draw in turn_block_draws(*asked, None)]
    assert scopes == [
        agent_budget_scope("mika"),
        INSTALLATION,
        session_budget_scope("s1"),
        heartbeat_budget_scope("mika"),
        public_budget_scope("owner"),
    ]


def test_a_turn_keeps_the_budgets_that_it_began_with() -> None:
    header, block, under = asked_by(session_micro_usd=300)
    held = header.with_reservation(50, block)
    assert held.scopes == ("session:s1",)
    later = held.block_for(60, DAYS[1], LIMITS)
    assert later is not None
    assert later.scopes == ("session:s1",), "though sessions have no limit any more"
    assert turn_block_draws(held, later, LIMITS, None)[-1].limit_micro_usd is None
    begun = turn().with_reservation(50, turn().block_for(50, DAYS[0], LIMITS))
    assert begun.scopes == ()
    again = begun.block_for(60, DAYS[1], under)
    assert again is not None
    assert again.scopes == (), "though sessions have one now"


LIMITED = st.builds(
    Limits,
    turn_micro_usd=st.integers(0, 3_000),
    session_micro_usd=st.none() | st.integers(0, 3_000),
    heartbeat_percent=st.integers(0, 100),
    block_micro_usd=st.integers(1, 300),
)
TURNS = st.builds(
    turn,
    source=st.sampled_from([Source.REST, Source.HEARTBEAT]),
    authority=st.sampled_from([Authority.USER, Authority.PUBLIC, Authority.SELF]),
    payer=st.sampled_from([None, "guest"]),
)
CALLS = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 150), st.sampled_from(DAYS), LIMITED),
    max_size=12,
)


@given(header=TURNS, made=CALLS)
def test_what_is_drawn_from_every_budget_was_spent_or_is_given_back(
    header: Turn, made: list[tuple[int, int, str, Limits]]
) -> None:
    drawn = Counter[tuple[str, str]]()
    scopes = set[str]()
    for amount, percent, day, limits in sorted(made, key=lambda call: call[2]):
        try:
            block = header.block_for(amount, day, limits)
        except Exhausted:
            continue
        for draw in () if block is None else turn_block_draws(header, block, limits, None):
            drawn[draw.scope, draw.day] += draw.micro_usd
            scopes.add(draw.scope)
        # A provider may count more than was reserved.
        cost = amount * percent // 100
        header = header.with_reservation(amount, block).with_cost(reserved=amount, cost=cost)
    back = header.closing_budget_draws(DAYS[0])
    # By what was really drawn, whatever the header says of it.
    days = [
        drawn[agent_budget_scope("mika"), day]
        for day in DAYS
        if drawn[agent_budget_scope("mika"), day]
    ]
    too_old = max(header.allowance - sum(days[-2:]), 0)
    assert len({(draw.scope, draw.day) for draw in back}) == len(back), "each budget once"
    assert all(draw.limit_micro_usd is None for draw in back), "never refused"
    for draw in back:
        drawn[draw.scope, draw.day] += draw.micro_usd
    assert all(left >= 0 for left in drawn.values()), "no day gets more than it gave"
    for scope in scopes:
        kept = sum(left for (name, _), left in drawn.items() if name == scope)
        assert kept == header.spent + too_old, "all but what was left of days before the last two"
    assert {scope for scope, _ in drawn} == scopes


@pytest.mark.parametrize("reason", ["もういい", "enough"])
def test_a_header_comes_back_from_its_stored_form(reason: str) -> None:
    header = reserved(turn(stop=Stop(by="owner", reason=reason, at=NOW), note=reason), 10)
    assert Turn.model_validate_json(header.model_dump_json()) == header


def test_what_a_vendor_says_beyond_a_free_price_is_taken_from_today() -> None:
    header = turn(allowance=-700, spent=700)
    changes = {
        (draw.scope, draw.day): draw.micro_usd for draw in header.closing_budget_draws("2026-02-19")
    }
    assert changes == {
        (agent_budget_scope("mika"), "2026-02-19"): 700,
        (INSTALLATION, "2026-02-19"): 700,
    }


def test_a_turn_that_drew_before_it_knew_of_other_budgets_draws_from_no_other() -> None:
    drawn = (Block(day=DAYS[0], micro_usd=5),)
    header = turn(authority=Authority.PUBLIC, blocks=drawn, allowance=5)
    block = header.block_for(50, DAYS[0], Limits())
    assert block is not None
    assert block.scopes == ()


def given_back(ended: Turn, change: int, before: int = 0) -> dict[str, int]:
    """What a settlement gives back to the agent's budget, by day."""
    draws = ended.settlement_budget_draws(change, returned_before=before)
    own = {d.day: -d.micro_usd for d in draws if d.scope == agent_budget_scope(ended.agent_id)}
    assert own == {d.day: -d.micro_usd for d in draws if d.scope == INSTALLATION}
    assert all(d.limit_micro_usd is None for d in draws)
    return own


def spent(amount: int, *blocks: int) -> Turn:
    """An ended turn that drew these blocks, one a day, and spent so much of them."""
    days = tuple(Block(day=day, micro_usd=each) for day, each in zip(DAYS, blocks, strict=False))
    return turn(status=TurnStatus.COMPLETED, blocks=days, spent=amount)


@pytest.mark.parametrize(
    ("ended", "change", "before", "expected"),
    [
        (spent(100, 100), -40, 0, {DAYS[0]: 40}),
        (spent(100, 100), 0, 0, {}),
        (spent(100, 100), 7, 0, {DAYS[0]: -7}),
        (spent(100, 50, 50), 7, 0, {DAYS[1]: -7}),
        (spent(70, 50, 20), -60, 0, {DAYS[1]: 20, DAYS[0]: 40}),
        (spent(70, 50, 50), -60, 0, {DAYS[1]: 20, DAYS[0]: 40}),
        (spent(70, 50, 20), -30, 15, {DAYS[1]: 5, DAYS[0]: 25}),
        (spent(90, 50, 20), -60, 0, {DAYS[1]: 40, DAYS[0]: 20}),
        (spent(10), -10, 0, {}),
    ],
)
def test_a_settlement_goes_back_to_the_days_that_paid_newest_first(
    ended: Turn, change: int, before: int, expected: dict[str, int]
) -> None:
    assert given_back(ended, change, before) == expected


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=3),
    st.integers(0, 100),
    st.integers(0, 100),
    st.integers(0, 400),
)
def test_settlements_leave_no_day_below_zero(
    blocks: list[int], first: int, second: int, beyond: int
) -> None:
    total = sum(blocks) + beyond
    ended = spent(total, *blocks)
    paid = dict(zip(DAYS, blocks, strict=False))
    paid[ended.blocks[-1].day] += beyond
    first, second = min(first, total), min(second, total - min(first, total))
    for amount, before in ((first, 0), (second, first)):
        returned = given_back(ended, -amount, before)
        assert sum(returned.values()) == amount
        for day, each in returned.items():
            paid[day] -= each
    assert min(paid.values()) >= 0


def test_a_settlement_goes_back_to_every_budget_of_the_turn() -> None:
    ended = spent(100, 100).replaced(scopes=(session_budget_scope("s1"), public_budget_scope("p")))
    draws = ended.settlement_budget_draws(-40)
    assert {(d.scope, d.day, d.micro_usd) for d in draws} == {
        (agent_budget_scope("mika"), DAYS[0], -40),
        (INSTALLATION, DAYS[0], -40),
        (session_budget_scope("s1"), WHOLE, -40),
        (public_budget_scope("p"), DAYS[0], -40),
    }
