"""Slack's requests: signed with their time; events, buttons and commands are one event each."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from opencrab.gateways.door.request import (
    NotGenuineRequest,
    ReadingOfRequest,
    SignedRequest,
    StaleRequest,
    UnreadableRequest,
)
from opencrab.gateways.door.slack import SECRET, read_signed_request
from tests.slack.fake import CHANNEL, OWNER, signed
from tests.slack.fake import SECRET as SIGNING_SECRET

AT = 1_767_603_600.0
FORM = "application/x-www-form-urlencoded"


class Secrets:
    """`RequestLookup` with the signing secret."""

    def __init__(self, secret: str = SIGNING_SECRET) -> None:
        self._secret = secret

    def document(self, owner: str, kind: str, fact_id: str) -> Any:
        raise AssertionError("Slack's secret is no document")

    def secret(self, name: str) -> str:
        assert name == SECRET
        return self._secret

    def new_id(self) -> str:
        raise AssertionError("Slack gives ids")


def read(
    body: bytes,
    kind: str = "application/json",
    headers: dict[str, str] | None = None,
    secret: str = SIGNING_SECRET,
) -> ReadingOfRequest:
    given = {**signed(body, AT, kind), **(headers or {})}
    return read_signed_request(SignedRequest("slack", "", given, body, AT), Secrets(secret))


def event(**changes: Any) -> bytes:
    """A message, as far as the door looks at it."""
    said = {"type": "message", "channel": "D1", "user": OWNER, "text": "蟹"} | changes
    return json.dumps({"type": "event_callback", "event_id": "Ev1", "event": said}).encode()


def test_an_event_a_button_and_a_command_are_one_event_each() -> None:
    (found,) = read(event()).events
    assert (found.id, found.group) == ("Ev1", "D1")
    payload = {"type": "block_actions", "trigger_id": "1.2", "channel": {"id": CHANNEL}}
    (found,) = read(urlencode({"payload": json.dumps(payload)}).encode(), FORM).events
    assert (found.id, found.group, json.loads(found.text)) == ("1.2", CHANNEL, payload)
    fields = {"command": "/ask", "text": "元気?", "trigger_id": "1.3", "channel_id": CHANNEL}
    asked = read(urlencode(fields).encode(), FORM)
    assert (asked.events[0].id, asked.body) == ("1.3", {"response_type": "in_channel"})


def test_white_space_around_the_stored_secret_does_not_count() -> None:
    assert len(read(event(), secret=f"{SIGNING_SECRET}\n").events) == 1


def test_slacks_test_of_the_address_is_answered_with_its_challenge() -> None:
    body = b'{"type":"url_verification","challenge":"3eZbrw1aBm","token":"x"}'
    assert read(body) == ReadingOfRequest((), 200, {"challenge": "3eZbrw1aBm"})


@pytest.mark.parametrize(
    "body",
    [
        event(bot_id="B1"),
        event(type="reaction_added"),
        b'{"type":"event_callback","event":{"type":"message"}}',
        b'{"type":"event_callback","event_id":"Ev1","event":[]}',
        b'{"type":"app_rate_limited"}',
        b"{}",
    ],
)
def test_what_nobody_answers_is_acknowledged_and_not_queued(body: bytes) -> None:
    assert read(body) == ReadingOfRequest((), 200)


@pytest.mark.parametrize("given", [{"type": "view_submission", "trigger_id": "1"}, {}, []])
def test_other_interactions_are_acknowledged(given: Any) -> None:
    body = urlencode({"payload": json.dumps(given)}).encode()
    assert read(body, FORM) == ReadingOfRequest((), 200)
    assert read(b"command=&trigger_id=1", FORM) == ReadingOfRequest((), 200)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-slack-signature": ""},
        {"x-slack-signature": "v0=" + "0" * 64},
        {"x-slack-signature": "蟹"},
        signed(b"{}", AT, secret="other"),
        signed(b"{}", AT - 1) | {"x-slack-request-timestamp": f"{AT:.0f}"},
    ],
)
def test_what_slack_did_not_sign_is_not_genuine(headers: dict[str, str]) -> None:
    with pytest.raises(NotGenuineRequest):
        read(b"{}", headers=headers)
    request = SignedRequest("slack", "", signed(b"{}", AT, secret=""), b"{}", AT)
    with pytest.raises(NotGenuineRequest):
        read_signed_request(request, Secrets(""))


@pytest.mark.parametrize("timestamp", ["", "soon", f"{AT - 301:.0f}", f"{AT + 301:.0f}", "1" * 99])
def test_an_old_request_is_stale_before_anything_is_looked_up(timestamp: str) -> None:
    with pytest.raises(StaleRequest):
        read(b"{}", headers={"x-slack-request-timestamp": timestamp})


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
def test_a_signed_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableRequest):
        read(body)
