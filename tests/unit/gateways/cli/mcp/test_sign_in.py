"""Signing in at MCP servers at the terminal: shown, agreed to in a browser, or pasted."""

import json
import threading
import webbrowser
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import httpx
import pytest

from tests.unit.gateways.cli.server import Program, Server, ok, problem

PLACE = "/mcp/servers/tracker/sign-in"
SIGNED_IN = {"state": "signed_in", "issuer": "https://login.example.org"}


def begun(uri: str = "http://127.0.0.1:1/callback", **changes: Any) -> dict[str, Any]:
    """What a server answers to the begin."""
    return {
        "url": f"https://login.example.org/authorize?state=s1&redirect_uri={uri}",
        "issuer": "https://login.example.org",
        "scope": "tracker.read",
        "previous_issuer": "",
        "expires_at": "2026-11-30T12:10:00Z",
        **changes,
    }


class Browser:
    """Goes where it is sent once a sign-in begins; before that it is sent astray."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer the begin, and let the browser come back a moment later."""
        uri = json.loads(request.content)["redirect_uri"]
        threading.Thread(target=self._go, args=(uri,), daemon=True).start()
        return ok(begun(uri))

    def _go(self, uri: str) -> None:
        root = uri.removesuffix("/callback")
        self._get(f"{root}/")
        self._get(f"{uri}?state=<script>alert(1)</script>&code=evil")
        self._get(f"{uri}?state=s1&state=s1&code=evil")
        self._get(f"{uri}?state=s1&code=evil", host="evil.example.net")
        for _ in range(100):
            if "close this window" in self._get(f"{uri}?code=c1&state=s1"):
                break

    def _get(self, url: str, host: str = "") -> str:
        try:
            with urlopen(Request(url, headers={"Host": host} if host else {}), timeout=10) as got:  # noqa: S310
                page = got.read().decode()
        except HTTPError as error:
            page = error.read().decode()
        except OSError:  # nobody listens any more
            page = ""
        self.pages.append(page)
        return str(page)


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "signed in at https://login.example.org"), ("ja", "でサインインしました")],
)
def test_the_browser_comes_back_to_this_computer(
    program: Program, server: Server, language: str, told: str
) -> None:
    browser = Browser()
    server.on(f"POST {PLACE}", browser.answer)
    server.on(f"PUT {PLACE}", ok(SIGNED_IN))
    said = program.run("--language", language, "mcp", "login", "tracker")
    assert said.code == 0, said.err
    assert told in said.out
    assert "https://login.example.org/authorize?state=s1" in said.err
    assert "tracker.read" in said.err
    (sent,) = server.sent("PUT")
    assert sent["answer"].endswith("/callback?code=c1&state=s1")
    assert not any("<script>" in page or "evil" in page for page in browser.pages)


class Agreed(webbrowser.BaseBrowser):
    """A browser of somebody who agreed long ago: it is sent back before it has opened.

    It opens nothing else.
    """

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:  # noqa: FBT001, FBT002
        asked = parse_qs(urlsplit(url).query)
        if asked.get("state") != ["theirs", "s1"]:
            return False
        with urlopen(f"{asked['redirect_uri'][0]}?code=c1&state=s1", timeout=10) as got:  # noqa: S310
            return bool(got.read())


def test_an_answer_that_is_there_at_once_is_not_missed(program: Program, server: Server) -> None:
    webbrowser.register("agreed", None, Agreed("agreed"), preferred=True)

    def begin(request: httpx.Request) -> httpx.Response:
        url = begun(json.loads(request.content)["redirect_uri"])["url"]
        # An authorization server's address may have a parameter of this name already.
        return ok(begun(url=url.replace("?state", "?state=theirs&state")))

    server.on(f"POST {PLACE}", begin)
    server.on(f"PUT {PLACE}", ok(SIGNED_IN))
    said = program.sit("mcp", "login", "tracker")
    assert said.code == 0, said.err
    (sent,) = server.sent("PUT")
    assert sent["answer"].endswith("/callback?code=c1&state=s1")


@pytest.mark.parametrize("args", [(), ("--port", "50123")])
def test_an_address_is_pasted(program: Program, server: Server, args: tuple[str, ...]) -> None:
    server.on(f"POST {PLACE}", ok(begun()))
    server.on(f"PUT {PLACE}", ok(SIGNED_IN))
    said = program.run(
        "mcp", "login", "tracker", "--paste", "--json", *args, typed="http://x?code=c\n"
    )
    assert said.json == SIGNED_IN
    assert server.sent("PUT") == [{"answer": "http://x?code=c"}]
    (asked,) = server.sent("POST")
    port = args[1] if args else "33418"
    assert asked == {"redirect_uri": f"http://127.0.0.1:{port}/callback"}


