"""Budgets: drawn up to a limit and never beyond, whoever draws at the same time."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opencrab.adapters.dynamodb.money.lease import POOL_DIVISOR
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Exhausted, Invalid
from opencrab.domain.money.budget import LIMITS, WHOLE, BudgetDraw
from opencrab.ports.home import Home
from tests.contract.example import DAY, NOW, later, running, step
from tests.contract.homes import OpenHome, aws, aws_in_memory
from tests.contract.waiting import at_once
from tests.soak import examples


def drawing(
    amount: int, limit: int | None = 100, scope: str = "agent:花", day: str = DAY
) -> BudgetDraw:
    return BudgetDraw(scope=scope, day=day, micro_usd=amount, limit_micro_usd=limit)


def draw(home: Home, *draws: BudgetDraw, turn_id: str = "t1") -> bool:
    """Whether these draws were granted, all of them or none."""
    current = home.journal.load(turn_id).turn
    try:
        home.journal.commit(step(current, draws=draws))
    except Exhausted:
        return False
    return True


def drawn(home: Home, scope: str = "agent:花", day: str = DAY) -> int:
    return home.budgets.drawn_micro_usd(scope, day)


@pytest.fixture
def spending(home: Home) -> Home:
    """A home with a turn that may draw."""
    running(home)
    return home


def test_nothing_is_drawn_at_first(home: Home) -> None:
    assert drawn(home) == 0


def test_a_budget_may_be_drawn_to_the_last_micro_dollar(spending: Home) -> None:
    assert draw(spending, drawing(60))
    assert draw(spending, drawing(40))
    assert drawn(spending) == 100
    assert not draw(spending, drawing(1))
    assert drawn(spending) == 100


def test_what_would_go_beyond_the_limit_is_not_drawn_in_part(spending: Home) -> None:
    draw(spending, drawing(60))
    assert not draw(spending, drawing(41))
    assert drawn(spending) == 60


def test_a_refusal_names_the_budget_and_the_cure(spending: Home) -> None:
    current = spending.journal.load("t1").turn
    with pytest.raises(Exhausted, match="agent:花") as refusal:
        spending.journal.commit(step(current, draws=(drawing(101),)))
    assert refusal.value.field == "agent:花"
    assert refusal.value.cure


def test_a_refusal_says_what_was_drawn_before_even_above_the_limit(spending: Home) -> None:
    assert draw(spending, drawing(60))
    assert draw(spending, drawing(75, limit=None))
    with pytest.raises(Exhausted) as refusal:
        spending.journal.commit(step(spending.journal.load("t1").turn, draws=(drawing(1),)))
    assert refusal.value.drawn_micro_usd == 135


def test_a_session_has_one_budget_for_all_its_days(spending: Home) -> None:
    whole = drawing(70, scope="session:s1", day=WHOLE)
    assert draw(spending, whole)
    assert not draw(spending, whole)
    with pytest.raises(Exhausted, match="session:s1") as refusal:
        spending.journal.commit(step(spending.journal.load("t1").turn, draws=(whole,)))
    assert "next day" not in (refusal.value.cure or "")
    assert WHOLE not in refusal.value.message
    assert drawn(spending, "session:s1", WHOLE) == 70


def test_five_budgets_are_drawn_together(spending: Home) -> None:
    names = ("agent:hana", "installation", "session:s1", "heartbeat:hana", "public:誰か")
    blocks = tuple(drawing(40, scope=name) for name in names)
    assert draw(spending, *blocks)
    assert not draw(spending, *blocks[:4], drawing(61, scope=names[4]))
    assert [drawn(spending, name) for name in names] == [40] * 5


def test_no_limits_are_set_until_somebody_does(home: Home) -> None:
    assert home.budgets.limits() == {}
    home.budgets.change_limits({})
    home.budgets.change_limits(dict.fromkeys(LIMITS))
    assert home.budgets.limits() == {}
    home.budgets.change_limits({"turn_micro_usd": 0})
    home.budgets.change_limits({"session_micro_usd": 5, "block_micro_usd": None})
    assert home.budgets.limits() == {"turn_micro_usd": 0, "session_micro_usd": 5}
    home.budgets.change_limits({"turn_micro_usd": None, "session_micro_usd": 0})
    assert home.budgets.limits() == {"session_micro_usd": 0}
    home.budgets.change_limits(dict.fromkeys(LIMITS))
    home.budgets.change_limits(dict.fromkeys(LIMITS))
    assert home.budgets.limits() == {}


def test_limits_that_are_changed_at_once_are_all_kept(home: Home) -> None:
    home.budgets.change_limits(dict.fromkeys(LIMITS, 50))

    def change(place: int) -> None:
        home.budgets.change_limits({LIMITS[place]: place + 1})

    at_once(len(LIMITS), change)
    assert home.budgets.limits() == {name: place + 1 for place, name in enumerate(LIMITS)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"week_micro_usd": 1}, {"week_micro_usd": None}, {"": 1}, {"turn_micro_usd": -1},
        {"block_micro_usd": 0}, {"heartbeat_percent": 101}, {"agent_day_micro_usd": 10**12 + 1},
    ],
)  # fmt: skip
def test_a_limit_that_cannot_be_changes_nothing(home: Home, wrong: dict[str, int | None]) -> None:
    home.budgets.change_limits({"session_micro_usd": 5})
    with pytest.raises(Invalid) as caught:
        home.budgets.change_limits({"session_micro_usd": 7, **wrong})
    assert caught.value.field in wrong
    assert home.budgets.limits() == {"session_micro_usd": 5}


def test_two_budgets_are_drawn_together_or_not_at_all(spending: Home) -> None:
    whole = drawing(50, limit=60, scope="installation")
    assert draw(spending, drawing(50), whole)
    assert not draw(spending, drawing(50), whole)
    assert (drawn(spending), drawn(spending, "installation")) == (50, 50)


def test_days_and_scopes_have_budgets_of_their_own(spending: Home) -> None:
    assert draw(spending, drawing(100))
    assert draw(spending, drawing(100, day="2026-02-18"))
    assert draw(spending, drawing(100, scope="agent:ken"))
    assert drawn(spending, day="2026-02-18") == 100
    assert drawn(spending, "agent:ken") == 100
    assert drawn(spending, day="2026-02-19") == 0


def test_what_is_given_back_may_be_drawn_again(spending: Home) -> None:
    draw(spending, drawing(100))
    assert draw(spending, drawing(-30))
    assert drawn(spending) == 70
    assert not draw(spending, drawing(31))
    assert draw(spending, drawing(30))


def test_giving_back_is_never_refused(spending: Home) -> None:
    draw(spending, drawing(100))
    assert draw(spending, drawing(-10, limit=20))
    assert drawn(spending) == 90


def test_money_that_was_spent_already_is_drawn_without_a_limit(spending: Home) -> None:
    draw(spending, drawing(100))
    assert draw(spending, drawing(50, limit=None))
    assert drawn(spending) == 150
    assert not draw(spending, drawing(1))


def test_a_limit_of_nothing_allows_nothing(spending: Home) -> None:
    assert not draw(spending, drawing(1, limit=0))
    assert draw(spending, drawing(0, limit=0))


AMOUNTS = st.lists(st.integers(min_value=-60, max_value=120), max_size=12)


def test_whatever_is_drawn_and_given_back_the_limit_holds(opens: OpenHome, tmp_path: Path) -> None:
    leased = POOL_DIVISOR if opens in (aws, aws_in_memory) else 0
    with opens(tmp_path, FakeClock(NOW)) as home:
        running(home)
        days = (f"day {number}" for number in count())

        @settings(max_examples=examples(40))
        @example(amounts=[2, 2, 35, 1, -1], limit=40)
        @given(amounts=AMOUNTS, limit=st.integers(min_value=0, max_value=200))
        def check(amounts: list[int], limit: int) -> None:
            day, left = next(days), 0
            for amount in amounts:
                back_or_draw = max(amount, -left)
                granted = draw(home, drawing(back_or_draw, limit, day=day))
                if granted:
                    assert back_or_draw <= 0 or left + back_or_draw <= limit
                else:
                    # Where processes hold leases, a part of the limit may lie in them.
                    held = limit // leased if leased else 0
                    assert back_or_draw > 0
                    assert left + back_or_draw > limit - held
                left += back_or_draw if granted else 0
                assert drawn(home, day=day) == left <= limit
            # Leases that have ended go; of more than a hundred what is unspent is not told.
            home.budgets.return_unspent(later(3_600))
            assert drawn(home, day=day) == left

        check()


def test_eight_who_draw_at_once_never_overspend(home: Home) -> None:
    for number in range(8):
        running(home, f"t{number}", f"s{number}")

    def spend(number: int) -> int:
        blocks = (
            drawing(7, limit=150),
            drawing(7, limit=120, scope="installation"),
        )
        return sum(7 for _ in range(5) if draw(home, *blocks, turn_id=f"t{number}"))

    spent = sum(at_once(8, spend))
    assert spent == 119
    assert (drawn(home), drawn(home, "installation")) == (119, 119)
