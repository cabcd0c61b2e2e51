"""The answer to a webhook's event arrives at its address, once to whoever compares ids."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.message import ATTEMPTS, DeliveryState
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.ports.turn.queue import Delivery
from tests.integration.rest.house import House
from tests.unit.adapters.web.net import Net, reply
from tests.unit.gateways.door.visiting import Visit, standard

URL = "https://hooks.example.org/crab"


class Died(BaseException):
    """The worker's process ended."""


class Sending:
    """A house whose webhook answers to an address; the receiver answers as the test says."""

    def __init__(
        self,
        house: House,
        *answers: Iterable[bytes] | BaseException,
        template: str = "{{ text }}",
    ) -> None:
        self.house, self.waiting = house, list(answers)
        self.net = Net(self._answer)
        clock = FakeClock(house.runtime.clock.now())
        house.furnish(channels={"webhook": self.net.answers(house.runtime.home.facts, clock)})
        agent_id = house.agent("蟹")
        body = {"name": "ci", "agent_id": agent_id, "reply_to": URL, "template": template}
        self.made = house.made("/webhooks", body)
        house.made("/webhooks/ci/test", {"body": {"text": "満潮?"}})
        house.work()
        found = house.runtime.home.deliveries.receive(visibility_seconds=60, wait_seconds=0)
        assert found is not None
        self.delivery = found

    def _answer(self, url: str) -> Iterable[bytes]:
        answer = self.waiting.pop(0) if self.waiting else reply()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def deliver(self) -> None:
        """One worker takes the message."""
        deliver_session_utterance(self.house.runtime, Delivery(**vars(self.delivery)))

    @property
    def state(self) -> Any:
        target, _, key = self.delivery.body.rpartition("\n")
        return self.house.runtime.home.outbox.get(target, key)

    @property
    def ids(self) -> list[str]:
        return [
            each.partition("webhook-id: ")[2].partition("\r\n")[0] for each in self.net.requests
        ]


@pytest.fixture
def sending(tmp_path: Path) -> Iterator[Callable[..., Sending]]:
    house = House(tmp_path)
    yield lambda *answers, **more: Sending(house, *answers, **more)
    house.close()


def test_an_answer_arrives_signed_with_the_secret_of_answers(
    sending: Callable[..., Sending],
) -> None:
    made = sending()
    made.deliver()
    assert made.state.state is DeliveryState.SENT
    head, _, body = made.net.requests[0].partition("\r\n\r\n")
    lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    now = float(lines["webhook-timestamp"])
    secret = made.made["reply_secret"]
    receiver = Visit({"ci": standard(secrets=[secret])})
    assert receiver.ask("ci", lines, body.encode("latin-1"), now=now).status == 202
    assert secret != made.made["secret"]
    assert secret not in made.house.call("GET", "/webhooks").text


def test_a_receiver_hears_also_that_nothing_was_said(sending: Callable[..., Sending]) -> None:
    made = sending(template="stay silent")
    made.deliver()
    _, _, body = made.net.requests[0].partition("\r\n\r\n")
    told = json.loads(body)
    assert (told["type"], told["data"]["text"], told["data"]["last"]) == ("turn.ended", "", True)


def test_what_fails_or_dies_on_the_way_is_repeated_under_the_same_id(
    sending: Callable[..., Sending],
) -> None:
    made = sending(reply(status=503), [], Died())
    made.deliver()
    made.deliver()
    with pytest.raises(Died):
        made.deliver()
    made.deliver()
    assert made.state.state is DeliveryState.SENT
    assert len(made.ids) == 4
    assert len({*made.ids}) == 1


def test_after_the_last_attempt_the_owner_sees_why(sending: Callable[..., Sending]) -> None:
    made = sending(*[reply(status=500)] * ATTEMPTS)
    for _ in range(ATTEMPTS + 2):
        made.deliver()
    assert made.state.state is DeliveryState.INDETERMINATE
    assert len(made.net.requests) == ATTEMPTS
    (listed,) = made.house.got("/webhooks")["items"]
    assert "status 500" in listed["reply_problem"]
    # Another webhook of this name has not failed.
    made.house.call("DELETE", "/webhooks/ci")
    again = {name: listed[name] for name in ("name", "agent_id", "reply_to")}
    made.house.made("/webhooks", again)
    (listed,) = made.house.got("/webhooks")["items"]
    assert listed["reply_problem"] == ""


def test_a_receiver_that_refuses_is_not_asked_again(sending: Callable[..., Sending]) -> None:
    made = sending(reply(status=410))
    made.deliver()
    made.deliver()
    assert made.state.state is DeliveryState.FAILED
    assert "410" in made.state.error
    assert len(made.net.requests) == 1
