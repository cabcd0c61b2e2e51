"""Facts in the table: what a read costs, what a repeat does, and what meets in between."""

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from opencrab.adapters.dynamodb.document import SCHEMA, document_from_dynamodb_item
from opencrab.adapters.dynamodb.item import to_dynamodb_attribute
from opencrab.adapters.dynamodb.table import dynamodb_attribute_changes, update_item
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict, Stopped, Unavailable
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import Turn, TurnStatus
from tests.aws_faults import Go
from tests.contract.example import (
    ENGLISH,
    admission,
    fact,
    hold,
    later,
    line,
    profile,
    request,
    result,
    session,
    step,
    turn,
    wish,
)
from tests.unit.adapters.dynamodb.wire import CONFLICT, NONE, Dynamo, cancels

TRANSACT = "TransactWriteItems"
DECISION = ApprovalDecision(n=1, call_id="c1", argument_hash="arguments", approved=True, by="o")


def running(dynamo: Dynamo) -> Turn:
    """A turn in the hands of a worker of this process."""
    dynamo.stores.sessions.create(session())
    dynamo.stores.journal.admit(admission())
    claimed = dynamo.stores.journal.claim("t1", lease_until=later(120), receipt="r")
    assert claimed is not None
    dynamo.wire.calls.clear()
    return claimed.turn


def test_an_agent_and_its_mind_are_one_query(dynamo: Dynamo) -> None:
    dynamo.stores.agents.create(profile())
    dynamo.stores.facts.commit(new_fact("hana", MIND, MIND, AgentState(enabled=("vault",))))
    dynamo.wire.calls.clear()
    assert dynamo.stores.agents.get("hana").mind == AgentState(enabled=("vault",))
    assert dynamo.wire.operations == ["Query"]


def test_facts_are_read_strongly_consistent(dynamo: Dynamo) -> None:
    dynamo.stores.facts.get("hana", "note", "a")
    dynamo.stores.facts.page("hana", "note")
    assert [arguments["ConsistentRead"] for _, arguments in dynamo.wire.calls] == [True, True]


@pytest.mark.parametrize("version", [0, 1])
def test_a_fact_with_an_end_expires_there(dynamo: Dynamo, version: int) -> None:
    dynamo.stores.facts.commit(fact(version=version, expires_at=later(1.5)))
    item = dynamo.table.get("FACT#hana", "note#a")
    assert item is not None
    assert item["ttl"] == to_dynamodb_attribute(int(later(1).timestamp()))


def test_what_a_newer_version_wrote_is_neither_read_nor_replaced(dynamo: Dynamo) -> None:
    facts = dynamo.stores.facts
    facts.commit(fact())
    newer = dynamodb_attribute_changes({"schema": SCHEMA.version + 1})
    dynamo.table.write(update_item("FACT#hana", "note#a", newer))
    with pytest.raises(Unavailable, match="newer version"):
        facts.get("hana", "note", "a")
    for write in (fact(version=2), fact(version=0)):
        with pytest.raises(Changed):
            facts.commit(write)
    item = dynamo.table.get("FACT#hana", "note#a")
    assert item is not None
    assert (
        document_from_dynamodb_item(item | {"schema": to_dynamodb_attribute(SCHEMA.version)})
        == fact()
    )


def test_every_write_has_a_token_by_which_its_repeat_is_known(dynamo: Dynamo) -> None:
    sent: list[bytes] = []

    def seen(request: AWSPreparedRequest, go: Go) -> AWSResponse | None:
        sent.append(bytes(request.body or b""))
        return go()

    dynamo.fails(seen)
    dynamo.stores.facts.commit(fact())
    assert dynamo.wire.operations == [TRANSACT]
    assert b"ClientRequestToken" in sent[0]


def test_a_fact_in_another_transaction_is_tried_again(dynamo: Dynamo) -> None:
    dynamo.fails(cancels(CONFLICT))
    dynamo.stores.facts.commit(fact())
    assert dynamo.stores.facts.get("hana", "note", "a") == fact()


def test_a_fact_that_changes_during_a_commit_is_told(dynamo: Dynamo) -> None:
    current = running(dynamo)
    dynamo.wire.before(TRANSACT, lambda: dynamo.others.facts.commit(fact()))
    with pytest.raises(Changed):
        dynamo.stores.journal.commit(step(current, result(), facts=(fact(text=ENGLISH),)))
    assert dynamo.stores.journal.header("t1") == current


def test_a_wrong_guess_of_the_session_is_no_conflict_of_facts(dynamo: Dynamo) -> None:
    current = running(dynamo)
    other = admission(turn("t2"), message_id="m2")
    dynamo.wire.before(TRANSACT, lambda: dynamo.others.journal.admit(other))
    change = step(current, result(), lines=(line(),), facts=(fact("a"), fact("b")))
    dynamo.stores.journal.commit(change)
    assert dynamo.wire.operations == [TRANSACT, TRANSACT]
    assert dynamo.stores.facts.page("hana", "note") == (fact("a"), fact("b"))


def test_a_fact_that_was_in_the_way_of_a_wrong_guess_is_tried_again(dynamo: Dynamo) -> None:
    current = running(dynamo)
    dynamo.others.journal.admit(admission(turn("t2"), message_id="m2"))
    guessed = ("ConditionalCheckFailed", "", dynamo.table.get("SESSION#s1", "S"))
    dynamo.fails(cancels(NONE, CONFLICT, guessed))
    dynamo.stores.journal.commit(step(current, lines=(line(),), facts=(fact(),)))
    assert dynamo.stores.facts.get("hana", "note", "a") == fact()


def test_a_pause_that_ends_while_its_turn_lies_down_is_told(dynamo: Dynamo) -> None:
    running(dynamo)
    paused = dynamo.stores.journal.stop("t1", hold())
    dynamo.wire.before(TRANSACT, lambda: dynamo.others.journal.resume("t1"))
    with pytest.raises(Stopped, match="no longer paused"):
        dynamo.stores.journal.commit(step(paused, status=TurnStatus.WAITING))
    assert dynamo.stores.journal.header("t1").status is TurnStatus.RUNNING


def test_a_stop_during_a_resume_stays(dynamo: Dynamo) -> None:
    running(dynamo)
    dynamo.stores.journal.stop("t1", hold())
    dynamo.wire.before("PutItem", lambda: dynamo.others.journal.stop("t1", wish()))
    assert dynamo.stores.journal.resume("t1").stop == wish()


def test_a_stop_during_a_decision_is_no_conflict_of_facts(dynamo: Dynamo) -> None:
    asked = step(running(dynamo), request(), status=TurnStatus.WAITING)
    dynamo.stores.journal.commit(asked)
    dynamo.stores.facts.commit(fact())

    def meanwhile() -> None:
        dynamo.others.journal.stop("t1", wish())
        dynamo.others.facts.commit(fact(version=2))

    dynamo.wire.before(TRANSACT, meanwhile)
    with pytest.raises(Conflict, match="is not waiting"):
        dynamo.stores.journal.decide("t1", DECISION, fact(text=ENGLISH, version=2))
    assert dynamo.stores.facts.get("hana", "note", "a") == fact(version=2)
