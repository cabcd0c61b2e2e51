"""Ed25519: the published vectors verify, and keys that are none are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.door.signature import PublicKeys
from opencrab.domain.errors import Invalid

KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"


@pytest.fixture(scope="module")
def vectors(wire: Path) -> list[Any]:
    """Those of RFC 8032."""
    path = wire / "specs" / "discord" / "ed25519-vectors.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    return [each for each in found if "message_hex" in each]


def test_the_vectors_of_the_rfc_verify_and_no_other_message_does(vectors: list[Any]) -> None:
    assert len(vectors) == 3
    for each in vectors:
        keys = PublicKeys([KEY, each["public_key"]])
        signature, message = (bytes.fromhex(each[name]) for name in ("signature", "message_hex"))
        assert keys.verify(signature, message)
        assert not keys.verify(signature, message + b"\0")
        assert not keys.verify(signature[:-1], message)


def test_upper_case_and_spaces_around_a_key_are_harmless() -> None:
    assert not PublicKeys([f" {KEY.upper()}\n"]).verify(bytes(64), b"")


@pytest.mark.parametrize("text", ["", "zz", KEY[:-2], KEY + "00", "${DISCORD_PUBLIC_KEY}"])
def test_what_is_no_key_is_named(text: str) -> None:
    with pytest.raises(Invalid, match="no public key of Ed25519"):
        PublicKeys([text])


def test_without_a_key_nobody_could_be_verified() -> None:
    with pytest.raises(Invalid, match="there is no public key"):
        PublicKeys([])
