"""Tokens are renewed once for all processes, and no crash or second process loses the newest."""

from collections.abc import Callable, Iterator
from threading import Event, Thread
from time import monotonic
from typing import Any

import pytest

from opencrab.adapters.mcp.oauth_records import Change, StoredSignIns
from opencrab.adapters.mcp.oauth_renewal import LEASE
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.sign_in import McpSignInState
from opencrab.ports.mcp import McpSignInNeeded, McpUnavailable
from tests.contract.homes import OpenHome, aws_in_memory, sqlite
from tests.unit.adapters.mcp.oauth import ISSUER, NOW, URL, Lab
from tests.unit.adapters.web.net import reply


class Killed(BaseException):
    """The process dies."""


@pytest.fixture(params=[sqlite, aws_in_memory])
def lab(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Lab]:
    """A home on which the owner has signed in."""
    open_home: OpenHome = request.param
    clock = FakeClock(NOW)
    with open_home(tmp_path, clock) as home:
        found = Lab(home, clock)
        found.sign_in()
        yield found


class Interrupted(StoredSignIns):
    """Stored sign-ins of a process to which something happens before it stores a change."""

    def __init__(self, lab: Lab, before: Callable[[], None]) -> None:
        super().__init__(lab.facts, lab.vault)
        self._before = before

    def change(self, server: McpServer, change: Change) -> None:
        self._before()
        super().change(server, change)


def soon() -> float:
    return monotonic() + 60


def renewals(lab: Lab) -> int:
    """How often a refresh token was sent."""
    return sum(form["grant_type"] == "refresh_token" for form in lab.servers.forms)


def state(lab: Lab) -> McpSignInState:
    return lab.sign_ins.records([lab.server])["tracker"].state


def test_a_token_is_renewed_before_it_ends(lab: Lab) -> None:
    assert lab.call() == "42"
    lab.clock.advance(3_560)
    assert lab.call() == "42"
    assert renewals(lab) == 0
    lab.clock.advance(15)
    assert lab.call() == "42"
    assert renewals(lab) == 1
    assert all(token for _, _, token in lab.servers.asked[-2:]), "no request without a token"


def test_a_token_that_is_refused_is_renewed_once(lab: Lab) -> None:
    assert lab.call() == "42"
    lab.servers.access.clear()
    assert lab.call() == "42"
    assert (renewals(lab), lab.servers.calls) == (1, 2)


@pytest.mark.parametrize("tokens", ["rotated", "kept"])
def test_two_processes_renew_in_turn_with_the_newest_token(lab: Lab, tokens: str) -> None:
    lab.servers.rotates = tokens == "rotated"
    other = lab.connections(lab.another())
    for _ in range(3):
        lab.clock.advance(3_600)
        assert lab.call() == "42"
        assert lab.call(other) == "42"
    assert renewals(lab) == 3
    assert state(lab) is McpSignInState.SIGNED_IN


