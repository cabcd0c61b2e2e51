"""What the home on AWS does with messages, items and objects that are not as they should be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.dynamodb.item import Fields, Migration, Schema
from opencrab.adapters.dynamodb.table import (
    Table,
    dynamodb_attribute_changes,
    item_key,
    put_item,
    update_item,
)
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.adapters.dynamodb.turn import record as records
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.errors import TooLarge, Unavailable
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import aws
from tests.crash.outside import Reply
from tests.e2e.house import House

TALKATIVE = (Reply(calls=(("ws_list", {}),), ponders=310_000), Reply(text="done"))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(aws, tmp_path, Rules())
    yield house
    house.close()


def table_of(house: House) -> Table:
    journal: Any = house.home.journal
    table: Table = journal._table
    return table


def received(house: House) -> Delivery:
    house.clock.advance(3)
    delivery = house.home.turns.receive(visibility_seconds=1_800, wait_seconds=0)
    assert delivery is not None
    return delivery


def one_step(house: House) -> None:
    """Run the next turn until its first answer is saved, as a function out of time does."""
    left = iter((1e9, 1e9))
    delivery = received(house)
    assert (
        run_turn(house.runtime, delivery, Pace(lambda: next(left, 0.0))) is MessageOutcome.CONTINUE
    )


def pointers(house: House, turn: Turn) -> list[str]:
    """The hashes of what lies outside the table."""
    stored = house.home.journal.load(turn.id).records
    return [record.sha256 for record in stored if record.kind == "pointer"]


def bucket_of(house: House) -> tuple[Any, str]:
    blobs: Any = house.home.blobs
    return blobs._bucket._client, blobs._bucket.name


@pytest.mark.parametrize("body", ['{"v":2,"turn":"t1"}', '{"turn":', "こんにちは", "[]", '{"v":1}'])
def test_a_message_of_unknown_form_is_buried_once_and_others_go_on(house: House, body: str) -> None:
    house.session(house.agent("crab", (Reply(text="はい"),)))
    house.home.turns.send(body, group="s", deduplication="odd")
    turns = house.say("hello")
    house.work()
    assert house.statuses(turns) == [TurnStatus.COMPLETED]
    assert [letter for letter, _ in house.home.turns.list_dead_letters(10)] == [body]
    house.later(3_600)
    assert len(house.home.turns.list_dead_letters(10)) == 1


@pytest.mark.parametrize("loss", ["missing", "foreign"])
def test_a_turn_whose_large_record_cannot_be_read_fails_alone(house: House, loss: str) -> None:
    house.session(house.agent("crab", TALKATIVE))
    (turn,) = house.say("hello")
    one_step(house)
    (digest,) = pointers(house, turn)
    client, bucket = bucket_of(house)
    name = f"blobs/{digest[:2]}/{digest[2:]}"
    if loss == "missing":
        client.delete_object(Bucket=bucket, Key=name)
    else:
        client.put_object(Bucket=bucket, Key=name, Body=b'{"kind":"somebody else\'s"}')
    house.clock.advance(3)
    house.work()
    failed = house.turn(turn.id)
    assert failed.status is TurnStatus.FAILED
    assert digest in failed.note
    assert len(house.home.turns.list_dead_letters(10)) == 1
    assert (
        house.home.budgets.drawn_micro_usd("agent:crab", f"{house.clock.now():%Y-%m-%d}")
        == failed.spent
    )
    others = house.say("again", "m2")
    house.work()
    assert house.statuses(others) == [TurnStatus.COMPLETED]


@pytest.mark.parametrize("size", [285_000, 299_000, 310_000, 600_000])
def test_a_record_of_any_size_is_kept_and_read_again(house: House, size: int) -> None:
    house.session(
        house.agent("crab", (Reply(calls=(("ws_list", {}),), ponders=size), TALKATIVE[1]))
    )
    (turn,) = house.say("hello")
    one_step(house)
    assert bool(pointers(house, turn)) == (size > 300_000)
    house.clock.advance(3)
    house.work()
    assert house.statuses((turn,)) == [TurnStatus.COMPLETED]


@pytest.mark.parametrize("text", ["x" * 420_000, "蟹" * 140_000])
def test_an_item_of_over_400_kilobytes_is_refused_with_all_that_belongs_to_it(
    house: House, text: str
) -> None:
    table = table_of(house)
    small = put_item(item_key("TURN#t", "0001I") | {"body": {"S": "はい"}})
    large = put_item(item_key("TURN#t", "0001R") | {"body": {"S": text}})
    with pytest.raises(TooLarge, match="400 KB"):
        table.transact(small, large)
    with pytest.raises(TooLarge, match="400 KB"):
        table.write(large)
    assert table.query("TURN#t", "0", "9~") == []


def test_a_header_of_a_newer_version_waits_until_somebody_knows_it(house: House) -> None:
    house.session(house.agent("crab", (Reply(text="はい"),)))
    (turn,) = house.say("hello")
    table, place = table_of(house), (headers.dynamodb_turn_partition(turn.id), headers.HEADER)
    table.write(
        update_item(*place, dynamodb_attribute_changes({"schema": headers.SCHEMA.version + 1}))
    )
    before = table.get(*place)
    for _ in range(5):
        delivery = received(house)
        with pytest.raises(Unavailable, match="newer version"):
            run_turn(house.runtime, delivery, Pace())
        assert house.home.turns.continue_later(delivery.receipt, 2)
    assert table.get(*place) == before
    assert house.home.turns.list_dead_letters(10) == ()
    # Whoever knows that version goes on; here that is the deployment taken back.
    table.write(update_item(*place, dynamodb_attribute_changes({"schema": headers.SCHEMA.version})))
    house.clock.advance(3)
    house.work()
    assert house.statuses((turn,)) == [TurnStatus.COMPLETED]
    assert [line.text for line in house.lines(LineKind.SPEECH)] == ["はい"]


def test_what_an_older_version_wrote_is_brought_up_to_date_when_it_is_read(house: House) -> None:
    house.session(house.agent("crab", TALKATIVE))
    (turn,) = house.say("hello")
    one_step(house)
    written = table_of(house).query(headers.dynamodb_turn_partition(turn.id), "0", "9~")
    renamed = (_renamed("body", "content"), _renamed("content", "text"))
    newer = Schema("record", (*records.SCHEMA.migrations, *renamed))
    assert [item["sk"]["S"] for item in written] == ["0001I", "0001R", "0002R"]
    for item in written:
        fields = newer.decode_item(item)
        assert fields["text"] == item["body"]["S"]
        assert newer.encode_item("TURN#t", "0001R", {"text": fields["text"]})["schema"] == {
            "N": str(records.SCHEMA.version + 2)
        }


def _renamed(old: str, new: str) -> Migration:
    def migrate(fields: Fields) -> Fields:
        return {new if name == old else name: value for name, value in fields.items()}

    return migrate
