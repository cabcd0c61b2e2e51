"""Journal: one worker at a time holds a turn, for as long as its lease."""

import pytest

from opencrab.domain.errors import NotFound, Superseded
from opencrab.domain.turn.turn import TurnStatus
from opencrab.ports.home import Home
from tests.contract.example import (
    admitted,
    ending,
    later,
    request,
    result,
    running,
    step,
)
from tests.contract.following import told
from tests.contract.waiting import at_once, eventually


def overdue(home: Home, seconds: float, limit: int = 10) -> list[str]:
    return [turn.id for turn in home.journal.list_overdue(later(seconds), limit)]


def test_a_claim_opens_a_new_epoch_and_counts_the_delivery(home: Home) -> None:
    admitted(home)
    for count in (1, 2, 3):
        claimed = home.journal.claim("t1", lease_until=later(120), receipt=f"receipt{count}")
        assert claimed is not None
        turn = claimed.turn
        assert (turn.epoch, turn.deliveries) == (count, count)
        assert (turn.status, turn.receipt) == (TurnStatus.RUNNING, f"receipt{count}")
        assert turn.lease_until == later(120)
        assert home.journal.load("t1").turn == turn


def test_a_claim_keeps_the_crashes_that_a_change_has_counted(home: Home) -> None:
    current = running(home)
    counted = current.replaced(crashes=2, deliveries=0)
    assert home.journal.commit(step(counted, result(1, "c1"))).crashes == 2
    claimed = home.journal.claim("t1", lease_until=later(120), receipt="newer")
    assert claimed is not None
    assert (claimed.turn.crashes, claimed.turn.deliveries) == (2, 1)
    assert home.journal.load("t1").turn == claimed.turn
    assert home.journal.commit(step(claimed.turn.replaced(crashes=0), result(2, "c2"))).crashes == 0
    assert home.journal.header("t1").crashes == 0


def test_a_claim_brings_all_records_in_order(home: Home) -> None:
    turn = running(home)
    for n in range(1, 13):
        turn = home.journal.commit(step(turn, result(n, f"c{n}", text=f"{n}番目"))).replaced()
    claimed = home.journal.claim("t1", lease_until=later(120), receipt=None)
    assert claimed is not None
    assert [record.n for record in claimed.records] == list(range(1, 13))
    assert claimed.records == home.journal.load("t1").records


@pytest.mark.parametrize("status", [status for status in TurnStatus if status.is_end])
def test_an_ended_turn_is_not_claimed(home: Home, status: TurnStatus) -> None:
    home.journal.commit(ending(running(home), status))
    assert home.journal.claim("t1", lease_until=later(120), receipt=None) is None
    assert home.journal.load("t1").turn.epoch == 1


def test_a_waiting_turn_is_not_claimed(home: Home) -> None:
    home.journal.commit(step(running(home), request(), status=TurnStatus.WAITING))
    assert home.journal.claim("t1", lease_until=later(120), receipt=None) is None


def test_an_unknown_turn_is_neither_claimed_nor_loaded(home: Home) -> None:
    with pytest.raises(NotFound, match="nobody"):
        home.journal.claim("nobody", lease_until=later(1), receipt=None)
    with pytest.raises(NotFound, match="nobody"):
        home.journal.load("nobody")


def test_eight_claims_at_once_get_eight_epochs_and_the_last_one_holds(home: Home) -> None:
    admitted(home)
    claims = at_once(8, lambda _: home.journal.claim("t1", lease_until=later(9), receipt=None))
    turns = [claim.turn for claim in claims if claim is not None]
    assert sorted(turn.epoch for turn in turns) == list(range(1, 9))
    for turn in sorted(turns, key=lambda turn: turn.epoch)[:-1]:
        with pytest.raises(Superseded):
            home.journal.commit(step(turn, result()))
    newest = max(turns, key=lambda turn: turn.epoch)
    assert home.journal.commit(step(newest, result())).sequence == 2


def test_a_turn_is_overdue_once_its_lease_has_ended(home: Home) -> None:
    running(home)
    eventually(lambda: overdue(home, 121), ["t1"])
    assert overdue(home, 119) == []


def test_a_queued_turn_that_nobody_took_is_overdue_too(home: Home) -> None:
    admitted(home)
    eventually(lambda: overdue(home, 61), ["t1"])
    assert overdue(home, 59) == []


def test_a_queued_turn_may_be_given_more_time_than_a_running_one(home: Home) -> None:
    admitted(home, "t1", "s1")
    running(home, "t2", "s2")

    def found(seconds: float) -> list[str]:
        before = later(seconds - 60)
        overdue = home.journal.list_overdue(later(seconds), 10, queued_before=before)
        return sorted(turn.id for turn in overdue)

    eventually(lambda: found(121), ["t1", "t2"])
    assert found(119) == []
    assert found(120) == ["t1", "t2"]


def test_overdue_turns_come_oldest_first_and_no_more_than_asked_for(home: Home) -> None:
    for number, seconds in enumerate((50, 10, 40, 20, 30)):
        admitted(home, f"t{number}", f"s{number}", lease_until=later(seconds))
    eventually(lambda: overdue(home, 60), ["t1", "t3", "t4", "t2", "t0"])
    assert overdue(home, 60, limit=2) == ["t1", "t3"]


@pytest.mark.parametrize("status", [TurnStatus.WAITING, TurnStatus.COMPLETED, TurnStatus.STOPPED])
def test_turns_that_wait_or_have_ended_are_never_overdue(home: Home, status: TurnStatus) -> None:
    turn = running(home)
    change = ending(turn, status) if status.is_end else step(turn, request(), status=status)
    home.journal.commit(change)
    eventually(lambda: overdue(home, 10_000), [])


def test_a_lease_can_be_extended(home: Home) -> None:
    turn = running(home)
    assert home.journal.extend(turn, later(500))
    assert home.journal.load("t1").turn == turn.replaced(lease_until=later(500))
    eventually(lambda: overdue(home, 499), [])
    eventually(lambda: overdue(home, 501), ["t1"])


def test_a_queued_turn_that_is_sent_again_gets_more_time(home: Home) -> None:
    turn = admitted(home)
    assert home.journal.extend(turn, later(500))
    eventually(lambda: overdue(home, 499), [])


def test_a_turn_that_moved_on_is_not_extended(home: Home) -> None:
    turn = running(home)
    newer = home.journal.claim("t1", lease_until=later(300), receipt=None)
    assert newer is not None
    assert not home.journal.extend(turn, later(500))
    assert home.journal.load("t1").turn == newer.turn


def test_an_ended_turn_is_not_extended(home: Home) -> None:
    turn = running(home)
    home.journal.commit(ending(turn))
    assert not home.journal.extend(turn, later(500))
    eventually(lambda: overdue(home, 10_000), [])


def test_an_extension_leaves_epoch_and_sequence_alone(home: Home) -> None:
    turn = running(home)
    home.journal.extend(turn, later(500))
    assert home.journal.commit(step(turn, result())).sequence == 2


def test_extending_tells_the_feed_nothing(home: Home) -> None:
    turn = running(home)
    fed = told(home)
    home.journal.extend(turn, later(500))
    assert told(home) == fed
