"""Signing in by a link, and what is left of the work when a key ends, in Chromium."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.webdriver import Browser
from tests.running import KEY

pytestmark = pytest.mark.timeout(300)

ENTER = "\ue007"
REFUSED = {
    "en": "This sign-in link is wrong, used up or expired",
    "ja": "このサインイン用リンクは使えません",
}
DRAFT = "half a thought 書きかけ"


def link(installation: Installation, path: str = "/") -> str:
    """A new sign-in link to one of the page's addresses."""
    code = installation.server.call("POST", "/sign-in/codes")["code"]
    return f"{installation.url.removesuffix('/')}{path}#sign-in={code}"


def anew(window: Browser, url: str) -> None:
    """Open an address as in a new tab: nobody is signed in."""
    window.run("sessionStorage.clear()")
    window.open("about:blank")
    window.open(url)


@pytest.mark.parametrize("path", ["/", "/approvals?x=1"])
def test_a_link_signs_in_once_and_leaves_no_trace(
    installation: Installation, window: Browser, path: str
) -> None:
    window.open(installation.url)
    window.shown(".brand")
    url = link(installation, path)
    anew(window, url)
    window.shown("body.application main h1")
    window.shown("main h1")
    assert window.run("return location.pathname + location.search + location.hash") == path
    assert KEY in window.run("return Object.values(sessionStorage)")
    code = url.partition("=")[2] if path == "/" else url.rpartition("=")[2]
    window.call("POST", "/back")
    window.call("POST", "/forward")
    window.shown("body.application main h1")
    seen = "return location.href + JSON.stringify(sessionStorage) + JSON.stringify(localStorage)"
    assert code not in window.run(seen + " + document.cookie + document.referrer")
    fetched = "return performance.getEntriesByType('resource').map((each) => each.name).join()"
    assert code not in window.run(fetched)
    anew(window, url)
    window.says(REFUSED[window.run("return document.documentElement.lang")], ".problem")
    assert window.count("#key") == 1
    window.logged()


def test_a_link_in_a_tab_that_shows_the_page_signs_in_as_well(
    installation: Installation, window: Browser
) -> None:
    window.open(installation.url)
    window.run("sessionStorage.clear()")
    window.call("POST", "/refresh")
    window.shown("#key")
    window.run("location.href = arguments[0]", link(installation))
    window.shown("body.application main h1")
    # One that is used up does not end what works.
    window.run("location.hash = 'sign-in=nonsense'")
    window.until(lambda: not window.run("return location.hash"), "the code stays in the address")
    window.shown("body.application main h1")
    window.logged()


def test_signing_in_stays_where_one_was(installation: Installation, window: Browser) -> None:
    window.open(installation.url)
    anew(window, f"{installation.url}approvals")
    window.type("#key", f"{KEY}{ENTER}")
    window.shown("#view-approvals")
    assert window.run("return location.pathname") == "/approvals"


def test_what_was_typed_survives_the_end_of_the_key_but_not_signing_out(
    installation: Installation, window: Browser
) -> None:
    installation.agent("Other")
    agent = installation.agent("Listener")
    made = installation.server.call("POST", "/keys", {"name": "short", "scope": "chat"})
    installation.sign_in(window, made["secret"], at="/chat")
    installation.choose(window, "#agent", agent)
    window.shown(".lines > .empty")
    window.type("#message", DRAFT)
    installation.server.call("DELETE", f"/keys/{made['id']}")
    window.type("#message", ENTER)
    window.shown("#key")
    assert made["secret"] not in window.run("return Object.values(sessionStorage)")
    window.type("#key", f"{KEY}{ENTER}")
    value = "return document.querySelector('#message')?.value"
    window.until(lambda: window.run(value) == DRAFT, "what was typed")
    assert window.run("return document.querySelector('#agent').value") == agent
    window.type("#message", ENTER)
    window.until(lambda: window.count(".message.theirs") == 1, "no answer")
    window.call("POST", "/refresh")
    window.shown(".message.theirs")
    assert window.run(value) == "", "what was accepted is not typed again"
    window.type("#message", DRAFT)
    window.click("header > button:last-child")
    window.shown("#key")
    assert window.run("return sessionStorage.length") == 0
    window.logged()
