"""Where to sign in, as servers say it: what leads elsewhere is refused and sent nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import OpenCrabError, Refused
from opencrab.ports.mcp import McpUnavailable
from tests.contract.homes import sqlite
from tests.unit.adapters.mcp.oauth import BACK, ISSUER, NOW, URL, Lab, SignInServers
from tests.unit.adapters.web.net import moved, reply

ROOT = URL.removesuffix("/mcp")
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"
EVIL = "https://evil.example.net"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        yield Lab(home, clock)


def refused(lab: Lab) -> str:
    """What is said when the sign-in cannot begin: none of a server's words, and nothing stored."""
    with pytest.raises(OpenCrabError) as caught:
        lab.sign_ins.start(lab.server, BACK)
    told = f"{caught.value.message} {caught.value.cure}"
    assert "evil" not in told
    assert "authorization server of the MCP server tracker" in told
    assert not any("/token" in url for _, url, _ in lab.servers.asked)
    assert not any(token for _, _, token in lab.servers.asked)
    return told


@pytest.mark.parametrize(
    ("resource", "told"),
    [
        ({"resource": f"{EVIL}/mcp"}, "that of another address"),
        ({"resource": "https://tracker.example.net.evil.example.net/mcp"}, "another address"),
        ({"resource": f"{ROOT}/mcp2"}, "another address"),
        ({"resource": f"{ROOT}/mc"}, "another address"),
        ({"resource": f"{ROOT}:8443/mcp"}, "another address"),
        ({"resource": "http://tracker.example.net/mcp"}, "another address"),
        ({"resource": None}, "another address"),
        ({"resource": ["x"]}, "another address"),
        ({"authorization_servers": ["http://evil.example.net"]}, "does not use https"),
        ({"authorization_servers": ["https://169.254.169.254"]}, "not on the public internet"),
        ({"authorization_servers": ["https://10.0.0.7/x"]}, "not on the public internet"),
        ({"authorization_servers": ["https://localhost:9000"]}, "not on the public internet"),
        ({"authorization_servers": ["https://[::ffff:127.0.0.1]"]}, "public internet"),
        ({"authorization_servers": ["https://me:pw@evil.example.net"]}, "not a usable address"),
        ({"authorization_servers": ["https://蟹.example"]}, "not a usable address"),
        ({"authorization_servers": ["https://x\ud83d.example"]}, "not a usable address"),
        ({"authorization_servers": ["https://x\x00.example"]}, "not a usable address"),
        ({"authorization_servers": ["javascript:alert(1)"]}, "not a usable address"),
        ({"authorization_servers": ["file:///etc/passwd"]}, "not a usable address"),
        ({"authorization_servers": ["https://" + "a" * 3_000]}, "not a usable address"),
        ({"authorization_servers": [EVIL]}, "nothing describes where to sign in"),
    ],
)
def test_a_description_that_leads_elsewhere_is_refused(
    lab: Lab, resource: dict[str, Any], told: str
) -> None:
    lab.servers.resource |= resource
    assert told in refused(lab)
    dialled = {host for host, _ in lab.servers.net.dialled}
    assert not any(host.startswith(("10.", "127.", "169.", "local", "[", "::")) for host in dialled)


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"issuer": EVIL}, "describes itself as another issuer"),
        ({"issuer": None}, "describes itself as another issuer"),
        ({"issuer": f"{ISSUER}/x"}, "describes itself as another issuer"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not offer PKCE with S256"),
        ({"code_challenge_methods_supported": None}, "does not offer PKCE with S256"),
        ({"authorization_endpoint": "javascript:alert(1)//x"}, "authorization endpoint is not"),
        ({"authorization_endpoint": "data:text/html,x"}, "authorization endpoint is not"),
        ({"authorization_endpoint": "https://192.168.0.1/reboot"}, "public internet"),
        ({"authorization_endpoint": f"{ISSUER}/a\nb"}, "authorization endpoint is not"),
        ({"authorization_endpoint": None}, "authorization endpoint is not"),
        ({"token_endpoint": "http://login.example.org/token"}, "token endpoint does not use https"),
        ({"token_endpoint": None}, "token endpoint is not a usable address"),
        ({"token_endpoint": "https://127.0.0.1/token"}, "not on the public internet"),
        ({"registration_endpoint": "https://metadata/x"}, "not on the public internet"),
        ({"revocation_endpoint": 5}, "revocation endpoint is not a usable address"),
    ],
)
def test_an_authorization_server_that_is_not_safe_is_refused(
    lab: Lab, metadata: dict[str, Any], told: str
) -> None:
    lab.servers.metadata |= metadata
    assert told in refused(lab)
    assert not any(method == "POST" for method, url, _ in lab.servers.asked if url != URL)


@pytest.mark.parametrize("url", [f"{ROOT}/.well-known/x", METADATA, f"{ISSUER}/register"])
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (moved(f"{EVIL}/metadata"), "it redirects to another address"),
        (moved("http://169.254.169.254/", 307), "it redirects to another address"),
        (reply(b" " * 50_000_000, "application/json"), "more than 262144 bytes"),
        (reply(status=503), "503"),
    ],
)
def test_metadata_that_moves_or_floods_is_not_followed(
    lab: Lab, url: str, answer: list[bytes], told: str
) -> None:
    lab.servers.pages[url] = answer
    assert told in refused(lab)
    assert lab.servers.net.now == 0.0
    assert {host for host, _ in lab.servers.net.dialled} <= {"tracker.example.net", "93.184.215.14"}


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'"x"', b"{", b'{"resource": 1}', b"[" * 100_000, b"\xff\xfe"]
)
@pytest.mark.parametrize("url", [f"{ROOT}/.well-known/x", METADATA, f"{ISSUER}/register"])
def test_metadata_that_is_none_is_refused(lab: Lab, url: str, body: bytes) -> None:
    lab.servers.pages[url] = reply(body, "application/json")
    assert refused(lab)


