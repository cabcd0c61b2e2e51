"""An event lies in the queue as it came, and comes out as it was put in."""

import json

import pytest

from opencrab.gateways.door.request import (
    ReceivedEvent,
    SignedRequest,
    encode_queued_event,
    is_queued_event,
    parse_queued_event,
)
from tests.cases import for_each

REQUEST = SignedRequest("webhook", "ci", {}, b"", 0)


@for_each("text", ['{"a":\n"蟹"}', '"\uffff"', '"\\ud800"', '"\\\\蟹\ud83d"', "[]"])
def test_an_event_comes_out_as_it_was_put_in(text: str) -> None:
    event = ReceivedEvent("id", "group", text, {"event": "プッシュ"})
    body = encode_queued_event(REQUEST, event)
    assert is_queued_event(body)
    assert "\uffff" not in body  # SQS would refuse it
    assert body.encode()  # nothing stores half of a pair
    found = parse_queued_event(body)
    assert found.event._replace(text=text) == event
    assert json.loads(found.event.text) == json.loads(text)


def test_an_interaction_of_discord_is_no_event() -> None:
    assert not is_queued_event('{"type":2,"id":"1"}')


@for_each("body", ["received", 'received {"kind":"webhook"}\n{}', "received []\n{}"])
def test_what_is_no_event_is_said_to_be_none(body: str) -> None:
    with pytest.raises(ValueError, match=r"kind|Expecting"):
        parse_queued_event(body)
