"""Clients and tokens as authorization servers give them, and their odd answers."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import OpenCrabError, Refused
from opencrab.ports.mcp import McpSignInNeeded, McpSignOut, McpUnavailable
from tests.contract.homes import sqlite
from tests.unit.adapters.mcp.oauth import BACK, ISSUER, NOW, Lab, SignInServers
from tests.unit.adapters.web.net import moved, reply


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        yield Lab(home, clock)


@pytest.mark.parametrize("method", ["none", "client_secret_post", "client_secret_basic"])
def test_a_client_proves_itself_as_the_server_wants(lab: Lab, method: str) -> None:
    lab.servers.metadata["token_endpoint_auth_methods_supported"] = [method]
    lab.sign_in()
    assert lab.call() == "42"
    lab.clock.advance(3_600)
    assert lab.call() == "42"
    assert lab.sign_ins.end(lab.server) == McpSignOut(had_tokens=True, revoked=True)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"access_token": "x"}, "no bearer token"),
        ({"access_token": "x", "token_type": "mac"}, "no bearer token"),
        ({"access_token": "", "token_type": "Bearer"}, "no bearer token"),
        ({"access_token": ["x"], "token_type": "Bearer"}, "no bearer token"),
        ({"access_token": "a\r\nX-Evil: 1", "token_type": "Bearer"}, "no bearer token"),
        ({"access_token": "蟹\ud83d\x00", "token_type": "Bearer"}, "no bearer token"),
        ({"access_token": "x" * 9_000, "token_type": "Bearer"}, "no bearer token"),
        ({"token_type": ["x"]}, "no bearer token"),
    ],
)
def test_a_token_that_fits_in_no_header_is_none(
    lab: Lab, answer: dict[str, Any], told: str
) -> None:
    begun = lab.sign_ins.start(lab.server, BACK)
    lab.servers.pages[f"{ISSUER}/token"] = SignInServers.json(answer)
    with pytest.raises(McpUnavailable, match=told):
        lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (SignInServers.json({"error": "invalid_grant"}, 400), Refused),
        (SignInServers.json({"error": "invalid_client"}, 401), Refused),
        (SignInServers.json({"error": "bad_verification_code"}), Refused),
        (SignInServers.json({"error": "secret"}), McpUnavailable),
        (SignInServers.json({"error": ["invalid_grant"]}, 400), McpUnavailable),
        (SignInServers.json({"error": "secret <b>words</b>"}, 400), McpUnavailable),
        (reply(status=500), McpUnavailable),
        (reply(b"x" * 300_000), McpUnavailable),
        (moved("https://evil.example.net/token", 308), Refused),
    ],
)
def test_an_error_has_no_word_of_the_server(
    lab: Lab, answer: list[bytes], kind: type[OpenCrabError]
) -> None:
    begun = lab.sign_ins.start(lab.server, BACK)
    lab.servers.pages[f"{ISSUER}/token"] = answer
    with pytest.raises(kind) as caught:
        lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    assert "secret" not in caught.value.message
    assert "evil" not in f"{caught.value.message}{caught.value.cure}"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("120", 120), (1e9, 366 * 86_400), (None, None), ("soon", None), ([], None),
     (10**400, None), (float("inf"), None), (-7, 0)],
)  # fmt: skip
@pytest.mark.parametrize(("more", "usual"), [({}, 366 * 86_400), ({"refresh_token": "r"}, 3_600)])
def test_the_life_of_a_token_is_understood(
    lab: Lab, said: Any, seconds: int | None, more: dict[str, str], usual: int
) -> None:
    begun = lab.sign_ins.start(lab.server, BACK)
    found = {"access_token": "x", "token_type": "bearer", "expires_in": said, **more}
    lab.servers.pages[f"{ISSUER}/token"] = SignInServers.json(found)
    record = lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    ends_at = NOW + timedelta(seconds=usual if seconds is None else seconds)
    _, grant = lab.stored.record(lab.server)
    assert grant is not None
    assert (grant.expires_at, record.ends_at) == (ends_at, None if more else ends_at)


def test_a_token_that_is_good_for_ever_is_used_until_it_is_refused(lab: Lab) -> None:
    """Some well-known services tell no end, and give nothing to renew it with."""
    begun = lab.sign_ins.start(lab.server, BACK)
    found = {"access_token": "x", "token_type": "bearer"}
    lab.servers.pages[f"{ISSUER}/token"] = SignInServers.json(found)
    lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    lab.servers.access["x"] = "tracker.read"
    lab.clock.advance(90 * 86_400)
    assert lab.call() == "42"
    lab.servers.access.clear()
    with pytest.raises(McpSignInNeeded):
        lab.call()


def test_a_revocation_that_fails_still_forgets(lab: Lab) -> None:
    lab.sign_in()
    lab.servers.down = True
    assert lab.sign_ins.end(lab.server) == McpSignOut(had_tokens=True, revoked=False)
    assert lab.sign_ins.records([lab.server]) == {}


def test_scopes_that_are_odd_are_left_out(lab: Lab) -> None:
    lab.servers.resource["scopes_supported"] = ["a", 'b"', "蟹", "c d", 5, "x" * 2_000, "a"]
    lab.servers.metadata["scopes_supported"] = ["offline_access"]
    assert lab.sign_ins.start(lab.server, BACK).scope == "a c d offline_access"
