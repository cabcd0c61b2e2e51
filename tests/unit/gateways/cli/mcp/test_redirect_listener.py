"""The listener for one answer of a browser: what else asks there gets nothing, and nothing ends."""

import socket
import struct
from collections.abc import Iterator
from contextlib import closing

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.mcp.redirect_listener import McpRedirectListener

DONE = '<b>kani</b>&"'


@pytest.fixture
def listener() -> Iterator[McpRedirectListener]:
    with closing(McpRedirectListener(0, done=DONE, odd="no")) as found:
        yield found


def ask(listener: McpRedirectListener, target: str, host: str = "") -> tuple[int, str]:
    """A request's answer."""
    own = listener.uri.split("/")[2]
    status, page = listener.take(host or own, target)
    listener.end_wait()
    return status, page.decode()


def test_before_a_state_is_given_out_nothing_is_an_answer(listener: McpRedirectListener) -> None:
    assert ask(listener, "/callback?code=x")[0] == 404
    assert ask(listener, "/callback?code=x&state=")[0] == 404
    assert listener.wait_for_answer(0.01) is None


def test_the_first_answer_counts_and_others_are_lost(listener: McpRedirectListener) -> None:
    listener.expect_answer("s")
    names = ("?state=S&code=x", "?state=s&state=s", "?state=%73%00", "?" + "a=1&" * 15)
    odd = ("/", "/x?state=s", "/callback?state=" + "s" * 9_000, *(f"/callback{x}" for x in names))
    for target in odd:
        assert ask(listener, target)[0] == 404
    for host in ("evil.example.net", "localhost", "127.0.0.1", ""):
        if host:
            assert ask(listener, "/callback?state=s&code=x", host)[0] == 404
    assert listener.wait_for_answer(0.01) is None
    status, page = ask(listener, "/callback?state=s&code=1")
    assert status == 200
    assert "&lt;b&gt;kani&lt;/b&gt;&amp;&quot;" in page
    assert ask(listener, "/callback?state=s&code=2")[1] == page
    assert listener.wait_for_answer(1) == f"{listener.uri}?state=s&code=1"


def test_a_browser_that_hangs_up_is_not_told_of(
    listener: McpRedirectListener, capfd: pytest.CaptureFixture[str]
) -> None:
    place = ("127.0.0.1", int(listener.uri.split(":")[2].split("/")[0]))
    for said in (b"", b"GET /callback"):
        with closing(socket.create_connection(place)) as browser:
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            browser.sendall(said)
    assert listener.wait_for_answer(0.3) is None
    assert capfd.readouterr().err == ""


def test_a_port_that_is_taken_is_named(listener: McpRedirectListener) -> None:
    port = int(listener.uri.split(":")[2].split("/")[0])
    with pytest.raises(Unavailable, match=f"port {port} of this computer cannot be used"):
        McpRedirectListener(port, done="", odd="")
