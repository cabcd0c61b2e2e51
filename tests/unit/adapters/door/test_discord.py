"""The callback: told to Discord once, and no error where Discord knew it already."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.door.discord import DiscordPublicKeys, PlainDiscordCallback
from opencrab.domain.errors import Invalid, Unavailable
from tests.unit.adapters.listening import answer, listening


def test_it_is_told_with_the_token_and_no_other_key() -> None:
    with listening(lambda _: answer(204)) as server:
        callback = PlainDiscordCallback(server.client("/api/v10"), seconds=5)
        callback.acknowledge("140", "tok.en", {"type": 5, "data": {"flags": 64}})
    (heard,) = server.heard
    assert heard.line == "POST /api/v10/interactions/140/tok.en/callback HTTP/1.1"
    assert json.loads(heard.body) == {"type": 5, "data": {"flags": 64}}
    assert heard.headers["content-type"] == "application/json"
    assert heard.headers["user-agent"].startswith("DiscordBot (")
    assert "authorization" not in heard.headers


@pytest.mark.parametrize(
    "said",
    [
        answer(204),
        answer(200, b"{}"),
        answer(400, b'{"code": 40060, "message": "already acknowledged"}'),
    ],
)
def test_what_is_acknowledged_is_acknowledged(said: bytes) -> None:
    with listening(lambda _: said) as server:
        PlainDiscordCallback(server.client(), seconds=5).acknowledge("1", "t", {"type": 6})


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(404, b'{"code": 10062}'), "404, code 10062"),
        (answer(429, b'{"retry_after": 1.5}'), "429, code None"),
        (answer(502, b"<html>"), "502, code None"),
        (answer(500, b"[40060]"), "500, code None"),
        (None, "no response from"),
        (b"", "TimeoutError"),
    ],
)
def test_everything_else_is_unavailable(said: bytes | None, why: str) -> None:
    with listening(lambda _: said) as server:
        callback = PlainDiscordCallback(server.client(), seconds=0.3)
        with pytest.raises(Unavailable, match=why):
            callback.acknowledge("1", "t", {"type": 6})


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
        keys = DiscordPublicKeys([KEY, each["public_key"]])
        signature, message = (bytes.fromhex(each[name]) for name in ("signature", "message_hex"))
        assert keys.verify(signature, message)
        assert not keys.verify(signature, message + b"\0")
        assert not keys.verify(signature[:-1], message)


def test_upper_case_and_spaces_around_a_key_are_harmless() -> None:
    assert not DiscordPublicKeys([f" {KEY.upper()}\n"]).verify(bytes(64), b"")


@pytest.mark.parametrize("text", ["", "zz", KEY[:-2], KEY + "00", "${DISCORD_PUBLIC_KEY}"])
def test_what_is_no_key_is_named(text: str) -> None:
    with pytest.raises(Invalid, match="not a valid Ed25519 public key"):
        DiscordPublicKeys([text])


def test_without_a_key_nobody_could_be_verified() -> None:
    with pytest.raises(Invalid, match="there is no public key"):
        DiscordPublicKeys([])
