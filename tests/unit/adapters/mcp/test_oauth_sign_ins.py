"""Signing in at MCP servers: from a refused request to a call, and what is refused on the way."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.mcp.sign_in import SIGN_IN_ATTEMPT_KIND, SIGN_IN_KIND, McpSignInState
from opencrab.ports.home import Home
from opencrab.ports.mcp import McpSignInNeeded, McpSignOut
from tests.contract.homes import OpenHome, aws_in_memory, sqlite
from tests.unit.adapters.mcp.oauth import BACK, ISSUER, NOW, URL, Lab, SignInServers
from tests.unit.adapters.web.net import reply


@pytest.fixture(params=[sqlite, aws_in_memory])
def every_home(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[tuple[Home, FakeClock]]:
    open_home: OpenHome = request.param
    clock = FakeClock(NOW)
    with open_home(tmp_path, clock) as home:
        yield home, clock


@pytest.fixture
def home(tmp_path: Any) -> Iterator[tuple[Home, FakeClock]]:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as opened:
        yield opened, clock


def state(lab: Lab) -> McpSignInState:
    """What a list says of the server."""
    found = lab.sign_ins.records([lab.server]).get("tracker")
    return McpSignInState.NONE if found is None else found.state


def stored_texts(lab: Lab) -> str:
    """All that is stored of sign-ins, and the same without its base64."""
    found = [
        each.body
        for kind in (SIGN_IN_KIND, SIGN_IN_ATTEMPT_KIND)
        for each in lab.facts.page(INSTALLATION_FACTS, kind)
        if each.body
    ]
    plain = [base64.urlsafe_b64decode(each["sealed"]) for each in found if "sealed" in each]
    return f"{found} {plain!r}"


def test_the_owner_signs_in_and_agents_call(every_home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*every_home)
    with pytest.raises(McpSignInNeeded, match="waits until its owner signs in") as caught:
        lab.call()
    assert "opencrab mcp login tracker" in str(caught.value.cure)
    assert state(lab) is McpSignInState.NEEDED
    begun = lab.sign_ins.start(lab.server, BACK)
    asked = parse_qs(urlsplit(begun.url).query)
    assert (asked["resource"], asked["redirect_uri"]) == ([URL], [BACK])
    assert (begun.issuer, begun.previous_issuer) == (ISSUER, "")
    assert "CANARY" not in stored_texts(lab)
    record = lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    assert (record.state, record.issuer) == (McpSignInState.SIGNED_IN, ISSUER)
    assert lab.call() == "42"
    assert state(lab) is McpSignInState.SIGNED_IN
    assert "CANARY" not in f"{stored_texts(lab)} {record!r}"
    used = [each for each in lab.servers.asked if each[2]]
    assert {url for _, url, _ in used} == {URL}, "a token went elsewhere"


def test_a_server_that_asks_for_nothing_costs_no_look_at_the_store(
    home: tuple[Home, FakeClock],
) -> None:
    lab = Lab(*home)
    lab.servers.access[""] = "tracker.read"
    lab.sign_ins = None  # type: ignore[assignment]
    lab.client = lab.connections(None)  # type: ignore[arg-type]
    assert lab.call() == "42"


def test_a_state_is_good_once_and_for_its_own_sign_in(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    first = lab.servers.agree(lab.sign_ins.start(lab.server, BACK).url)
    second = lab.servers.agree(lab.sign_ins.start(lab.server, BACK).url)
    with pytest.raises(Refused, match="another sign-in"):
        lab.sign_ins.finish(lab.server, first)
    for odd in (
        "",
        "蟹\ud83d\x00",
        "?state=",
        f"{second}&state=x",
        "?state=x&code=\ud800",
        "?" + "a=1&" * 30,
        "?state=\ud83d",
    ):
        with pytest.raises(Refused, match="another sign-in"):
            lab.sign_ins.finish(lab.server, odd)
    with pytest.raises(Invalid, match="too long"):
        lab.sign_ins.finish(lab.server, second + "x" * 10_000)
    lab.sign_ins.finish(lab.server, f" {second}\n")
    with pytest.raises(Refused, match="took too long, or was used already"):
        lab.sign_ins.finish(lab.server, second)
    assert lab.call() == "42"


def test_a_sign_in_that_takes_too_long_ends(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    answer = lab.servers.agree(lab.sign_ins.start(lab.server, BACK).url)
    lab.clock.advance(600)
    with pytest.raises(Refused, match="took too long"):
        lab.sign_ins.finish(lab.server, answer)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"iss": "https://evil.example.net"}, "another authorization server"),
        ({"iss": f"{ISSUER}/"}, "another authorization server"),
        ({"error": "access_denied"}, "was refused there: access_denied"),
        ({"error": "<script>蟹"}, "was refused there: an error"),
        ({"code": "guessed"}, "refuses: invalid_grant"),
        ({"code": ""}, "has no code"),
    ],
)
def test_an_answer_that_is_no_consent_leaves_no_token(
    home: tuple[Home, FakeClock], changes: dict[str, str], told: str
) -> None:
    lab = Lab(*home)
    begun = lab.sign_ins.start(lab.server, BACK)
    with pytest.raises(Refused, match=told) as caught:
        lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url, **changes))
    assert caught.value.cure == "opencrab mcp login tracker"
    assert state(lab) is McpSignInState.NONE


def test_an_issuer_that_says_that_it_names_itself_must(home: tuple[Home, FakeClock]) -> None:
    named = {"authorization_response_iss_parameter_supported": True}
    lab = Lab(*home, servers=SignInServers(metadata=named))
    begun = lab.sign_ins.start(lab.server, BACK)
    with pytest.raises(Refused, match="another authorization server"):
        lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    begun = lab.sign_ins.start(lab.server, BACK)
    lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url, iss=ISSUER))
    assert state(lab) is McpSignInState.SIGNED_IN


def test_signing_out_revokes_and_forgets(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.sign_in()
    assert lab.call() == "42"
    assert lab.sign_ins.end(lab.server) == McpSignOut(had_tokens=True, revoked=True)
    assert len(lab.servers.revoked) == 2
    assert lab.facts.get(INSTALLATION_FACTS, SIGN_IN_KIND, "tracker") is None
    with pytest.raises(McpSignInNeeded):
        lab.call()
    assert lab.sign_ins.end(lab.server) == McpSignOut(had_tokens=False, revoked=False)


def test_another_process_hears_of_a_sign_out_within_a_minute(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.sign_in()
    other = lab.connections(lab.another())
    assert lab.call(other) == "42"
    lab.sign_ins.forget("tracker")
    lab.clock.advance(61)
    with pytest.raises(McpSignInNeeded):
        lab.call(other)


def test_tokens_of_another_address_or_issuer_are_not_sent(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.sign_in()
    sent = len(lab.servers.asked)
    for changes in (
        {"url": "https://tracker.example.net/other"},
        {"url": "https://evil.example.net/mcp"},
        {"oauth": {"issuer": "https://other.example.org"}},
    ):
        server = lab.server.model_validate({**lab.server.model_dump(), **changes})
        lab.servers.pages.setdefault(server.url, reply(status=401))
        with pytest.raises(McpSignInNeeded):
            lab.client.tools(server)
        assert not any(token for _, _, token in lab.servers.asked[sent:])


def test_more_rights_are_asked_of_the_owner_and_not_taken(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.sign_in()
    lab.servers.needed_scope = "tracker.write"
    for _ in range(2):
        with pytest.raises(McpSignInNeeded, match="only with more rights") as caught:
            lab.call()
        assert "tracker.write" not in f"{caught.value.message}{caught.value.cure}"
    assert state(lab) is McpSignInState.MORE_SCOPE
    lab.servers.needed_scope = ""
    assert lab.call() == "42", "what the owner allowed goes on"
    lab.servers.needed_scope = "tracker.write"
    begun = lab.sign_ins.start(lab.server, BACK)
    assert begun.scope == "tracker.read tracker.write"
    lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    assert lab.call() == "42"
    assert state(lab) is McpSignInState.SIGNED_IN


def test_the_settings_name_scope_and_client(home: tuple[Home, FakeClock]) -> None:
    oauth = {"client_id": "mine", "client_secret": "CANARY-mine", "scope": "a b"}
    lab = Lab(*home, oauth=oauth)
    lab.servers.metadata.pop("registration_endpoint")
    lab.servers.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
    lab.servers.clients["mine"] = {"redirect_uris": [BACK], "client_secret": "CANARY-mine"}
    begun = lab.sign_ins.start(lab.server, BACK)
    assert (begun.scope, "CANARY" in begun.url) == ("a b", False)
    lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    assert lab.call() == "42"
    assert "CANARY" not in f"{lab.server!r}{stored_texts(lab)}"


def test_a_server_without_registration_tells_how_to_register(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.servers.metadata.pop("registration_endpoint")
    with pytest.raises(Refused, match="registers no clients") as caught:
        lab.sign_ins.start(lab.server, BACK)
    assert BACK in str(caught.value.cure)
    assert "mcp.servers.tracker.oauth.client_id" in str(caught.value.cure)


def test_a_change_of_the_authorization_server_is_told(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.sign_in()
    other = "https://other.example.org"
    lab.servers.resource["authorization_servers"] = [other]
    moved = {
        name: str(value).replace(ISSUER, other) for name, value in lab.servers.metadata.items()
    }
    lab.servers.pages[f"{other}/.well-known/oauth-authorization-server"] = (
        SignInServers.json(
            {**moved, "code_challenge_methods_supported": ["S256"],
             "token_endpoint_auth_methods_supported": ["none"]}
        )
    )  # fmt: skip
    lab.servers.pages[f"{other}/register"] = SignInServers.json({"client_id": "there"}, 201)
    assert lab.call() == "42", "what the owner agreed to goes on"
    begun = lab.sign_ins.start(lab.server, BACK)
    assert (begun.issuer, begun.previous_issuer) == (other, ISSUER)


def test_a_server_that_lets_everybody_in_makes_no_issuer_forgotten(
    home: tuple[Home, FakeClock],
) -> None:
    """Who took a server over could refuse the token first, and then name a place of his own."""
    lab = Lab(*home)
    lab.sign_in()
    lab.servers.refuses = True
    with pytest.raises(McpSignInNeeded):
        lab.call()
    lab.sign_ins.note_success(lab.server)
    assert state(lab) is McpSignInState.NEEDED
    assert lab.stored.record(lab.server)[0].issuer == ISSUER


def test_a_sign_in_under_way_outlives_a_look_at_the_tools(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    with pytest.raises(McpSignInNeeded):
        lab.call()
    begun = lab.sign_ins.start(lab.server, BACK)
    lab.sign_ins.note_success(lab.server)
    lab.sign_ins.finish(lab.server, lab.servers.agree(begun.url))
    assert lab.call() == "42"


@pytest.mark.parametrize(
    "uri",
    ["https://evil.example.net/callback", "http://127.0.0.1:1/other", "http://localhost.evil:1/callback",
     "http://127.0.0.1:80@evil.example/callback", "javascript:alert(1)", ""],
)  # fmt: skip
def test_codes_come_back_to_this_computer_only(home: tuple[Home, FakeClock], uri: str) -> None:
    with pytest.raises(Invalid, match="not one of this computer"):
        Lab(*home).sign_ins.start(Lab(*home).server, uri)


def test_a_server_with_a_token_in_the_settings_has_no_sign_in(
    home: tuple[Home, FakeClock],
) -> None:
    lab = Lab(*home, headers={"AUTHORIZATION": "Bearer CANARY-header"})
    with pytest.raises(Refused, match="nobody signs in at tracker") as caught:
        lab.sign_ins.start(lab.server, BACK)
    assert "CANARY" not in f"{caught.value.message}{caught.value.cure}"
    with pytest.raises(Refused, match=r"without a valid token \(status 401\)"):
        lab.call()


def test_a_server_that_works_without_a_sign_in_is_not_waiting(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    with pytest.raises(McpSignInNeeded):
        lab.call()
    lab.sign_ins.note_success(lab.server)
    assert state(lab) is McpSignInState.NONE


def test_a_lost_key_is_a_sign_in_that_is_needed(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.sign_in()
    lab.vault.values.clear()
    with pytest.raises(McpSignInNeeded):
        lab.call()
    lab.sign_in()
    assert lab.call() == "42"


def test_a_code_cut_in_half_is_refused_and_not_fatal(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    begun = lab.sign_ins.start(lab.server, BACK)
    answer = lab.servers.agree(begun.url, code="x").replace("code=x", "code=x\ud83d\x00")
    with pytest.raises(Refused, match="invalid_grant"):
        lab.sign_ins.finish(lab.server, answer)


def test_a_record_of_a_newer_release_hides_no_other(home: tuple[Home, FakeClock]) -> None:
    lab = Lab(*home)
    lab.sign_in()
    newer = {"identity": lab.server.identity, "state": "half_signed_in"}
    lab.facts.commit(Document(owner=INSTALLATION_FACTS, kind=SIGN_IN_KIND, id="other", body=newer))
    found = lab.sign_ins.records([lab.server, lab.server.replaced(name="other")])
    assert set(found) == {"tracker"}
