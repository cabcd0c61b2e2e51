"""Streams: what the records of the table tell, and what they keep to themselves."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.dynamodb.conversation import line as line_items
from opencrab.adapters.dynamodb.conversation import session as session_items
from opencrab.adapters.dynamodb.item import Item
from opencrab.adapters.dynamodb.stream import dynamodb_stream_entries
from opencrab.adapters.dynamodb.turn import header as turn_items
from opencrab.domain.conversation.message import Line
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import TurnStatus
from opencrab.ports.conversation.feed import DocumentChange
from tests.contract.example import ENGLISH, JAPANESE, line, session, turn


def record(new: Item | None, old: Item | None = None, number: int = 1) -> dict[str, Any]:
    """One record as Lambda hands it over."""
    images = {"NewImage": new, "OldImage": old}
    shown = {name: image for name, image in images.items() if image is not None}
    key = new or old or {}
    name = "REMOVE" if new is None else "INSERT" if old is None else "MODIFY"
    change = {"Keys": {"pk": key["pk"], "sk": key["sk"]}, "SequenceNumber": str(number), **shown}
    return {"eventName": name, "eventSource": "aws:dynamodb", "dynamodb": change}


def header(status: TurnStatus = TurnStatus.QUEUED, **changes: Any) -> Item:
    return turn_items.turn_to_dynamodb_item(turn(status=status, **changes))


def test_a_foreign_table_tells_nothing_and_breaks_nothing(wire: Path) -> None:
    event = json.loads((wire / "aws-events" / "powertools-dynamoStreamEvent.json").read_text())
    assert len(event["Records"]) == 2
    assert list(dynamodb_stream_entries(event["Records"])) == []


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_new_line_is_told_whole(text: str) -> None:
    spoken = line(text, sequence=3, group_line=1, turn_id="t1")
    (entry,) = dynamodb_stream_entries(
        [record(line_items.line_to_dynamodb_item(spoken), number=111_000_000_000_000)]
    )
    assert (entry.kind, entry.session_id, entry.turn_id) == ("line", "s1", "t1")
    assert Line.model_validate_json(entry.body) == spoken
    assert entry.position == 111_000_000_000_000


def test_each_new_status_of_a_turn_is_told() -> None:
    queued, running = header(), header(TurnStatus.RUNNING, epoch=1)
    done = header(TurnStatus.COMPLETED, epoch=1, sequence=4)
    records = [record(queued), record(running, queued, 2), record(done, running, 3)]
    told = [
        (one.kind, one.turn_id, one.body, one.position) for one in dynamodb_stream_entries(records)
    ]
    assert told == [
        ("turn", "t1", "queued", 1),
        ("turn", "t1", "running", 2),
        ("turn", "t1", "completed", 3),
    ]


def test_a_repeat_that_changes_no_status_tells_nothing() -> None:
    running = header(TurnStatus.RUNNING, epoch=1)
    again = header(TurnStatus.RUNNING, epoch=2, sequence=3)
    said = line_items.line_to_dynamodb_item(line(sequence=1))
    assert list(dynamodb_stream_entries([record(running, running), record(again, running)])) == []
    assert list(dynamodb_stream_entries([record(said, said)])) == []


@pytest.mark.parametrize("fact_id", ["M-1", "S000000012", "a.b_c"])
def test_facts_are_told_by_their_names_whatever_code_wrote_them(fact_id: str) -> None:
    stored = {
        "pk": {"S": "FACT#hana"},
        "sk": {"S": f"memory#{fact_id}"},
        "schema": {"N": "999"},
        "body": {"S": "{}"},
    }
    records = [record(stored), record(stored, stored, 2), record(None, stored, 3)]
    told = [
        (each.kind, each.session_id, each.position) for each in dynamodb_stream_entries(records)
    ]
    assert told == [("fact", "", 1), ("fact", "", 2), ("fact", "", 3)]
    bodies = [
        DocumentChange.model_validate_json(each.body) for each in dynamodb_stream_entries(records)
    ]
    assert [(each.owner, each.kind, each.id) for each in bodies] == [
        ("hana", "memory", fact_id)
    ] * 3
    assert [each.removed for each in bodies] == [False, False, True]


def test_facts_of_other_kinds_tell_nothing() -> None:
    goal = {"pk": {"S": "FACT#hana"}, "sk": {"S": "goal#G1"}}
    assert (
        list(dynamodb_stream_entries([record(goal), record(goal, goal), record(None, goal)])) == []
    )


def test_what_expires_or_is_of_another_kind_tells_nothing() -> None:
    counted = session_items.session_to_dynamodb_item(session_items.CountedSession(session(), 0, 1))
    instruction = {"pk": {"S": "TURN#t1"}, "sk": {"S": "0000000001#i"}, "body": {"S": "{}"}}
    gone = record(None, header(TurnStatus.COMPLETED))
    assert list(dynamodb_stream_entries([gone, record(counted), record(instruction)])) == []


def test_records_without_images_tell_nothing() -> None:
    keys = {"pk": {"S": "TURN#t1"}, "sk": {"S": "H"}}
    bare = {"eventName": "INSERT", "dynamodb": {"Keys": keys, "SequenceNumber": "1"}}
    assert list(dynamodb_stream_entries([bare, {"eventName": "INSERT"}, {}])) == []


def test_what_a_newer_version_wrote_waits_for_it() -> None:
    newer = str(turn_items.SCHEMA.version + 1)
    with pytest.raises(Unavailable, match="newer version"):
        list(dynamodb_stream_entries([record(header() | {"schema": {"N": newer}})]))