def test_threads_of_two_processes_renew_once(lab: Lab) -> None:
    others = [lab.another(pause=lambda _: Event().wait(0.01)) for _ in range(2)]
    lab.clock.advance(3_600)
    found = list[str]()

    def ask(number: int) -> None:
        found.append(others[number % 2].token(lab.server, soon()))

    threads = [Thread(target=ask, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert (len(found), len(set(found)), renewals(lab)) == (8, 1, 1)


def test_a_process_that_dies_before_its_request_holds_nobody_up_for_long(lab: Lab) -> None:
    lab.clock.advance(3_600)
    record, _ = lab.stored.record(lab.server)
    leased = record.replaced(leased_until=lab.clock.now() + LEASE)
    assert lab.stored.lease(lab.server, record, leased)
    assert lab.call() == "42"
    assert renewals(lab) == 1
    assert lab.clock.now() - record.since >= LEASE  # type: ignore[operator]


def test_who_waits_for_a_lease_too_long_says_so(lab: Lab) -> None:
    lab.clock.advance(3_600)
    record, _ = lab.stored.record(lab.server)
    leased = record.replaced(leased_until=lab.clock.now() + LEASE)
    lab.stored.lease(lab.server, record, leased)
    with pytest.raises(McpUnavailable, match="another process is renewing") as caught:
        lab.sign_ins.token(lab.server, 0.0)
    assert not caught.value.sent


def test_a_process_that_dies_with_the_answer_leaves_the_owner_a_sign_in(lab: Lab) -> None:
    """The refresh token is used up and the new one lost: that is told, and nothing hangs."""
    lab.clock.advance(3_600)

    def die() -> None:
        raise Killed

    dying = lab.another(Interrupted(lab, die))
    with pytest.raises(Killed):
        dying.token(lab.server, soon())
    with pytest.raises(McpSignInNeeded):
        lab.call()
    assert state(lab) is McpSignInState.NEEDED
    lab.sign_in()
    assert lab.call() == "42"


def test_a_renewal_that_began_is_not_cut_off(lab: Lab) -> None:
    """The refresh token is used up with the request, however little time its call has left."""
    lab.clock.advance(3_600)
    assert lab.sign_ins.token(lab.server, monotonic()) in lab.servers.access
    assert lab.call() == "42"
    assert renewals(lab) == 1


def test_the_end_of_a_session_renews_nothing(lab: Lab) -> None:
    lab.servers.lets_in = True
    assert lab.call() == "42"
    lab.clock.advance(3_600)
    lab.client.close()
    method, _, token = lab.servers.asked[-1]
    assert (method, bool(token), renewals(lab)) == ("DELETE", True, 0)


def test_a_sign_in_is_kept_that_was_made_while_a_call_was_refused(lab: Lab) -> None:
    lab.servers.refresh.clear()
    lab.servers.access.clear()
    with pytest.raises(McpSignInNeeded):
        lab.call()
    slow = lab.connections(lab.another(Interrupted(lab, lab.sign_in)))
    with pytest.raises(McpSignInNeeded):
        lab.call(slow)
    assert state(lab) is McpSignInState.SIGNED_IN
    assert lab.call() == "42"


def test_the_store_failing_for_a_moment_loses_no_token(lab: Lab) -> None:
    lab.clock.advance(3_600)
    failures = iter((True, True))

    def shake() -> None:
        if next(failures, False):
            raise Unavailable("the table is busy")

    failing = lab.another(Interrupted(lab, shake))
    assert failing.token(lab.server, soon()) in lab.servers.access
    assert lab.call() == "42"
    assert renewals(lab) == 1


def test_one_that_was_late_still_stores_the_newest_token(lab: Lab) -> None:
    """A paused process renewed; another, whose lease came after, was refused as a thief."""
    lab.clock.advance(3_600)

    def late() -> None:
        lab.clock.advance(LEASE.total_seconds() + 1)
        kept = dict(lab.servers.refresh), dict(lab.servers.access)
        with pytest.raises(McpSignInNeeded):
            lab.call()
        lab.servers.refresh, lab.servers.access = kept

    slow = lab.another(Interrupted(lab, late))
    assert slow.token(lab.server, soon())
    assert state(lab) is McpSignInState.SIGNED_IN
    assert lab.call() == "42"


def test_a_late_renewal_does_not_replace_a_new_sign_in_nor_undo_a_sign_out(lab: Lab) -> None:
    lab.clock.advance(3_600)
    slow = lab.another(Interrupted(lab, lab.sign_in))
    assert slow.token(lab.server, soon()) in lab.servers.access
    lab.clock.advance(3_600)
    assert lab.servers.revoked == []
    slow = lab.another(Interrupted(lab, lambda: lab.sign_ins.forget("tracker")))
    assert slow.token(lab.server, soon()) == ""
    assert (len(lab.servers.revoked), lab.servers.access) == (2, {}), "a token outlives it"
    assert lab.sign_ins.records([lab.server]) == {}


def test_a_refused_renewal_waits_for_the_owner_and_asks_no_more(lab: Lab) -> None:
    lab.servers.refresh.clear()
    lab.clock.advance(3_600)
    lab.servers.access.clear()
    for _ in range(3):
        with pytest.raises(McpSignInNeeded):
            lab.call()
    assert renewals(lab) == 1
    assert state(lab) is McpSignInState.NEEDED


def test_a_refusal_with_status_200_waits_for_the_owner(lab: Lab) -> None:
    lab.clock.advance(3_600)
    lab.servers.access.clear()
    lab.servers.pages[f"{ISSUER}/token"] = lab.servers.json({"error": "bad_refresh_token"})
    with pytest.raises(McpSignInNeeded):
        lab.call()
    assert state(lab) is McpSignInState.NEEDED


def test_an_authorization_server_that_is_down_is_tried_again(lab: Lab) -> None:
    lab.servers.down = True
    lab.clock.advance(3_575)
    assert lab.call() == "42", "the token is good for some seconds"
    lab.clock.advance(30)
    with pytest.raises(McpUnavailable, match="authorization server of the MCP server tracker"):
        lab.call()
    assert state(lab) is McpSignInState.SIGNED_IN
    lab.servers.down = False
    assert lab.call() == "42"


@pytest.mark.parametrize("seconds", [0, -5, 1])
def test_tokens_that_end_at_once_are_used_once_each(lab: Lab, seconds: int) -> None:
    lab.servers.seconds = seconds
    lab.clock.advance(3_600)
    assert lab.call() == "42"


def test_a_server_that_refuses_every_token_is_asked_three_times_at_most(lab: Lab) -> None:
    assert lab.call() == "42"
    before = len(lab.servers.asked)
    lab.servers.refuses = True
    with pytest.raises(McpSignInNeeded):
        lab.call()
    assert len(lab.servers.asked) - before <= 6
    assert state(lab) is McpSignInState.NEEDED


def test_without_a_refresh_token_the_end_is_shown(lab: Lab) -> None:
    lab.servers.gives_refresh = False
    lab.sign_in()
    assert state(lab) is McpSignInState.SIGNED_IN
    lab.clock.advance(3_600)
    assert state(lab) is McpSignInState.NEEDED
    lab.servers.access.clear()
    with pytest.raises(McpSignInNeeded):
        lab.call()


def test_an_answer_that_a_server_refuses_does_not_end_the_call_that_it_works_on(lab: Lab) -> None:
    (tool,) = lab.client.tools(lab.server)
    asks = {"id": "a0", "method": "roots/list"}
    changed = {"method": "notifications/tools/list_changed"}
    lab.servers.before_answer = [asks, changed]
    lab.servers.refuses_answers = lab.servers.down = True
    assert lab.client.call(lab.server, "add", tool.fingerprint, {}).text == "42"
    lab.servers.before_answer = []
    lab.servers.refuses_answers = lab.servers.down = False
    before = len(lab.servers.asked)
    assert lab.client.call(lab.server, "add", tool.fingerprint, {}).text == "42"
    assert len(lab.servers.asked) - before >= 2, "the tools were not listed again"


@pytest.mark.parametrize("cut", ["flood", "end"])
def test_what_was_not_read_may_have_told_of_a_change(lab: Lab, cut: str) -> None:
    (tool,) = lab.client.tools(lab.server)
    page = b"x" * 5_000_000 if cut == "flood" else b""
    lab.servers.called = reply(page, "text/event-stream")
    with pytest.raises(McpUnavailable) as caught:
        lab.client.call(lab.server, "add", tool.fingerprint, {})
    assert caught.value.sent
    lab.servers.called = None
    before = len(lab.servers.asked)
    assert lab.client.call(lab.server, "add", tool.fingerprint, {}).text == "42"
    assert len(lab.servers.asked) - before == 2


def test_a_call_that_waits_for_a_token_in_vain_was_not_made(lab: Lab) -> None:
    (tool,) = lab.client.tools(lab.server)
    lab.servers.access.clear()
    lab.servers.pages[f"{ISSUER}/token"] = reply(b"x" * 300_000)
    with pytest.raises(McpUnavailable, match="more than 262144 bytes") as caught:
        lab.client.call(lab.server, "add", tool.fingerprint, {})
    assert not caught.value.sent
    assert lab.servers.calls == 0


def test_a_session_of_nobody_ends_where_the_owner_is_needed(lab: Lab) -> None:
    """A server that lets everybody in and asks for a token later binds its session to it."""
    lab.servers.lets_in = True
    assert lab.call() == "42"
    began = [token for _, url, token in lab.servers.asked if url == URL]
    lab.servers.asked.clear()
    assert began[0] == ""
    assert lab.servers.sessions == {"s1": "", "s2": began[-1]}
    lab.client.close()
    client = lab.connections(lab.sign_ins)
    assert lab.call(client) == "42"


def test_a_list_that_failed_is_asked_for_again(lab: Lab) -> None:
    (tool,) = lab.client.tools(lab.server)
    lab.servers.pages[URL] = reply(status=503)
    with pytest.raises(McpUnavailable):
        lab.client.tools(lab.server)
    lab.servers.pages.clear()
    before = len(lab.servers.asked)
    assert lab.client.call(lab.server, "add", tool.fingerprint, {}).text == "42"
    assert len(lab.servers.asked) - before == 2
