"""Lines: the newest are read cheaply, and never from a replica that is behind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.dynamodb.conversation.line import (
    line_from_dynamodb_item,
    line_to_dynamodb_item,
    number_dynamodb_lines,
)
from opencrab.adapters.dynamodb.home import Stores, stores_on_dynamodb_table
from opencrab.adapters.dynamodb.item import to_item_microseconds
from opencrab.adapters.dynamodb.table import Dispatch
from opencrab.domain.conversation.message import Audience, LineKind
from tests.contract.example import ENGLISH, JAPANESE, NOW, admission, line, session, turn
from tests.unit.adapters.dynamodb.wire import Dynamo


class Replica:
    """DynamoDB whose eventually consistent queries answer as the table was at some moment."""

    def __init__(self, real: Dispatch) -> None:
        self.reads: list[bool] = []
        self.lines: int | None = None
        self._real = real

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._real(operation, arguments)
        if operation != "Query":
            return answer
        self.reads.append(arguments["ConsistentRead"])
        if self.lines is None or arguments["ConsistentRead"]:
            return answer
        whole = self._real(operation, {k: v for k, v in arguments.items() if k != "Limit"})
        kept = [item for item in whole["Items"] if int(item["sk"]["S"][2:]) <= self.lines]
        return {"Items": kept[: arguments.get("Limit")]}


@pytest.fixture
def replica(dynamo: Dynamo) -> Replica:
    return Replica(dynamo.real)


@pytest.fixture
def stores(dynamo: Dynamo, replica: Replica) -> Stores:
    """The stores of a process that reads from the replica, with an empty session."""
    opened = stores_on_dynamodb_table(dynamo.behind(replica))
    opened.sessions.create(session())
    return opened


def say(stores: Stores, *numbers: int) -> None:
    for number in numbers:
        text = JAPANESE if number % 2 else ENGLISH
        asked = admission(turn(f"t{number}"), message_id=f"m{number}", text=text)
        stores.journal.admit(asked)


def newest(stores: Stores, limit: int = 3) -> list[int]:
    return [one.sequence for one in stores.journal.lines("s1", limit=limit, newest_first=True)]


def test_a_fresh_replica_is_asked_once(stores: Stores, replica: Replica) -> None:
    say(stores, 1, 2, 3, 4)
    assert newest(stores) == [4, 3, 2]
    assert replica.reads == [False]


@pytest.mark.parametrize("behind", [0, 2, 3])
def test_a_replica_that_is_behind_is_found_out(
    stores: Stores, replica: Replica, behind: int
) -> None:
    say(stores, 1, 2, 3, 4)
    replica.lines = behind
    assert newest(stores) == [4, 3, 2]
    assert replica.reads == [False, True]


def test_a_process_that_saw_nothing_does_not_trust_a_replica(
    dynamo: Dynamo, stores: Stores, replica: Replica
) -> None:
    say(stores, 1, 2)
    newcomer = stores_on_dynamodb_table(dynamo.behind(replica))
    replica.lines = 1
    assert newest(newcomer) == [2, 1]
    assert replica.reads[-1]


def test_an_empty_session_is_empty_after_one_look(stores: Stores, replica: Replica) -> None:
    stores.sessions.get("s1")
    assert newest(stores) == []
    assert replica.reads == [False]


def test_lines_of_others_that_came_meanwhile_are_welcome(
    dynamo: Dynamo, stores: Stores, replica: Replica
) -> None:
    say(stores, 1)
    say(dynamo.others, 2, 3)
    assert newest(stores) == [3, 2, 1]
    assert replica.reads == [False], "it is at least as new as what this process knows"


def test_all_other_reads_are_strong(stores: Stores, replica: Replica) -> None:
    say(stores, 1, 2, 3)
    replica.lines = 0
    assert len(stores.journal.lines("s1")) == 3
    older = stores.journal.lines("s1", before=3, newest_first=True)
    assert [one.sequence for one in older] == [2, 1]
    assert replica.reads == [True, True]


def test_between_two_neighbours_nothing_is_asked_for(stores: Stores, replica: Replica) -> None:
    assert stores.journal.lines("s1", after=2, before=3) == ()
    assert replica.reads == []


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    sequence=st.integers(1, 9_999_999_998),
    kind=st.sampled_from(LineKind),
    audience=st.sampled_from(Audience),
    data=st.none() | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), st.none()),
)
def test_any_line_comes_back_exactly(sequence: int, **fields: Any) -> None:
    spoken = line(sequence=sequence, group_line=1, turn_id="t1", **fields)
    assert line_from_dynamodb_item(line_to_dynamodb_item(spoken)) == spoken


def test_lines_are_numbered_after_the_last_one_and_know_what_they_answer() -> None:
    first, second = number_dynamodb_lines([line(), line(ENGLISH, group_line=2)], last=41)
    assert (first.sequence, first.group_line) == (42, 42)
    assert (second.sequence, second.group_line) == (43, 2)


def test_lines_never_expire() -> None:
    item = line_to_dynamodb_item(line(sequence=1))
    assert "ttl" not in item
    assert str(to_item_microseconds(NOW)) not in item["body"]["S"]
