"""A server takes the port that was asked for, or says why it cannot."""

import socket
from collections.abc import Iterator

import pytest

from opencrab.bootstrap.local.available_port import available_local_port
from opencrab.domain.errors import Unavailable

HOST = "127.0.0.1"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens while the test lasts."""
    with socket.create_server((HOST, 0)) as server:
        yield int(server.getsockname()[1])


def test_a_port_that_is_taken_is_passed_over(taken: int) -> None:
    assert taken < available_local_port(HOST, taken, fixed=False) <= taken + 20


def test_a_port_that_was_asked_for_is_not_replaced(taken: int) -> None:
    with pytest.raises(
        Unavailable, match=f"another program listens on port {taken} of {HOST}"
    ) as caught:
        available_local_port(HOST, taken, fixed=True)
    assert caught.value.cure == "choose another with --port"


def test_no_port_is_tried_beyond_the_last_one() -> None:
    with pytest.raises(Unavailable, match="no free port from 65536"):
        available_local_port(HOST, 65_536, fixed=False)
