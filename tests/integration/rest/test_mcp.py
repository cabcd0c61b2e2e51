"""MCP servers over REST: listed, asked, trusted as they were seen, and never with a secret."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.mcp import McpConnections
from opencrab.adapters.mcp.stdio import StdioConnection
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpLink
from tests.integration.rest.house import House, problem
from tests.unit.adapters.mcp import servers
from tests.unit.adapters.mcp.oauth import BACK, ISSUER, NOW, Lab

SECRET = "sk-KANARI"
PLACE = "/mcp/servers"


@pytest.fixture
def book(house: House, tmp_path: Path) -> Iterator[Path]:
    """A house with three servers: one that works, one that hangs, and one that cannot be used."""
    book = tmp_path / "book"

    def serving(name: str, mode: str, seconds: float) -> McpServer:
        args = (servers.__file__, mode, str(book))
        return McpServer(
            name=name,
            command=sys.executable,
            args=args,
            env={"KEY": SECRET},
            timeout_seconds=seconds,
        )

    lacking = McpServer(
        name="web",
        url=f"https://example.org/?key={SECRET}",
        headers={"Authorization": SECRET},
        problem="the variable TOKEN is not set",
        cure="set TOKEN",
    )
    found = (serving("hang", "hang_start", 0.5), serving("kani", "good", 60), lacking)
    with closing(McpConnections(lambda server: StdioConnection(server, {}))) as client:
        house.furnish(mcp=McpLink(found, client))
        yield book


def test_servers_are_listed_without_being_asked(house: House, book: Path) -> None:
    answer = house.call("GET", PLACE)
    assert SECRET not in answer.text
    hang, kani, web = answer.json()["items"]
    assert (hang["name"], hang["problem"]) == ("hang", "")
    assert (kani["kind"], kani["trusted"], kani["agents"]) == ("command", 0, [])
    assert (web["kind"], web["problem"]) == ("url", "the variable TOKEN is not set")
    assert not book.exists()


def test_an_installation_without_servers_has_none(house: House) -> None:
    assert house.got(PLACE) == {"items": []}
    found = problem(house.call("GET", f"{PLACE}/kani/tools"), 404)
    assert "no MCP server 'kani' in the settings" in found["detail"]


def test_a_tool_is_trusted_as_it_was_seen_and_withdrawn(house: House, book: Path) -> None:
    add, _fail, look = house.got(f"{PLACE}/kani/tools")["items"]
    assert (add["state"], add["impact"], add["effect"]) == ("new", "external", "once")
    assert look["hints"] == ["readOnlyHint"]
    place = f"{PLACE}/kani/tools/add"
    wrong = {"fingerprint": "0" * 64}
    assert "otherwise by now" in problem(house.call("PUT", place, wrong), 409)["detail"]
    body = {"fingerprint": add["fingerprint"], "impact": "read", "effect": "pure"}
    trusted = house.call("PUT", place, body).json()
    assert (trusted["state"], trusted["impact"]) == ("trusted", "read")
    assert trusted["action"] == "mcp__kani__add"
    assert house.got(PLACE)["items"][1]["trusted"] == 1
    book.with_suffix(".rug").touch()
    assert house.got(f"{PLACE}/kani/tools")["items"][0]["state"] == "changed"
    assert house.call("DELETE", place).status_code == 204
    problem(house.call("DELETE", place), 404)
    assert house.call("DELETE", f"{PLACE}/kani").status_code == 204
    assert house.got(PLACE)["items"][1]["trusted"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "fingerprint"),
        ({"fingerprint": "蟹"}, "fingerprint"),
        ({"fingerprint": "0" * 64, "impact": "harmless"}, "impact"),
        ({"fingerprint": "0" * 64, "more": 1}, "more"),
    ],
)
def test_what_is_no_trust_is_refused(
    house: House, book: Path, body: dict[str, object], field: str
) -> None:
    assert problem(house.call("PUT", f"{PLACE}/kani/tools/add", body), 422)["field"] == field
    assert not book.exists()


def test_servers_that_do_not_work_say_so(house: House, book: Path) -> None:
    hung = problem(house.call("GET", f"{PLACE}/hang/tools"), 503)
    assert hung["detail"] == "the MCP server hang did not answer initialize in time"
    lacking = house.call("GET", f"{PLACE}/web/tools")
    assert SECRET not in lacking.text
    assert "TOKEN is not set" in problem(lacking, 403)["detail"]
    assert not book.exists()


@pytest.fixture
def lab(house: House) -> Lab:
    """A house with a server that asks for a sign-in, beside one that is a command."""
    found = Lab(house.runtime.home, FakeClock(NOW))
    command = McpServer(name="kani", command=sys.executable)
    link = McpLink((found.server, command), found.client, lambda: found.sign_ins)
    house.furnish(mcp=link)
    return found


def test_the_owner_signs_in_over_rest_and_no_answer_has_a_token(house: House, lab: Lab) -> None:
    waits = problem(house.call("GET", f"{PLACE}/tracker/tools"), 403)
    assert "waits until its owner signs in" in waits["detail"]
    assert "opencrab mcp login tracker" in waits["cure"]
    tracker, kani = house.got(PLACE)["items"]
    assert (tracker["sign_in"]["state"], kani["sign_in"]["state"]) == ("needed", "none")
    checks = house.got("/system/checks")["checks"]
    (told,) = [each for each in checks if each["name"] == "mcp"]
    assert (told["state"], "tracker" in told["what"]) == ("warning", True)
    place = f"{PLACE}/tracker/sign-in"
    begun = house.call("POST", place, {"redirect_uri": BACK}).json()
    assert (begun["issuer"], begun["previous_issuer"]) == (ISSUER, "")
    answer = {"answer": lab.servers.agree(begun["url"])}
    finished = house.call("PUT", place, answer)
    assert finished.json()["state"] == "signed_in"
    again = house.call("PUT", place, answer)
    assert "used already" in problem(again, 403)["detail"]
    assert house.got(f"{PLACE}/tracker/tools")["items"][0]["name"] == "add"
    listed = house.call("GET", PLACE)
    assert listed.json()["items"][0]["sign_in"]["issuer"] == ISSUER
    checks = house.call("GET", "/system/checks")
    ended = house.call("DELETE", place)
    assert ended.json() == {"had_tokens": True, "revoked": True}
    assert house.call("DELETE", place).json() == {"had_tokens": False, "revoked": False}
    assert house.got(PLACE)["items"][0]["sign_in"]["state"] == "none"
    for each in (finished, again, listed, checks, ended):
        assert "CANARY" not in each.text


def test_a_server_that_is_removed_is_signed_out(house: House, lab: Lab) -> None:
    lab.sign_in()
    house.call("DELETE", f"{PLACE}/tracker")
    assert house.got(PLACE)["items"][0]["sign_in"]["state"] == "none"


@pytest.mark.parametrize(
    ("request_line", "body", "status", "told"),
    [
        ("POST kani", {"redirect_uri": BACK}, 403, "nobody signs in at kani"),
        ("POST other", {"redirect_uri": BACK}, 404, "no MCP server 'other'"),
        ("POST tracker", {"redirect_uri": "https://evil.example.net/callback"}, 422, ""),
        ("POST tracker", {"redirect_uri": "http://evil.example.net/callback"}, 422, "computer"),
        ("PUT tracker", {"answer": "x" * 9_000}, 422, ""),
        ("PUT tracker", {"answer": "?state=x"}, 403, "no sign-in at tracker is under way"),
    ],
)
def test_what_is_no_sign_in_is_refused(
    house: House, lab: Lab, *, request_line: str, body: Any, status: int, told: str
) -> None:
    method, name = request_line.split()
    found = problem(house.call(method, f"{PLACE}/{name}/sign-in", body), status)
    assert told in found["detail"]
    assert lab.servers.clients == {}


def test_without_a_secret_store_nobody_signs_in(house: House, lab: Lab) -> None:
    house.furnish(mcp=McpLink((lab.server,), lab.client))
    found = house.call("POST", f"{PLACE}/tracker/sign-in", {"redirect_uri": BACK})
    assert "no secret store" in problem(found, 503)["detail"]
    assert house.got(PLACE)["items"][0]["sign_in"]["state"] == "none"
