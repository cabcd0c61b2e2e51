"""LINE's requests at the door in Lambda: its secret is read once, each event is one message."""

import json
from typing import Any

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.channels.door import channel_door_from_environment
from opencrab.gateways.door.door import (
    SignedRequestDoor,
    api_gateway_result_of_signed_request,
    signed_request_of_api_gateway,
)
from opencrab.gateways.door.request import parse_queued_event
from tests.contract.example import NOW
from tests.line.fake import OWNER, SECRET, FakeLine, signed
from tests.unit.adapters.listening import Heard, answer, listening
from tests.unit.bootstrap.channels.test_door import environment

EPOCH = NOW.timestamp()
NAME = "/opencrab/dev/LINE_CHANNEL_SECRET"


def outside(heard: Heard) -> bytes:
    """SQS, and Systems Manager with the channel secret."""
    if heard.headers["x-amz-target"] != "AmazonSSM.GetParameters":
        return answer(200, b"{}")
    assert json.loads(heard.body)["Names"] == [NAME]
    return answer(200, json.dumps({"Parameters": [{"Name": NAME, "Value": SECRET}]}).encode())


def called(door: SignedRequestDoor, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    event = {"headers": headers, "pathParameters": {"kind": "line"}, "body": body.decode()}
    return api_gateway_result_of_signed_request(
        door.answer(signed_request_of_api_gateway(event, EPOCH))
    )


def test_a_message_is_one_in_the_queue_and_unsigned_ones_are_none() -> None:
    line = FakeLine(FakeClock(NOW))
    line.says("元気?")
    (body,) = line.sent
    with listening(outside) as server:
        given = environment(server, OPENCRAB_CHANNELS="webhook, line")
        door = channel_door_from_environment(given, lambda: EPOCH)
        assert called(door, body, signed(body))["statusCode"] == 200
        assert called(door, body, signed(body))["statusCode"] == 200
        assert called(door, body, signed(body, "f" * 32))["statusCode"] == 401
        assert called(door, b'{"events":[]}', signed(b'{"events":[]}'))["statusCode"] == 200
        targets = [each.headers["x-amz-target"] for each in server.heard]
        assert targets == ["AmazonSSM.GetParameters", "AmazonSQS.SendMessage"]
        found = parse_queued_event(json.loads(server.heard[-1].body)["MessageBody"])
    assert (found.kind, found.event.group) == ("line", OWNER)
    assert json.loads(found.event.text)["message"]["text"] == "元気?"


def test_line_is_refused_where_the_stack_does_not_take_it() -> None:
    with listening(outside) as server:
        door = channel_door_from_environment(environment(server), lambda: EPOCH)
        assert called(door, b"{}", signed(b"{}"))["statusCode"] == 401
        assert not server.heard
