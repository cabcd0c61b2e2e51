"""A small share of `make scale`: nothing waits long after an outage, or in a busy minute."""

from tests.scale.recovery import Recovery

LEASE_SECONDS = 75


def test_the_turns_of_dead_workers_are_freed_when_their_leases_end() -> None:
    found = Recovery().dead_workers(300)
    assert len(found.seconds) == 300
    assert LEASE_SECONDS <= min(found.seconds) <= found.longest <= 90


def test_without_functions_that_help_the_sweep_frees_them_itself() -> None:
    found = Recovery(functions=0).dead_workers(300)
    assert len(found.seconds) == 300
    assert 90 < found.longest < 180


def test_what_is_due_in_one_minute_begins_at_its_second() -> None:
    found = Recovery().due_at_once(400)
    assert len(found.seconds) == 400
    assert min(found.seconds) >= 0
    assert found.longest <= 3
