"""The messages of a world: all of the original's, each with a form on the wire."""

import base64
from collections import Counter
from typing import Any

import pytest

from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.value import Language
from opencrab.domain.world.catalogue import (
    WorldField,
    WorldMessage,
    inbound_world_messages,
    outbound_world_message_by_name,
    outbound_world_messages,
    world_value_from_wire,
)

HASH = "ab" * 32
EXAMPLES: dict[str, Any] = {
    "": ["anything", 1, None],
    "Hash256": HASH,
    "AgentId": HASH,
    "AgentStatus": "active",
    "bytes": base64.b64encode(b"crab").decode(),
    "u8": 255,
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "f32": 0.5,
    "bool": True,
}
DAEMONS = {
    "Nexus": 1,
    "Vault": 2,
    "Agora": 3,
    "Oracle": 4,
    "Forge": 5,
    "Mint": 6,
    "Portal": 7,
}


def example(message: WorldMessage) -> dict[str, Any]:
    """A payload with all fields of a message."""
    if not message.fields:
        return {"free": {"蟹": [1, 2.5, None, True]}}
    return {field.name: EXAMPLES.get(field.type, {"a": 1}) for field in message.fields}


def test_there_are_41_to_send_and_5_to_receive_each_with_a_code_and_a_name_of_its_own() -> None:
    assert (len(outbound_world_messages()), len(inbound_world_messages())) == (41, 5)
    everything = (*outbound_world_messages(), *inbound_world_messages())
    assert len({message.code for message in everything}) == 46
    assert len({message.name for message in everything}) == 46


def test_a_code_lies_in_the_range_of_its_daemon() -> None:
    for message in outbound_world_messages():
        assert message.code >> 8 == DAEMONS[message.other], message.name
    counted = Counter(message.other for message in outbound_world_messages())
    assert counted == {
        "Nexus": 3,
        "Vault": 11,
        "Agora": 10,
        "Oracle": 6,
        "Forge": 6,
        "Mint": 4,
        "Portal": 1,
    }


def test_rows_say_what_the_original_says() -> None:
    codes = {
        message.name: message.code
        for message in (*outbound_world_messages(), *inbound_world_messages())
    }
    assert codes["AGENT_STATUS"] == 0x0102
    assert codes["REGISTRY_QUERY"] == 0x020A
    assert codes["BOUNTY_CLAIM"] == 0x0311
    assert codes["WEB_REQUEST"] == 0x0700
    assert codes["EVENT"] == 0x0012
    snap = outbound_world_message_by_name("SNAP_CREATE")
    assert snap.notation == "CreateSnap {parent, root, author, message, proof, signature}"
    entry = outbound_world_message_by_name("ENTRY_GET")
    assert entry.fields == (
        WorldField("entry_id", "Hash256"),
        WorldField("version", "u32", optional=True),
    )
    assert entry.notation == "{entry_id: Hash256, version: Option<u32>}"
    assert outbound_world_message_by_name("TRANSFER").notation == "Transfer"
    assert outbound_world_message_by_name("TRANSFER").descriptions[Language.JA] == "通貨を送金"


def test_what_is_required_is_missed_and_what_is_unknown_is_named() -> None:
    vote = outbound_world_message_by_name("PROPOSAL_VOTE")
    with pytest.raises(Invalid, match="lacks the fields weight"):
        vote.to_wire({"proposal_id": HASH, "vote": True})
    with pytest.raises(Invalid, match="has no fields color"):
        vote.to_wire({"proposal_id": HASH, "vote": True, "weight": 1, "color": "red"})
    assert outbound_world_message_by_name("ENTRY_GET").to_wire({"entry_id": HASH}) == {
        "entry_id": bytes.fromhex(HASH)
    }
    with pytest.raises(NotFound):
        outbound_world_message_by_name("TICK_ALLOC")


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("SNAP_GET", "snap_id", HASH.upper()),
        ("SNAP_GET", "snap_id", 1),
        ("OBJECT_PUT", "type_tag", 256),
        ("OBJECT_PUT", "type_tag", True),
        ("OBJECT_PUT", "data", "crab?"),
        ("PROPOSAL_VOTE", "vote", 1),
        ("PROPOSAL_VOTE", "weight", "much"),
        ("PROPOSAL_VOTE", "weight", float("nan")),
        ("AGENT_STATUS", "status", "ASLEEP"),
        ("MSG_POST", "text", object()),
    ],
)
def test_a_value_of_another_type_is_refused(name: str, field: str, value: object) -> None:
    message = outbound_world_message_by_name(name)
    with pytest.raises(Invalid):
        message.to_wire({**example(message), field: value})


def test_what_comes_from_the_wire_is_json() -> None:
    assert world_value_from_wire({"id": bytes.fromhex(HASH), 1: [b"\x01", None]}) == {
        "id": HASH,
        "1": ["01", None],
    }
    nested: Any = 1
    for _ in range(100):
        nested = [nested]
    for wrong in (nested, {"x": float("inf")}, {None: 1}, {"x": object()}):
        with pytest.raises(Invalid):
            world_value_from_wire(wrong)
