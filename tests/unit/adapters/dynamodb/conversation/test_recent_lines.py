"""Recent lines: what was read once is not read again, and nothing is missed for it."""

from typing import Any

import pytest

from opencrab.adapters.dynamodb.conversation.recent_lines import KEPT_BYTES, LineCache
from opencrab.adapters.dynamodb.home import Stores, stores_on_dynamodb_table
from opencrab.adapters.dynamodb.table import Dispatch
from opencrab.domain.conversation.message import Line
from tests.contract.example import ENGLISH, JAPANESE, admission, line, session, turn
from tests.unit.adapters.dynamodb.wire import Dynamo


class Replica:
    """DynamoDB that counts what queries answer; an eventually consistent one lacks some lines."""

    def __init__(self, real: Dispatch) -> None:
        self.read: list[int] = []
        self.hides: set[int] = set()
        self._real = real

    def __call__(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._real(operation, arguments)
        if operation == "Query":
            hidden = set() if arguments["ConsistentRead"] else self.hides
            items = [each for each in answer["Items"] if int(each["sk"]["S"][2:]) not in hidden]
            answer = {"Items": items}
            self.read.append(len(items))
        return answer


@pytest.fixture
def replica(dynamo: Dynamo) -> Replica:
    return Replica(dynamo.real)


@pytest.fixture
def stores(dynamo: Dynamo, replica: Replica) -> Stores:
    """The stores of a process that has read the first four lines of a session."""
    opened = stores_on_dynamodb_table(dynamo.behind(replica))
    opened.sessions.create(session())
    say(opened, 1, 2, 3, 4)
    assert newest(opened, 3) == [4, 3, 2]
    replica.read.clear()
    return opened


def say(stores: Stores, *numbers: int) -> None:
    for number in numbers:
        text = JAPANESE if number % 2 else ENGLISH
        asked = admission(turn(f"t{number}"), message_id=f"m{number}", text=text)
        stores.journal.admit(asked)


def newest(stores: Stores, limit: int) -> list[int]:
    return [one.sequence for one in stores.journal.lines("s1", limit=limit, newest_first=True)]


def test_only_new_lines_are_read(stores: Stores, replica: Replica) -> None:
    say(stores, 5)
    assert newest(stores, 3) == [5, 4, 3]
    assert newest(stores, 2) == [5, 4]
    assert replica.read == [1, 0]


def test_who_wants_more_than_is_known_reads_all_of_it(stores: Stores, replica: Replica) -> None:
    assert newest(stores, 4) == [4, 3, 2, 1]
    assert replica.read == [4]


def test_more_new_lines_than_are_wanted_leave_none_of_the_old(stores: Stores) -> None:
    say(stores, 5, 6, 7, 8)
    assert newest(stores, 3) == [8, 7, 6]
    say(stores, 9)
    assert newest(stores, 3) == [9, 8, 7]


@pytest.mark.parametrize("hides", [{5}, {6}, {5, 6}, {6, 7}, {7}, {5, 6, 7}])
def test_what_a_replica_lacks_is_not_forgotten_for_ever(
    stores: Stores, replica: Replica, hides: set[int]
) -> None:
    say(stores, 5, 6, 7)
    replica.hides = hides
    assert newest(stores, 10) == [7, 6, 5, 4, 3, 2, 1]
    assert newest(stores, 10) == [7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize("hides", [{6}, {7}, {6, 7}])
def test_a_gap_behind_known_lines_is_found_out(
    stores: Stores, replica: Replica, hides: set[int]
) -> None:
    say(stores, 5, 6, 7, 8)
    replica.hides = hides
    assert newest(stores, 3) == [8, 7, 6]


def test_a_line_that_another_process_wrote_is_read(
    dynamo: Dynamo, stores: Stores, replica: Replica
) -> None:
    say(stores_on_dynamodb_table(dynamo.behind(dynamo.real)), 5, 6)
    stores.sessions.get("s1")
    assert newest(stores, 3) == [6, 5, 4]
    assert replica.read == [2]


def test_what_was_used_longest_ago_goes_when_it_becomes_too_much() -> None:
    recent = LineCache(most_bytes=3 * 2_048 + 4 * 3 * len(JAPANESE))
    for name in ("a", "b", "c"):
        recent.keep(name, (said(name),))
    recent.keep("a", (said("a"),))
    recent.keep("d", (said("d"),))
    assert [name for name in "abcd" if recent.newest(name, 1)] == ["a", "c", "d"]


def test_a_session_that_is_too_much_alone_is_not_kept() -> None:
    recent = LineCache()
    recent.keep("s1", (line("x" * KEPT_BYTES, sequence=1),))
    assert recent.newest("s1", 1) == ()


def said(session_id: str) -> Line:
    return line(JAPANESE, session_id, sequence=1)


def test_what_another_process_redacted_is_not_remembered(
    dynamo: Dynamo, stores: Stores, replica: Replica
) -> None:
    stores_on_dynamodb_table(dynamo.behind(dynamo.real)).eraser.redact("s1", (3,))
    stores.sessions.get("s1")
    shown = stores.journal.lines("s1", limit=3, newest_first=True)
    assert [one.is_erased for one in shown] == [False, True, False]
    replica.read.clear()
    assert newest(stores, 3) == [4, 3, 2]
    assert replica.read == [0]


def test_where_lines_were_redacted_no_replica_is_asked_that_may_not_know(
    dynamo: Dynamo, replica: Replica
) -> None:
    writer = stores_on_dynamodb_table(dynamo.behind(dynamo.real))
    writer.sessions.create(session())
    say(writer, 1, 2)
    writer.eraser.redact("s1", (1,))
    reader = stores_on_dynamodb_table(dynamo.behind(replica))
    reader.sessions.get("s1")
    replica.hides = {1}
    assert newest(reader, 5) == [2, 1]
    assert replica.read == [2]
