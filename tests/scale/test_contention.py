"""A small share of `make scale`: what collapsed without leases, and no longer does."""

from tests.scale.contention import Load, Simulation


def test_turns_that_draw_in_their_transactions_meet_at_the_budget() -> None:
    found = Simulation(Load(60, 1, agents=20), draws_in_turns=True).run()
    assert found.by_kind["BUDGET installation"] > found.turns
    assert found.drawn == found.spent


def test_with_leases_less_than_one_write_in_a_hundred_is_repeated() -> None:
    found = Simulation(Load(60, 1, agents=20)).run()
    assert found.statuses == {"completed": found.turns}
    assert found.retries < 0.01
    assert (found.redeliveries, found.paid_twice) == (0, 0)
    assert found.drawn == found.spent