def test_a_name_that_resolves_to_a_private_address_is_not_asked(lab: Lab) -> None:
    lab.servers.net.numbers = {"login.example.org": ("10.0.0.8",)}
    assert "not on the public internet" in refused(lab)
    assert ("10.0.0.8", 443) not in lab.servers.net.dialled


def test_a_server_described_on_another_host_is_refused(lab: Lab) -> None:
    lab.servers.challenge = f'Bearer resource_metadata="{EVIL}/prm"'
    assert "described on another host" in refused(lab)
    assert {host for host, _ in lab.servers.net.dialled} == {"tracker.example.net"}


@pytest.mark.parametrize(
    "challenge",
    ["", "Basic realm=x", "Bearer", "Bearer resource_metadata=蟹", 'Bearer resource_metadata="'],
)
def test_without_a_usable_challenge_the_usual_places_are_asked(lab: Lab, challenge: str) -> None:
    lab.servers.challenge = challenge.encode().decode("latin-1")
    usual = f"{ROOT}/.well-known/oauth-protected-resource/mcp"
    lab.servers.pages[usual] = SignInServers.json(lab.servers.resource)
    assert lab.sign_ins.start(lab.server, BACK).issuer == ISSUER


def test_a_server_of_2025_03_26_is_its_own_authorization_server(lab: Lab) -> None:
    lab.servers.challenge = "Bearer"
    own = {**lab.servers.metadata, "issuer": ROOT}
    lab.servers.pages[f"{ROOT}/.well-known/oauth-authorization-server"] = SignInServers.json(own)
    begun = lab.sign_ins.start(lab.server, BACK)
    assert begun.issuer == ROOT
    lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    assert lab.call() == "42"


def test_an_issuer_with_a_path_is_found_by_openid(lab: Lab) -> None:
    issuer = f"{ISSUER}/tenant"
    lab.servers.resource["authorization_servers"] = [issuer]
    found = {**lab.servers.metadata, "issuer": issuer}
    lab.servers.pages[f"{issuer}/.well-known/openid-configuration"] = SignInServers.json(found)
    assert lab.sign_ins.start(lab.server, BACK).issuer == issuer
    tried = [url for _, url, _ in lab.servers.asked if url.startswith(ISSUER)][:3]
    assert tried == [
        f"{ISSUER}/.well-known/oauth-authorization-server/tenant",
        f"{ISSUER}/.well-known/openid-configuration/tenant",
        f"{issuer}/.well-known/openid-configuration",
    ]


def test_the_owner_may_name_the_issuer_and_nobody_else(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        lab = Lab(home, clock, oauth={"issuer": ISSUER})
        assert lab.sign_ins.start(lab.server, BACK).issuer == ISSUER
        lab.servers.resource["authorization_servers"] = [EVIL]
        with pytest.raises(Refused, match="does not name the one of the settings") as caught:
            lab.sign_ins.start(lab.server, BACK)
        assert caught.value.cure == "correct mcp.servers.tracker.oauth.issuer"


def test_an_issuer_of_the_owner_may_be_in_a_private_network(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        lab = Lab(home, clock, oauth={"issuer": ISSUER})
        lab.servers.net.numbers = {"login.example.org": ("10.0.0.8",)}
        assert lab.sign_ins.start(lab.server, BACK).issuer == ISSUER


def test_this_machine_may_use_plain_http_with_itself_only(tmp_path: Path) -> None:
    here, login = "http://127.0.0.1:8000/mcp", "http://127.0.0.1:9000"
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        lab = Lab(home, clock, url=here)
        prm = "http://127.0.0.1:8000/.well-known/oauth-protected-resource/mcp"
        lab.servers.pages[here] = reply(status=401)
        described = {"resource": here, "authorization_servers": [login]}
        lab.servers.pages[prm] = SignInServers.json(described)
        local = {
            name: value.replace(ISSUER, login) if isinstance(value, str) else value
            for name, value in lab.servers.metadata.items()
        }
        place = f"{login}/.well-known/oauth-authorization-server"
        lab.servers.pages[place] = SignInServers.json(local)
        lab.servers.pages[f"{login}/register"] = SignInServers.json({"client_id": "c"}, 201)
        assert lab.sign_ins.start(lab.server, BACK).issuer == login
        lab.servers.pages[prm] = SignInServers.json(
            {**described, "authorization_servers": ["http://login.example.org"]}
        )
        assert "does not use https" in refused(lab)


def test_a_silent_authorization_server_is_unavailable(lab: Lab) -> None:
    lab.servers.net.down = frozenset({"93.184.215.14"})
    with pytest.raises(McpUnavailable, match="authorization server of the MCP server tracker"):
        lab.sign_ins.start(lab.server, BACK)


def test_no_header_of_the_settings_reaches_an_authorization_server(tmp_path: Path) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        lab = Lab(home, clock, headers={"X-Tenant": "CANARY-tenant"})
        lab.sign_in()
        got = [each for each in lab.servers.net.requests if "CANARY-tenant" in each]
        assert got
        assert all("host: tracker.example.net" in each.lower() for each in got)
