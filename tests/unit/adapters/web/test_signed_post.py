"""Signed posts: with each secret that still counts, and no answer is read beyond its status."""

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Refused
from tests.contract.example import NOW
from tests.unit.adapters.web.net import Net, reply
from tests.unit.gateways.door.visiting import OLD, SECRET, Visit, standard

URL = "https://hooks.example.org/crab"
BODY = '{"type": "turn.completed", "data": "蟹 🦀"}'.encode()


def test_both_secrets_sign_one_request() -> None:
    net = Net(lambda url: reply(b"x" * 1_000_000))
    net.posts(FakeClock(NOW)).post(URL, (SECRET, OLD), "msg_1", BODY)
    head, _, body = net.requests[0].partition("\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
    for secret in (SECRET, OLD):
        door = Visit({"ci": standard(secrets=[secret])})
        answer = door.ask("ci", headers, body.encode("latin-1"), now=NOW.timestamp())
        assert answer.status == 202
        assert secret not in net.requests[0]


@pytest.mark.parametrize("numbers", [("10.0.0.7",), ("169.254.169.254",), ("::1",)])
def test_a_private_address_is_not_dialled(numbers: tuple[str, ...]) -> None:
    net = Net(lambda url: reply(), {"hooks.example.org": numbers})
    with pytest.raises(Refused):
        net.posts(FakeClock(NOW)).post(URL, (SECRET,), "msg_1", BODY)
    assert net.dialled == []
