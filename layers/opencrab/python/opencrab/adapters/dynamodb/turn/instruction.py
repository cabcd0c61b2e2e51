"""Instructions in the table: what running turns of a session hear before their next model call."""

from datetime import timedelta

from opencrab.adapters.dynamodb.item import Item, Schema, item_time_to_live, to_attribute
from opencrab.adapters.dynamodb.table import Table, Write, delete_item, item_absent, put_item
from opencrab.adapters.dynamodb.turn.message import MARK
from opencrab.adapters.dynamodb.turn.message import turn_message_partition as marker
from opencrab.domain.conversation.message import Instruction

SCHEMA = Schema("instruction")
LIFE = timedelta(days=35)


def put_new_turn_instruction(instruction: Instruction) -> tuple[Write, Write]:
    """Return the writes of an instruction and its idempotency marker, if that is absent."""
    body = {"body": instruction.model_dump_json(), "ttl": item_time_to_live(instruction.at + LIFE)}
    item = SCHEMA.encode_item(_partition(instruction.session_id), _sort_key(instruction.line), body)
    return put_item(
        SCHEMA.encode_item(marker(instruction.id), MARK, body), item_absent()
    ), put_item(item)


def turn_instruction_from_dynamodb_item(item: Item) -> Instruction:
    """Deserialize an instruction from an item."""
    return Instruction.model_validate_json(SCHEMA.decode_item(item)["body"])


def turn_instructions_after_line(
    table: Table, session_id: str, line: int
) -> tuple[Instruction, ...]:
    """Query the instructions that came after a line of their session."""
    items = table.query(_partition(session_id), _sort_key(line + 1), "~")
    return tuple(turn_instruction_from_dynamodb_item(item) for item in items)


def turn_instruction_erasure_writes(
    marked: Item | None, session_id: str, line: int
) -> tuple[Write, ...]:
    """Return the writes that delete an instruction and keep a marker without its text.

    Empty if the marker is gone or belongs to a message that is no instruction.
    """
    if marked is None or "body" not in marked:
        return ()
    bare = turn_instruction_from_dynamodb_item(marked).without_content().model_dump_json()
    return (
        delete_item(_partition(session_id), _sort_key(line)),
        put_item(marked | {"body": to_attribute(bare)}),
    )


def _partition(session_id: str) -> str:
    return f"INBOX#{session_id}"


def _sort_key(line: int) -> str:
    return f"{line:010d}"
