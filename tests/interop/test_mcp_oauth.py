"""A server with a sign-in, made with MCP's official SDK, and an agent of a running OpenCrab."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT
from tests.interop.test_mcp import tools, trust, write_script, write_settings
from tests.running import Server, free_port, server

SIGN_IN_SERVER = Path(__file__).with_name("mcp_oauth_server.py")
BACK = "http://127.0.0.1:33418/callback"
GOOD_SECONDS = 33
"""A token is renewed 30 seconds before its end, so that this one is soon."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@contextmanager
def tides(port: int) -> Iterator[str]:
    """The server of the SDK; its URL."""
    environment = ROOT / ".venv-sdk"
    if not (environment / ".ready").is_file():
        pytest.skip("no SDK of MCP: run `make setup`")
    python = str(environment / "bin" / "python")
    command = [python, str(SIGN_IN_SERVER), str(port), str(GOOD_SECONDS)]
    with subprocess.Popen(command) as process:
        until = time.monotonic() + 120
        while asked(port, "GET", "/.well-known/oauth-authorization-server")[0] != 200:
            assert time.monotonic() < until
            Event().wait(0.1)
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def asked(port: int, method: str, target: str) -> tuple[int, str]:
    """The status of a request and where it redirects."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        return answer.status, answer.headers.get("location", "")
    except OSError:
        return 0, ""
    finally:
        connection.close()


def sign_in(running: Server, port: int) -> str:
    """Sign in as a browser would; the address of the answer."""
    begun = running.call("POST", "/mcp/servers/tides/sign-in", {"redirect_uri": BACK})
    assert (begun["issuer"], begun["scope"]) == (f"http://127.0.0.1:{port}", "tides")
    url = urlsplit(begun["url"])
    status, answer = asked(port, "GET", f"{url.path}?{url.query}")
    assert (status, answer.startswith(f"{BACK}?")) == (302, True)
    found = running.call("PUT", "/mcp/servers/tides/sign-in", {"answer": answer})
    assert found["state"] == "signed_in"
    return answer


def test_the_sdks_server_is_signed_in_at_renewed_refused_and_left(tmp_path: Path) -> None:
    port = free_port()
    with tides(port) as url:
        write_settings(tmp_path, f'[mcp.servers.tides]\nurl = "{url}"\n')
        script = write_script(tmp_path, ("mcp__tides__tide", {"place": "蟹🦀"}))
        with server(tmp_path / "data", script=script) as running:
            sign_in(running, port)
            assert list(tools(running, "tides")) == ["tide"]
            trust(running, "tides", "tide", impact="read", effect="pure")
            Event().wait(GOOD_SECONDS - 30 + 0.2)
            for name, told in (("蟹", "満潮 蟹🦀"), ("貝", "waits until its owner signs in")):
                session = running.session(name)
                running.say(session, "潮は?", wait=60)
                steps = running.only_turn(session)["steps"]
                assert told in json.dumps(steps, ensure_ascii=False)
                asked(port, "POST", "/refused")
            (found,) = running.call("GET", "/mcp/servers")["items"]
            assert found["sign_in"]["state"] == "needed"
            sign_in(running, port)
            assert list(tools(running, "tides")) == ["tide"]
            ended = running.call("DELETE", "/mcp/servers/tides/sign-in")
            assert ended == {"had_tokens": True, "revoked": True}
