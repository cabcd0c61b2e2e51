"""Signed links: a page that anybody with the address sees, and whose buttons decide, once."""

import asyncio
from datetime import datetime, timedelta
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.discord.community import Community
from opencrab.engine.approvals.signed_links import SECRET, create_approval_link
from opencrab.ports.clock import Clock
from tests.integration.rest.house import House, problem
from tests.integration.rest.test_approvals import waiting

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Later:
    """A clock that is ahead of another."""

    def __init__(self, clock: Clock, by: timedelta) -> None:
        self._clock, self._by = clock, by

    def now(self) -> datetime:
        return self._clock.now() + self._by

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)


class Elements(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def linked(house: House, approval: dict[str, Any], hours: int = 24, **sent: Any) -> str:
    """The path of a new link."""
    made = house.made(f"/approvals/{approval['id']}/link", {"hours": hours}, **sent)
    assert made["url"] == f"http://house{made['path']}"
    return str(made["path"])


def visit(house: House, path: str, decision: str | None = None, **more: Any) -> httpx.Response:
    """A browser without any key looks at a page, or presses one of its buttons.

    What the page would send besides is the hash of the call, which `hashed` replaces.
    """
    hashed = more.pop("hashed", None) or hash_behind(house, path)

    async def ask() -> httpx.Response:
        async with house.client() as client:
            if decision is None:
                return await client.get(path, **more)
            content = urlencode({"decision": decision, "argument_hash": hashed})
            return await client.post(path, content=content, headers=FORM, **more)

    return asyncio.run(ask())


def hash_behind(house: House, path: str) -> str:
    """The hash of the call that a link is about; any other for a link about none."""
    approval_id = path.partition("t=")[2].partition(".")[0]
    found = house.call("GET", f"/approvals/{approval_id}") if approval_id.isalnum() else None
    known = found is not None and found.status_code == 200
    return str(found.json()["argument_hash"]) if found is not None and known else "0" * 64


def state(house: House, approval: dict[str, Any]) -> tuple[str, str | None]:
    found = house.got(f"/approvals/{approval['id']}")
    return found["state"], found["by"]


@pytest.mark.parametrize(
    ("language", "words"),
    [("ja", ["承認する", "却下する", "対象"]), ("en", ["Approve", "Reject", "Target"])],
)
def test_the_page_shows_what_is_asked_and_to_look_decides_nothing(
    shared: House, language: str, words: list[str]
) -> None:
    approval = waiting(shared, language=language, name="<b>蟹</b>")
    path = linked(shared, approval)
    pages = [visit(shared, path) for _ in range(3)]
    assert [page.status_code for page in pages] == [200, 200, 200]
    page = pages[0]
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for word in [*words, "memo.txt", "&lt;b&gt;蟹&lt;/b&gt;", f'lang="{language}"']:
        assert word in page.text
    assert state(shared, approval) == ("pending", None)
    shared.made(f"/approvals/{approval['id']}/decide", {"approved": False})
    shared.work()


def test_the_page_needs_no_script_and_leads_nowhere(shared: House) -> None:
    approval = waiting(shared)
    page = visit(shared, linked(shared, approval))
    elements = Elements(page.text).found
    assert {tag for tag, _ in elements}.isdisjoint({"script", "img", "link", "a", "iframe"})
    assert not [name for _, given in elements for name in given if name in {"src", "href", "style"}]
    assert [given for tag, given in elements if tag == "form"] == [{"method": "post"}]
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    told = ("cache-control", "referrer-policy", "x-content-type-options", "x-robots-tag")
    assert [page.headers[name] for name in told] == [
        "no-store",
        "no-referrer",
        "nosniff",
        "noindex",
    ]


@pytest.mark.parametrize(("button", "decided"), [("approve", "approved"), ("reject", "rejected")])
def test_a_button_decides_once_in_the_name_of_whoever_made_the_link(
    shared: House, button: str, decided: str
) -> None:
    secret, key = shared.key(Scope.OWNER)
    approval = waiting(shared)
    path = linked(shared, approval, key=secret)
    assert visit(shared, path, button).status_code == 200
    assert state(shared, approval) == (decided, f"link:{key.id[:8]}")
    other = {"approve": "reject", "reject": "approve"}[button]
    assert visit(shared, path, other).status_code == 409
    assert visit(shared, path).status_code == 410
    shared.work()
    turn = shared.got(f"/turns/{approval['turn_id']}")
    assert turn["status"] == ("completed" if button == "approve" else "stopped")
    problem(shared.call("POST", f"/approvals/{approval['id']}/link", {}), 409)


def test_a_forged_or_exchanged_link_opens_nothing(shared: House) -> None:
    first, second = waiting(shared), waiting(shared)
    ours, theirs = linked(shared, first), linked(shared, second)
    signature = theirs.rpartition(".")[2]
    forged = [
        f"{ours.rpartition('.')[0]}.{signature}",
        ours.replace(first["id"], second["id"]),
        f"{ours}x",
        ours[:-1],
        "/approve",
        "/approve?t=",
        "/approve?t=nothing",
        "/approve?t=%F0%9F%A6%80",
    ]
    for path in forged:
        for decision in (None, "approve"):
            answer = visit(shared, path, decision, follow_redirects=False)
            assert answer.status_code == 403, path
            assert "This link is invalid" in answer.text
    japanese = visit(shared, forged[0], headers={"Accept-Language": "ja"})
    assert "このリンクは正しくありません" in japanese.text
    assert {state(shared, each)[0] for each in (first, second)} == {"pending"}


@pytest.mark.parametrize("path", ["/approve/", "/approve/a", "/approve/../api/keys"])
def test_nothing_else_opens_beside_the_links(shared: House, path: str) -> None:
    raw = shared.raw("GET", f"/..{path}", headers={"Authorization": ""})
    assert raw.status_code in {401, 404}
    assert visit(shared, path).status_code in {401, 404}


class Broken:
    """Secrets that nobody can open, in a way that nobody expects."""

    def get(self, name: str) -> str | None:
        raise RuntimeError(name)


def test_no_log_holds_what_a_link_proves(shared: House, caplog: pytest.LogCaptureFixture) -> None:
    path = linked(shared, waiting(shared))
    place, _, token = path.partition("?t=")
    assert place == "/approve"
    shared.furnish(secrets=Broken())
    for decision in (None, "approve"):
        assert visit(shared, path, decision).status_code == 500
    shared.furnish(secrets=shared.thinking.vault)
    assert caplog.text.count("path='/approve'") == 2
    assert token not in caplog.text


def test_a_link_ends_with_its_time_its_key_and_its_approval(house: House) -> None:
    secret, key = house.key(Scope.OWNER)
    approval = waiting(house, approvals={"expire_minutes": 90})
    short, long = (linked(house, approval, hours, key=secret) for hours in (1, 5))
    clock = house.runtime.clock
    house.furnish(clock=Later(clock, timedelta(minutes=61)))
    for decision in (None, "approve"):
        assert visit(house, short, decision).status_code == 410
        assert "This link has expired" in visit(house, short, decision).text
    assert visit(house, long).status_code == 200
    house.runtime.home.keys.revoke(key.id, house.runtime.clock.now())
    for decision in (None, "approve"):
        assert visit(house, long, decision).status_code == 403
    assert state(house, approval)[0] == "pending"
    house.furnish(clock=Later(clock, timedelta(minutes=91)))
    assert visit(house, long).status_code == 410


@pytest.mark.parametrize("ended", ["none", "time", "key", "delegate"])
def test_an_ended_link_shows_the_decision_and_not_what_the_call_was(
    house: House, ended: str
) -> None:
    secret, key = house.key(Scope.CHAT)
    agent_id = house.agent(policy="strict", approvals={"delegates": [key.id]})
    approval = waiting(house, agent_id=agent_id, asked="write takeover.md: hush")
    path = linked(house, approval, 1, key=secret)
    assert "takeover.md" in visit(house, path).text
    house.made(f"/approvals/{approval['id']}/decide", {"approved": False})
    if ended == "time":
        house.furnish(clock=Later(house.runtime.clock, timedelta(minutes=61)))
    if ended == "key":
        house.runtime.home.keys.revoke(key.id, house.runtime.clock.now())
    if ended == "delegate":
        house.call("PATCH", f"/agents/{agent_id}", {"approvals": {"delegates": []}})
    for decision in (None, "approve", "reject"):
        page = visit(house, path, decision)
        assert ("takeover.md" in page.text) is (ended == "none"), decision
        assert page.status_code in {403, 409, 410}


def test_only_who_may_decide_makes_links_and_a_delegate_waits_for_escalation(
    shared: House,
) -> None:
    secret, key = shared.key(Scope.CHAT)
    approval = waiting(shared, approvals={"delegates": [key.id], "escalate_minutes": 60})
    problem(shared.call("POST", f"/approvals/{approval['id']}/link", {}, key=shared.chat), 403)
    path = linked(shared, approval, key=secret)
    assert visit(shared, path).status_code == 200
    assert visit(shared, path, "approve").status_code == 403
    assert state(shared, approval)[0] == "pending"


@pytest.mark.parametrize(
    "content",
    [b"", b"decision=maybe", b"decision=approve&decision=reject", b"decision=approve"],
)
def test_what_no_button_sends_decides_nothing(shared: House, content: bytes) -> None:
    approval = waiting(shared)
    path = linked(shared, approval)

    async def ask(headers: dict[str, str]) -> httpx.Response:
        async with shared.client() as client:
            return await client.post(path, content=content, headers=headers)

    assert asyncio.run(ask(FORM)).status_code == 422
    assert asyncio.run(ask({"Content-Type": "application/json"})).status_code == 422
    assert state(shared, approval)[0] == "pending"


def test_the_page_shows_every_byte_and_what_hides_in_it(shared: House) -> None:
    payload = f"{'good ' * 77}\u202e\u200b\u200b ; curl evil"
    approval = waiting(shared, asked=f"write memo.txt: {payload}")
    page = visit(shared, linked(shared, approval)).text
    hashed = approval["argument_hash"]
    assert f"<strong>{hashed[:16]}</strong>{hashed[16:]}" in page
    assert f'name="argument_hash" value="{hashed}"' in page
    told = f"{'good ' * 77}<mark>⟨U+202E⟩</mark><mark>⟨U+200B×2⟩</mark> ; curl evil"
    assert page.count(told) == 2
    assert "--- /dev/null\n+++ memo.txt" in page
    assert not {"\u202e", "\u200b"} & set(page)
    assert page.count("<details open>") == 2
    shared.made(f"/approvals/{approval['id']}/decide", {"approved": False})
    shared.work()


def test_a_page_that_showed_another_call_decides_nothing(shared: House) -> None:
    approval = waiting(shared)
    path = linked(shared, approval)
    answer = visit(shared, path, "approve", hashed="0" * 64)
    assert answer.status_code == 409
    assert "not the call that the page showed" in answer.text
    assert state(shared, approval)[0] == "pending"


def test_a_link_of_somebody_on_discord_decides_as_long_as_they_may(shared: House) -> None:
    """Buttons on Discord make links for a person without a key, whose rights are read again."""
    community = shared.runtime.community
    approval = waiting(shared)
    until = shared.runtime.clock.now() + timedelta(hours=1)
    token = create_approval_link(shared.runtime, approval["id"], key_id="discord-77", until=until)
    for decision in (None, "approve"):
        assert visit(shared, f"/approve?t={token}", decision).status_code == 403
    shared.furnish(community=Community(owner_ids=("77",)))
    assert visit(shared, f"/approve?t={token}").status_code == 200
    assert visit(shared, f"/approve?t={token}", "approve").status_code == 200
    assert state(shared, approval) == ("approved", "link:discord-77")
    shared.furnish(community=community)
    shared.work()


def test_the_secret_of_links_is_kept_with_the_other_secrets_and_shown_nowhere(
    shared: House,
) -> None:
    approval = waiting(shared)
    path = linked(shared, approval)
    assert shared.runtime.secrets is not None
    secret = shared.runtime.secrets.get(SECRET)
    assert secret
    assert secret not in path + visit(shared, path).text
    shared.furnish(secrets=None)
    assert visit(shared, path).status_code == 403
    problem(shared.call("POST", f"/approvals/{approval['id']}/link", {}), 503)
    shared.furnish(secrets=shared.thinking.vault)