def test_a_person_is_asked_for_the_address(program: Program, server: Server) -> None:
    server.on(f"POST {PLACE}", ok(begun()))
    server.on(f"PUT {PLACE}", ok(SIGNED_IN))
    said = program.sit("mcp", "login", "tracker", "--paste", typed=["", "http://x?code=c"])
    assert said.code == 0, said.err
    assert server.sent("PUT") == [{"answer": "http://x?code=c"}]


def test_another_place_than_before_is_asked_about(program: Program, server: Server) -> None:
    server.on(f"POST {PLACE}", ok(begun(previous_issuer="https://old.example.org")))
    server.on(f"PUT {PLACE}", ok(SIGNED_IN))
    args = ("mcp", "login", "tracker", "--paste")
    script = program.run(*args, typed="http://x?code=c\n")
    assert script.code == 2
    assert "--yes" in script.err
    left = program.sit(*args, typed=["n"])
    assert left.code != 0
    assert "https://old.example.org" in left.err
    assert server.sent("PUT") == []
    assert program.sit(*args, typed=["y", "http://x?code=c"]).code == 0
    assert program.run(*args, "--yes", typed="http://x?code=c\n").code == 0


@pytest.mark.parametrize(("language", "told"), [("en", "Agree only if the two"), ("ja", "2つが")])
def test_a_page_of_somebody_else_is_told_of(
    program: Program, server: Server, language: str, told: str
) -> None:
    """Another's page and the own tokens' address: what is agreed to there is taken here."""
    server.on(f"PUT {PLACE}", ok(SIGNED_IN))
    for issuer, is_told in (("https://evil.example.net", True), (SIGNED_IN["issuer"], False)):
        server.on(f"POST {PLACE}", ok(begun(issuer=issuer)))
        args = ("--language", language, "mcp", "login", "tracker", "--paste")
        said = program.run(*args, typed="http://x?code=c\n")
        assert ("login.example.org" in said.err, told in said.err) == (True, is_told)


def test_what_the_server_refuses_is_said_with_its_cure(program: Program, server: Server) -> None:
    why = problem(403, "nobody signs in at tracker", cure="look at it")
    server.on(f"POST {PLACE}", why)
    said = program.run("mcp", "login", "tracker")
    assert said.code != 0
    assert "nobody signs in at tracker" in said.err
    assert "look at it" in said.err


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_cannot_be_is_refused(program: Program, server: Server, port: str) -> None:
    said = program.run("mcp", "login", "tracker", "--port", port)
    assert said.code != 0
    assert server.sent("POST") == []
    assert "--port" in said.err


@pytest.mark.parametrize(
    ("language", "ended", "told"),
    [
        ("en", (True, True), "forgotten and revoked"),
        ("en", (True, False), "were not revoked there"),
        ("en", (False, False), "nobody was signed in at tracker"),
        ("ja", (True, True), "無効になりました"),
        ("ja", (True, False), "相手側では無効にしていません"),
        ("ja", (False, False), "tracker にはサインインしていません"),
    ],
)
def test_signing_out_says_what_was_done(
    program: Program, server: Server, *, language: str, ended: tuple[bool, bool], told: str
) -> None:
    server.on(f"DELETE {PLACE}", ok(dict(zip(("had_tokens", "revoked"), ended, strict=True))))
    said = program.run("--language", language, "mcp", "logout", "tracker")
    assert told in said.out


@pytest.mark.parametrize(
    ("language", "state", "told"),
    [
        ("en", "needed", "waits for your sign-in: opencrab mcp login tracker"),
        ("en", "more_scope", "wants more rights (tracker.write): opencrab mcp login tracker"),
        ("en", "signed_in", "address"),
        ("ja", "needed", "サインインを待っています: opencrab mcp login tracker"),
        ("ja", "more_scope", "権限の追加を求めています"),
    ],
)
def test_the_list_says_who_waits(
    program: Program, server: Server, language: str, state: str, told: str
) -> None:
    sign_in = {"state": state, "issuer": "", "scope": "", "wanted_scope": "tracker.write"}
    tracker = {"name": "tracker", "kind": "url", "agents": [], "trusted": 0, "problem": ""}
    server.on("GET /mcp/servers", ok({"items": [{**tracker, "cure": "", "sign_in": sign_in}]}))
    assert told in program.run("--language", language, "mcp", "list").out
