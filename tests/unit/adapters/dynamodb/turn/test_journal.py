"""The journal: others act between what it knows and what it writes, and nothing is lost or twice.

Each interleaving is set: the wire lets another process act right before a transaction.
"""

import random
from typing import Any

import pytest
from pynamodb.exceptions import CancellationReason, VerboseClientError

from opencrab.adapters.dynamodb.conversation.session import ATTEMPTS
from opencrab.adapters.dynamodb.home import Stores, stores_on_dynamodb_table
from opencrab.adapters.dynamodb.table import Dispatch
from opencrab.domain.conversation.message import Instruction, LineKind
from opencrab.domain.conversation.session import SessionChange, SessionStatus
from opencrab.domain.errors import Conflict, NotFound, Stopped, Superseded, Unavailable
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import Turn, TurnStatus
from tests.contract.example import (
    ENGLISH,
    JAPANESE,
    NOW,
    admission,
    ending,
    intent,
    later,
    line,
    request,
    result,
    session,
    step,
    turn,
    wish,
)
from tests.unit.adapters.dynamodb.wire import Dynamo

TRANSACT = "TransactWriteItems"


@pytest.fixture
def home(dynamo: Dynamo) -> Dynamo:
    """A table with one session that this process has seen."""
    dynamo.stores.sessions.create(session())
    dynamo.stores.sessions.get("s1")
    dynamo.wire.calls.clear()
    return dynamo


def say(stores: Stores, number: int, text: str = JAPANESE) -> Turn:
    """Message and turn of this number."""
    asked = admission(turn(f"t{number}"), message_id=f"m{number}", text=text)
    return stores.journal.admit(asked)[0]


def claimed(stores: Stores, number: int = 1) -> Turn:
    """The turn of this number, in a worker's hands; each has a receipt of its own."""
    receipt = f"r{number} of {id(stores)}"
    found = stores.journal.claim(f"t{number}", lease_until=later(120), receipt=receipt)
    assert found is not None
    return found.turn


def said(stores: Stores) -> list[tuple[int, str | None]]:
    """Each line's place, and the message that it is."""
    return [(one.sequence, one.message_id) for one in stores.journal.lines("s1")]


def answer(text: str = ENGLISH) -> Any:
    """What the agent says at the end of a turn."""
    spoken = line(text, kind=LineKind.SPEECH, speaker_id="hana", turn_id="t1", group_line=1)
    return spoken.replaced(message_id=None, from_agent=True)


def test_two_admissions_at_once_take_two_places(home: Dynamo) -> None:
    home.wire.before(TRANSACT, lambda: say(home.others, 2))
    assert say(home.stores, 1).trigger_line == 2
    assert home.wire.operations == [TRANSACT, TRANSACT], "the refusal tells all that is needed"
    assert said(home.stores) == [(1, "m2"), (2, "m1")]


def test_an_admission_outlasts_nine_others(home: Dynamo) -> None:
    others = [lambda number=number: say(home.others, number) for number in range(2, ATTEMPTS + 1)]
    home.wire.before(TRANSACT, *others)
    assert say(home.stores, 1).trigger_line == ATTEMPTS
    assert [place for place, _ in said(home.stores)] == list(range(1, ATTEMPTS + 1))


def test_an_admission_that_is_always_too_late_gives_up_and_leaves_nothing(home: Dynamo) -> None:
    others = [lambda number=number: say(home.others, number) for number in range(2, ATTEMPTS + 2)]
    home.wire.before(TRANSACT, *others)
    with pytest.raises(Unavailable, match="retries exhausted"):
        say(home.stores, 1)
    assert "m1" not in dict(said(home.stores)).values()
    with pytest.raises(NotFound):
        home.stores.journal.header("t1")
    assert say(home.stores, 1).trigger_line == ATTEMPTS + 1


def test_one_message_admitted_by_two_at_once_is_admitted_once(home: Dynamo) -> None:
    home.wire.before(TRANSACT, lambda: say(home.others, 1))
    assert say(home.stores, 1) == home.others.journal.header("t1")
    assert said(home.stores) == [(1, "m1")]


def test_one_id_for_two_messages_at_once_is_a_conflict(home: Dynamo) -> None:
    home.wire.before(TRANSACT, lambda: say(home.others, 1, ENGLISH))
    with pytest.raises(Conflict, match="another message"):
        say(home.stores, 1, JAPANESE)
    assert [one.text for one in home.stores.journal.lines("s1")] == [ENGLISH]


