"""A request behind the door: each event once, odd ones passed over, lost ones again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from opencrab.gateways.chat.worker import handle_chat_request
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.line_house import LineHouse
from tests.line.fake import OWNER


@pytest.fixture
def house(tmp_path: Path) -> Iterator[LineHouse]:
    made = LineHouse(HOMES[0], tmp_path)
    made.agent("kani", (Reply(text="やあ"),))
    yield made
    made.close()
    assert made.line.complaints == []
    assert made.problems == []


def test_several_events_of_a_request_are_all_handled(house: LineHouse) -> None:
    house.line.says("一")
    house.line.says("二")
    events = [each for body in house.line.sent for each in json.loads(body)["events"]]
    body = json.dumps({"events": [{"type": "odd"}, 7, *events, *events]})
    handle_chat_request(house.runtime, "line", body)
    turns = house.home.journal.lines(_session(house), limit=20)
    assert [line.text for line in turns if not line.from_agent] == ["一", "二"]


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"events": {}}', '{"events": [[]]}'])
def test_what_is_no_list_of_events_does_nothing(house: LineHouse, body: str) -> None:
    handle_chat_request(house.runtime, "line", body)


def test_a_store_that_does_not_answer_lets_the_request_come_again(house: LineHouse) -> None:
    house.line.says("一")

    def outage(point: str) -> None:
        raise Unavailable(point)

    house.trouble.at[len(house.trouble.seen) + 1] = outage
    with pytest.raises(Unavailable):
        handle_chat_request(house.runtime, "line", house.line.sent[-1].decode())
    house.rest()
    assert house.line.texts() == ["やあ"]


def test_a_service_that_is_switched_off_takes_nothing(house: LineHouse) -> None:
    house.line.says("一")
    off = replace(house.runtime, chats={})
    handle_chat_request(off, "line", house.line.sent[-1].decode())
    assert conversation_bound_to_channel(house.home, f"line.{OWNER}") is None


def _session(house: LineHouse) -> str:
    session = conversation_bound_to_channel(house.home, f"line.{OWNER}")
    assert session is not None
    return session.id
