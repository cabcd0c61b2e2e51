"""The callback: told to Discord once, and no error where Discord knew it already."""

import json

import pytest

from opencrab.adapters.door.discord import PlainCallback
from opencrab.domain.errors import Unavailable
from tests.unit.adapters.listening import answer, listening


def test_it_is_told_with_the_token_and_no_other_key() -> None:
    with listening(lambda _: answer(204)) as server:
        callback = PlainCallback(server.client("/api/v10"), seconds=5)
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
        PlainCallback(server.client(), seconds=5).acknowledge("1", "t", {"type": 6})


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(404, b'{"code": 10062}'), "404, code 10062"),
        (answer(429, b'{"retry_after": 1.5}'), "429, code None"),
        (answer(502, b"<html>"), "502, code None"),
        (answer(500, b"[40060]"), "500, code None"),
        (None, "does not answer"),
        (b"", "TimeoutError"),
    ],
)
def test_everything_else_is_unavailable(said: bytes | None, why: str) -> None:
    with listening(lambda _: said) as server:
        callback = PlainCallback(server.client(), seconds=0.3)
        with pytest.raises(Unavailable, match=why):
            callback.acknowledge("1", "t", {"type": 6})