def test_a_session_that_ends_during_an_admission_admits_nothing(home: Dynamo) -> None:
    home.wire.before(TRANSACT, lambda: home.others.sessions.end("s1", later(1)))
    with pytest.raises(Conflict, match="has ended"):
        say(home.stores, 1)
    assert said(home.stores) == []


def test_a_wrong_guess_costs_one_more_try_and_no_read(home: Dynamo) -> None:
    say(home.stores, 1)
    for number in (2, 3, 4):
        say(home.others, number)
    home.wire.calls.clear()
    assert say(home.stores, 5).trigger_line == 5
    assert home.wire.operations == [TRANSACT, TRANSACT]


def test_a_stop_between_claim_and_intent_refuses_the_intent(home: Dynamo) -> None:
    say(home.stores, 1)
    current = claimed(home.stores)
    home.wire.before(TRANSACT, lambda: home.others.journal.stop("t1", wish()))
    with pytest.raises(Stopped):
        home.stores.journal.commit(step(current, intent(), unless_stopped=True))
    assert home.stores.journal.load("t1").records == ()
    assert home.stores.journal.header("t1").stop == wish()


def test_a_stop_during_a_result_leaves_the_result_and_is_kept(home: Dynamo) -> None:
    say(home.stores, 1)
    current = home.stores.journal.commit(step(claimed(home.stores), intent(), unless_stopped=True))
    home.wire.before(TRANSACT, lambda: home.others.journal.stop("t1", wish()))
    after = home.stores.journal.commit(step(current, result()))
    assert after.stop == wish()
    assert home.stores.journal.load("t1").records == (intent(), result())
    assert home.stores.journal.header("t1") == after


def test_a_stop_during_another_stop_is_the_second(home: Dynamo) -> None:
    say(home.stores, 1)
    home.wire.before("PutItem", lambda: home.others.journal.stop("t1", wish("taro")))
    assert home.stores.journal.stop("t1", wish("hana")).stop == wish("taro")


def test_a_turn_that_another_worker_took_is_not_changed_any_more(home: Dynamo) -> None:
    say(home.stores, 1)
    current = claimed(home.stores)
    home.wire.before(TRANSACT, lambda: claimed(home.others))
    with pytest.raises(Superseded):
        home.stores.journal.commit(step(current, intent()))
    assert home.stores.journal.header("t1").epoch == 2


def test_a_session_that_ends_while_a_turn_closes_stays_ended(home: Dynamo) -> None:
    say(home.stores, 1)
    current = claimed(home.stores)
    home.wire.before(TRANSACT, lambda: home.others.sessions.end("s1", later(1)))
    change = SessionChange(agent_id="hana", spoke_at=NOW)
    home.stores.journal.commit(ending(current, lines=(answer(),), session=change))
    kept = home.others.sessions.get("s1")
    assert kept.status is SessionStatus.ENDED
    assert kept.turn_number == 1
    assert kept.participants[0].last_speech_at == NOW
    assert [place for place, _ in said(home.stores)] == [1, 2]


def test_two_turns_that_close_at_once_are_both_counted(home: Dynamo) -> None:
    say(home.stores, 1)
    say(home.stores, 2)
    mine, theirs = claimed(home.stores, 1), claimed(home.others, 2)
    change = SessionChange(agent_id="hana")
    home.wire.before(
        TRANSACT,
        lambda: home.others.journal.commit(ending(theirs, lines=(answer("一"),), session=change)),
    )
    home.stores.journal.commit(ending(mine, lines=(answer("two"),), session=change))
    assert home.stores.sessions.get("s1").turn_number == 2
    lines = home.stores.journal.lines("s1", after=2)
    assert [(one.sequence, one.text) for one in lines] == [(3, "一"), (4, "two")]


def test_a_result_that_loses_to_many_others_waits_longer_each_time_and_is_kept(
    home: Dynamo,
) -> None:
    say(home.stores, 1)
    current = claimed(home.stores)
    others = [lambda n=number: say(home.others, n) for number in range(2, ATTEMPTS + 6)]
    home.wire.before(TRANSACT, *others)
    change = SessionChange(agent_id="hana")
    home.stores.journal.commit(ending(current, lines=(answer(),), session=change))
    assert [one.text for one in home.stores.journal.lines("s1")][-1] == ENGLISH
    assert len(home.pauses) == 5, "the first ten tries are made at once"
    assert home.pauses == sorted(home.pauses)


