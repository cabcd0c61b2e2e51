"""Telegram's requests: proven by a secret in a header; an update is one event of its chat."""

import json
from typing import Any

import pytest

from opencrab.gateways.door.request import (
    NotGenuineRequest,
    ReadingOfRequest,
    SignedRequest,
    UnreadableRequest,
)
from opencrab.gateways.door.telegram import SECRET as NAME
from opencrab.gateways.door.telegram import read_signed_request
from tests.telegram.fake import SECRET, posted

MESSAGE = {"message_id": 1, "chat": {"id": -1009, "type": "group"}, "text": "蟹 🦀"}


class Secrets:
    """`RequestLookup` with the secret."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def document(self, owner: str, kind: str, fact_id: str) -> Any:
        raise AssertionError("Telegram's secret is no document")

    def secret(self, name: str) -> str:
        assert name == NAME
        return self._secret

    def new_id(self) -> str:
        raise AssertionError("Telegram gives ids")


def read(body: bytes, given: str = SECRET, known: str = SECRET) -> ReadingOfRequest:
    request = SignedRequest("telegram", "", posted(given), body, 0)
    return read_signed_request(request, Secrets(known))


def test_a_message_and_a_button_are_one_event_each_of_their_chat() -> None:
    for update in ({"message": MESSAGE}, {"callback_query": {"id": "1", "message": MESSAGE}}):
        found = read(json.dumps({"update_id": 7, **update}).encode())
        assert found.status == 200
        ((event_id, group, text, _),) = found.events
        assert (event_id, group) == ("7", "-1009")
        assert json.loads(text)["update_id"] == 7


@pytest.mark.parametrize("given", ["", "moon", SECRET + "x", "蟹", "\ud83e", "x" * 257])
def test_who_does_not_know_the_secret_stays_outside(given: str) -> None:
    with pytest.raises(NotGenuineRequest):
        read(b"{}", given)


def test_without_a_secret_nobody_is_let_in() -> None:
    for known in ("", "  "):
        for given in ("", " ", SECRET):
            with pytest.raises(NotGenuineRequest):
                read(b"{}", given, known)


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'"x"', b"[" * 100_000])
def test_what_is_no_update_cannot_be_read(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        read(body)


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"update_id": 7},
        {"update_id": "7", "message": MESSAGE},
        {"update_id": True, "message": MESSAGE},
        {"update_id": 7, "message": 5},
        {"update_id": 7, "edited_message": MESSAGE},
        {"update_id": 7, "channel_post": MESSAGE},
    ],
)
def test_what_no_agent_has_to_answer_is_acknowledged(update: dict[str, Any]) -> None:
    assert read(json.dumps(update).encode()) == ReadingOfRequest((), 200)
