"""Instructions in the table: what running turns of a session hear before their next model call."""

from datetime import timedelta

from opencrab.adapters.dynamodb.item import Item, Schema, item_time_to_live, to_dynamodb_attribute
from opencrab.adapters.dynamodb.table import (
    Table,
    Write,
    delete_dynamodb_item,
    item_absent,
    put_item,
)
from opencrab.adapters.dynamodb.turn.message import MARK
from opencrab.adapters.dynamodb.turn.message import dynamodb_message_partition as marker
from opencrab.domain.conversation.message import Instruction

SCHEMA = Schema("instruction")
LIFE = timedelta(days=35)


def put_instruction_in_dynamodb(instruction: Instruction) -> tuple[Write, Write]:
    """Return the writes of an instruction and its idempotency marker, if that is absent."""
    body = {"body": instruction.to_stored(), "ttl": item_time_to_live(instruction.at + LIFE)}
    item = SCHEMA.encode_item(_partition(instruction.session_id), _sort_key(instruction.line), body)
    return put_item(
        SCHEMA.encode_item(marker(instruction.id), MARK, body), item_absent()
    ), put_item(item)


def turn_instruction_from_dynamodb_item(item: Item) -> Instruction:
    """Deserialize an instruction from an item."""
    return Instruction.from_stored(SCHEMA.decode_item(item)["body"])


def query_dynamodb_instructions(
    table: Table, session_id: str, line: int
) -> tuple[Instruction, ...]:
    """Query the instructions that came after a line of their session."""
    items = table.query(_partition(session_id), _sort_key(line + 1), "~")
    return tuple(turn_instruction_from_dynamodb_item(item) for item in items)


def dynamodb_instruction_erasure_writes(
    marked: Item | None, session_id: str, line: int
) -> tuple[Write, ...]:
    """Return the writes that delete an instruction and keep a marker without its text.

    Empty if the marker is gone or belongs to a message that is no instruction.
    """
    if marked is None or "body" not in marked:
        return ()
    bare = turn_instruction_from_dynamodb_item(marked).without_content().model_dump_json()
    return (
        delete_dynamodb_item(_partition(session_id), _sort_key(line)),
        put_item(marked | {"body": to_dynamodb_attribute(bare)}),
    )


def _partition(session_id: str) -> str:
    return f"INBOX#{session_id}"


def _sort_key(line: int) -> str:
    return f"{line:010d}"