def test_an_instruction_beside_a_message_finds_its_own_place(home: Dynamo) -> None:
    home.wire.before(TRANSACT, lambda: say(home.others, 2))
    wanted = Instruction(id="i1", session_id="s1", text=JAPANESE, by="owner", at=NOW)
    spoken = line(kind=LineKind.SYSTEM, message_id="i1")
    assert home.stores.journal.instruct(wanted, spoken).line == 2
    assert home.stores.journal.instruct(wanted, spoken).line == 2
    assert said(home.stores) == [(1, "m2"), (2, "i1")]


def test_a_stop_during_a_decision_wins(home: Dynamo) -> None:
    say(home.stores, 1)
    waiting = step(claimed(home.stores), request(), status=TurnStatus.WAITING)
    home.stores.journal.commit(waiting)
    decision = ApprovalDecision(
        n=1, call_id="c1", argument_hash="arguments", approved=True, by="owner"
    )
    home.wire.before(TRANSACT, lambda: home.others.journal.stop("t1", wish()))
    with pytest.raises(Conflict, match="is not waiting"):
        home.stores.journal.decide("t1", decision)
    stored = home.stores.journal.load("t1")
    assert (stored.turn.status, stored.turn.stop) == (TurnStatus.QUEUED, wish())
    assert stored.records == (request(),)


def test_the_sweep_does_not_extend_what_was_claimed_meanwhile(home: Dynamo) -> None:
    lapsed = say(home.stores, 1)
    home.wire.before("PutItem", lambda: claimed(home.others))
    assert not home.stores.journal.extend(lapsed, later(600))
    assert home.stores.journal.header("t1").lease_until == later(120)


def test_every_header_that_this_process_changed_is_told(home: Dynamo) -> None:
    told: list[tuple[TurnStatus, int]] = []
    stores = stores_on_dynamodb_table(
        home.table, on_turn=lambda turn: told.append((turn.status, turn.sequence))
    )
    say(stores, 1)
    current = stores.journal.commit(step(claimed(stores), intent()))
    stores.journal.commit(ending(current))
    assert stores.journal.claim("t1", lease_until=later(9), receipt=None) is None
    assert told == [
        (TurnStatus.RUNNING, 1),
        (TurnStatus.RUNNING, 2),
        (TurnStatus.COMPLETED, 3),
    ]


class Crowded:
    """DynamoDB where seven of ten transactions and conditional writes meet another one."""

    def __init__(self, real: Dispatch, seed: int) -> None:
        self.refused = 0
        self._real = real
        self._random = random.Random(seed)  # noqa: S311  # a reproducible crowd

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        reads = operation in {"GetItem", "Query", "BatchGetItem"}
        if reads or self._random.random() >= 0.7:
            return self._real(operation, arguments)
        self.refused += 1
        if operation != TRANSACT:
            raise VerboseClientError({"Error": {"Code": "TransactionConflictException"}}, operation)
        reasons = [None, CancellationReason("TransactionConflict")]
        error = {"Error": {"Code": "TransactionCanceledException"}}
        raise VerboseClientError(error, operation, cancellation_reasons=reasons)


def insisting(act: Any) -> Any:
    """What a worker whose message comes again gets in the end."""
    for _ in range(50):
        try:
            return act()
        except Unavailable:
            continue
    raise AssertionError("never available")


@pytest.mark.parametrize("seed", range(6))
def test_in_a_crowd_nothing_is_lost_and_nothing_is_twice(home: Dynamo, seed: int) -> None:
    crowds = [Crowded(home.real, seed * 10 + number) for number in range(2)]
    workers = [stores_on_dynamodb_table(home.behind(crowd)) for crowd in crowds]
    for number in range(1, 9):
        insisting(lambda n=number: say(workers[n % 2], n, JAPANESE if n % 3 else ENGLISH))
    for number in range(1, 9):
        stores = workers[(number + 1) % 2]
        current = insisting(lambda s=stores, n=number: claimed(s, n))
        current = insisting(lambda s=stores, c=current: s.journal.commit(step(c, intent())))
        change = ending(current, lines=(answer(),), session=SessionChange(agent_id="hana"))
        insisting(lambda s=stores, c=change: s.journal.commit(c))
    lines = home.others.journal.lines("s1")
    assert [one.sequence for one in lines] == list(range(1, 17))
    assert [one.message_id for one in lines[:8]] == [f"m{number}" for number in range(1, 9)]
    assert home.others.sessions.get("s1").turn_number == 8
    for number in range(1, 9):
        stored = home.others.journal.load(f"t{number}")
        assert (stored.turn.status, stored.turn.epoch) == (TurnStatus.COMPLETED, 1)
        assert stored.records == (intent(),)
    assert sum(crowd.refused for crowd in crowds) > 16
