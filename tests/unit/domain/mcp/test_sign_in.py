"""What servers say about a sign-in: challenges, scopes and addresses, odd ones among them."""

import pytest

from opencrab.domain.mcp.server import McpOAuth, McpServer
from opencrab.domain.mcp.sign_in import (
    McpChallenge,
    McpGrant,
    mcp_resource_covers,
    origin_of_mcp_url,
    parse_mcp_challenge,
    plain_mcp_scope,
    split_mcp_url,
)

PRM = "https://a.example/.well-known/x"


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ([], McpChallenge()),
        ([b"Basic realm=x"], McpChallenge()),
        ([b"Bearer"], McpChallenge()),
        ([b"bearer error=invalid_token"], McpChallenge(error="invalid_token")),
        (
            [f'Bearer resource_metadata="{PRM}", scope="a b"'.encode()],
            McpChallenge(resource_metadata=PRM, scope="a b"),
        ),
        (
            [b"Basic realm=x", f"DPoP algs=x, Bearer resource_metadata={PRM}".encode()],
            McpChallenge(resource_metadata=PRM),
        ),
        ([b'Bearer scope="a\\"b c"'], McpChallenge(scope="c")),
        ([b'Bearer scope="a", scope="evil"'], McpChallenge(scope="a")),
        ([b'Bearer resource_metadata="javascript:alert(1)"'], McpChallenge()),
        ([b'Bearer error="<script>"'], McpChallenge()),
        ([b"Bearer " + b'x="' * 100_000], McpChallenge()),
        (["Bearer scope=\"蟹 \x00 a\"".encode()], McpChallenge(scope="a")),
    ],
)  # fmt: skip
def test_a_challenge_is_read_without_what_is_odd(headers: list[bytes], found: McpChallenge) -> None:
    assert parse_mcp_challenge(headers) == found


def test_scopes_are_joined_once_and_cut() -> None:
    assert plain_mcp_scope("a b", "b  c", "") == "a b c"
    assert plain_mcp_scope('x"y \\ 蟹 \ud83d ok') == "ok"
    assert len(plain_mcp_scope(" ".join(str(n) * 9 for n in range(500)))) <= 1_000


@pytest.mark.parametrize(
    "url",
    ["", "x", "//a.example", "ftp://a.example", "https://", "https://a b", "https://u@a.example",
     "https://a.example#x", "https://a.example#", "https://a.example:99999", "https://a\\b.example",
     "https://é.example",
     "https://a.example/`x`", 'https://a.example/"', "https://a.example/<x>",
     "https://[::1", "https://a.example/\x7f", "https://a.example/\ud83d"],
)  # fmt: skip
def test_odd_addresses_are_none(url: str) -> None:
    assert split_mcp_url(url) is None
    assert origin_of_mcp_url(url) is None
    assert not mcp_resource_covers(url, url)


def test_an_origin_is_scheme_host_and_port() -> None:
    same = {origin_of_mcp_url(f"https://{each}") for each in ("A.example", "a.example:443/x?y")}
    assert same == {("https", "a.example", 443)}
    assert origin_of_mcp_url("http://[::1]:8000/") == ("http", "::1", 8000)


def test_a_resource_is_the_server_or_above_it() -> None:
    url = "https://a.example/x/mcp"
    covers = ("/x/mcp", "/x/mcp/", "/x", "", "/", ":443/x")
    other = ("/x/mc", "/x/mcp/y", "/x?y", ":8443/x/mcp", ".evil.example/x/mcp", "@evil.example/")
    assert all(mcp_resource_covers(f"https://A.example{each}", url) for each in covers)
    assert not any(mcp_resource_covers(f"https://a.example{each}", url) for each in other)
    assert not mcp_resource_covers("http://a.example/x/mcp", url)


def test_texts_of_grants_and_settings_have_no_secret() -> None:
    grant = McpGrant(
        server="a", resource="r", issuer="i", token_endpoint="t", client_id="c",
        client_secret="CANARY", access_token="CANARY", refresh_token="CANARY",
    )  # fmt: skip
    oauth = McpOAuth(client_id="c", client_secret="CANARY")
    assert "CANARY" not in f"{grant!r} {oauth!r} {McpServer(name='a', oauth=oauth)!r}"


def test_only_mcp_servers_at_an_address_without_a_token_sign_in() -> None:
    url = "https://a.example/mcp"
    assert McpServer(name="a", url=url, headers={"X-Tenant": "x"}).may_sign_in
    for given in (
        {"url": url, "headers": {"authorization": "x"}},
        {"url": url, "openapi": "https://a.example/api.json"},
        {"a2a": "https://a.example"},
        {"command": "npx"},
    ):
        assert not McpServer.model_validate({"name": "a", **given}).may_sign_in
