"""LINE's requests: signed over the raw body by the channel secret; each event is one of its own."""

import json
from typing import Any

import pytest

from opencrab.gateways.door.line import HEADER, SECRET, is_line_signature, read_signed_request
from opencrab.gateways.door.request import (
    NotGenuineRequest,
    ReadingOfRequest,
    SignedRequest,
    UnreadableRequest,
)
from tests.line.fake import BOT, GROUP, OWNER, signed
from tests.line.fake import SECRET as CHANNEL_SECRET

BODY = '{"events":[{"message":{"text":"蟹🦀"}}]}'.encode()


class Secrets:
    """`RequestLookup` with the channel secret."""

    def __init__(self, secret: str = CHANNEL_SECRET) -> None:
        self._secret = secret

    def document(self, owner: str, kind: str, fact_id: str) -> Any:
        raise AssertionError("LINE's secret is no document")

    def secret(self, name: str) -> str:
        assert name == SECRET
        return self._secret

    def new_id(self) -> str:
        raise AssertionError("LINE gives ids")


def read(body: bytes, headers: dict[str, str] | None = None, secret: str = CHANNEL_SECRET) -> Any:
    given = signed(body) if headers is None else headers
    return read_signed_request(SignedRequest("line", "", given, body, 0.0), Secrets(secret))


def event(**changes: Any) -> dict[str, Any]:
    """A message, as far as the door looks at it."""
    source = {"type": "user", "userId": OWNER}
    return {"type": "message", "webhookEventId": "01A", "source": source, "n": "蟹"} | changes


@pytest.mark.parametrize(
    ("secret", "body", "signature"),
    [
        (CHANNEL_SECRET, BODY + b" ", None),
        ("f" * 32, BODY, None),
        ("", BODY, None),
        (CHANNEL_SECRET, BODY, ""),
        (CHANNEL_SECRET, BODY, "abc"),
        (CHANNEL_SECRET, BODY, "蟹" * 44),
        (CHANNEL_SECRET, BODY, "A" * 44),
        (CHANNEL_SECRET, BODY, "A" * 100_000),
    ],
)
def test_what_the_channel_did_not_sign_is_not_genuine(
    secret: str, body: bytes, signature: str | None
) -> None:
    given = signed(BODY)[HEADER] if signature is None else signature
    with pytest.raises(NotGenuineRequest):
        read(body, {HEADER: given}, secret)
    assert is_line_signature(CHANNEL_SECRET, BODY, signed(BODY)[HEADER])
    assert not is_line_signature("", BODY, signed(BODY, "")[HEADER])


def test_white_space_around_the_stored_secret_does_not_count() -> None:
    assert len(read(b'{"events":[]}', secret=f"{CHANNEL_SECRET}\n").events) == 0


def test_events_are_one_each_in_the_order_of_their_rooms() -> None:
    group = {"type": "group", "groupId": GROUP, "userId": OWNER}
    more = [event(), event(webhookEventId="01B", source=group), event(type="postback")]
    others = [event(type="follow"), event(webhookEventId=None), event(source=[]), 7]
    found = read(json.dumps({"destination": BOT, "events": [*more, *others]}).encode())
    assert [(each.id, each.group) for each in found.events] == [
        ("01A", OWNER),
        ("01B", GROUP),
        ("01A", OWNER),
    ]
    assert found.status == 200


def test_a_redelivered_event_is_the_same() -> None:
    first = event(deliveryContext={"isRedelivery": False})
    again = event(deliveryContext={"isRedelivery": True})
    bodies = [json.dumps({"events": [each]}).encode() for each in (first, again)]
    assert read(bodies[0]) == read(bodies[1])


def test_a_test_request_without_events_is_acknowledged() -> None:
    assert read(b'{"destination":"U0","events":[]}') == ReadingOfRequest((), 200)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"events":{}}', b"\xff"])
def test_a_signed_body_that_is_no_list_of_events_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        read(body)


def test_too_many_events_are_refused() -> None:
    with pytest.raises(UnreadableRequest, match="100"):
        read(json.dumps({"events": [event()] * 101}).encode())
