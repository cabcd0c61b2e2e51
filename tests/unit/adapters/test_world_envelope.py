"""Envelopes: every message there and back, and nothing but whole ones of this version."""

from datetime import UTC, datetime

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.adapters.world_envelope import Ed25519Envelopes
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.world.binding import ENVELOPE_BYTES, WorldEnvelope
from opencrab.domain.world.catalogue import inbound_world_messages, outbound_world_messages
from tests.soak import examples
from tests.unit.domain.world.test_catalogue import example
from tests.world.reference import damaged

ENVELOPES = Ed25519Envelopes()
KEY, OTHER = ENVELOPES.new_key(), ENVELOPES.new_key()
NOW = datetime(2026, 2, 17, 9, 0, 0, 123_000, tzinfo=UTC)


def envelope(**changes: object) -> WorldEnvelope:
    return WorldEnvelope(
        world_id="kingdom",
        code=0x0311,
        sender=KEY.key_id,
        recipient="Agora",
        nonce="0f" * 16,
        at=NOW,
        body={"bounty_id": "b1", "claimer": "蟹"},
    ).replaced(**changes)


def test_every_message_comes_back_as_it_was_sent() -> None:
    for message in (*outbound_world_messages(), *inbound_world_messages()):
        body = message.to_wire(example(message))
        sent = envelope(code=message.code, body=body, reply_to="ab" * 16)
        opened = ENVELOPES.open(ENVELOPES.seal(sent, KEY.private_key))
        assert opened.envelope == sent, message.name
        assert ENVELOPES.is_signed_by(opened, KEY.public_key)
        assert not ENVELOPES.is_signed_by(opened, OTHER.public_key)


def test_a_key_is_known_by_its_hash_and_signs_the_same_twice() -> None:
    assert ENVELOPES.key_id(KEY.public_key) == KEY.key_id != OTHER.key_id
    assert ENVELOPES.seal(envelope(), KEY.private_key) == ENVELOPES.seal(
        envelope(), KEY.private_key
    )
    for wrong in ("", "xyz", "ab" * 31):
        with pytest.raises(Invalid):
            ENVELOPES.key_id(wrong)


def test_no_bit_can_be_changed() -> None:
    raw = ENVELOPES.seal(envelope(), KEY.private_key)
    for other in damaged(raw):
        try:
            opened = ENVELOPES.open(other)
        except Invalid:
            continue
        assert not ENVELOPES.is_signed_by(opened, KEY.public_key)


def test_an_envelope_of_another_version_is_refused_by_name() -> None:
    raw = ENVELOPES.seal(envelope(version=2), KEY.private_key)
    with pytest.raises(Invalid, match="unsupported envelope version"):
        ENVELOPES.open(raw)


def test_what_is_too_long_is_neither_sent_nor_read() -> None:
    with pytest.raises(TooLarge):
        ENVELOPES.seal(envelope(body={"x": "a" * ENVELOPE_BYTES}), KEY.private_key)
    with pytest.raises(TooLarge):
        ENVELOPES.open(b"\x00" * (ENVELOPE_BYTES + 1))
    with pytest.raises(Invalid):
        ENVELOPES.seal(envelope(body={"x": 2**64}), KEY.private_key)


@pytest.mark.parametrize(
    "row",
    [
        [],
        {},
        ["KDOM", 1],
        ["OPENCRAB", True],
        ["OPENCRAB", 1],
        ["OPENCRAB", 1, "k", 1, b"", "Nexus", b"", None, 0, b"\x80"],
        ["OPENCRAB", 1, "k", 1, b"\0" * 32, "Nexus", b"\0" * 16, None, 10**18, b"\x80"],
        ["OPENCRAB", 1, "k", 1, b"\0" * 32, "Nexus", b"\0" * 16, None, 0, b"\x90"],
        ["OPENCRAB", 1, "k", 1, b"\0" * 32, "Nexus", b"\0" * 16, 5, 0, b"\x80"],
        ["OPENCRAB", 1, "k", 1, b"\0" * 32, "nexus", b"\0" * 16, None, 0, b"\x80"],
        ["OPENCRAB", 1, "k", 1, b"\0" * 32, "Nexus", b"\0" * 16, None, 0, b"\x80", 1],
    ],
)
def test_signed_bytes_of_another_form_are_refused(row: object) -> None:
    with pytest.raises(Invalid):
        ENVELOPES.open(msgpack.packb([msgpack.packb(row), b"\0" * 64]))


@given(st.binary(max_size=200))
@settings(max_examples=examples(200))
def test_any_bytes_are_refused_and_nothing_else_happens(raw: bytes) -> None:
    with pytest.raises(Invalid):
        ENVELOPES.open(raw)
    with pytest.raises(Invalid):
        ENVELOPES.open(msgpack.packb([raw, b"\0" * 64]))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(Invalid):
        ENVELOPES.open(b"\x91" * 60_000)
    with pytest.raises(Invalid):
        ENVELOPES.open(b"\x81" * 60_000)
