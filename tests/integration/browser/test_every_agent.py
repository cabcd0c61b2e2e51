"""Lists over all agents in Chromium: with none, with one, and with many, of which few are read."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.routes import settle, watch_requests
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

PATHS = ("/goals", "/skills", "/memory", "/schedules", "/heartbeats")
MANY = 45


def open_path(installation: Installation, window: Browser, path: str) -> None:
    installation.go(window, path)
    settle(window)


def read_rows(window: Browser) -> int:
    """How many agents were read."""
    return window.count(".every-agent li .reading")


def test_every_list_works_with_no_agent_one_and_many(
    installation: Installation, english: Browser, japanese: Browser
) -> None:
    for window in (english, japanese):
        watch_requests(window)
        installation.sign_in(window)
        for path in PATHS:
            open_path(installation, window, path)
            window.shown("main .empty")
    first = installation.agent("Only 一人")
    for window in (english, japanese):
        for path in PATHS:
            open_path(installation, window, path)
            assert window.count(".every-agent") == 0
            assert window.run("return document.querySelector('main select').value") == first
    for number in range(MANY):
        installation.agent(f"<b>蟹</b> {number}")
    installation.server.call("POST", f"/agents/{first}/goals", {"name": "Watch <i>tides</i> 潮"})
    for window in (english, japanese):
        for path in PATHS:
            open_path(installation, window, path)
            assert window.count(".every-agent > ul > li") == MANY + 1
            # What nobody sees is not read.
            assert 0 < read_rows(window) < MANY
            window.type(".every-agent input[type=search]", "only")
            window.until(
                lambda w=window: w.count(".every-agent > ul > li:not([hidden])") == 1,
                "not found by name",
            )
            settle(window)
        open_path(installation, window, "/goals")
        window.type(".every-agent input[type=search]", "一人")
        window.says("Watch <i>tides</i> 潮", ".every-agent")
        window.click(".every-agent > ul > li:not([hidden]) a")
        window.says("Only 一人", "h1")
        assert window.run("return location.pathname") == f"/agents/{first}/goals"
        nothing_was_forbidden(window)


def test_one_agent_and_all_are_chosen_in_one_list(
    installation: Installation, english: Browser
) -> None:
    agents = installation.server.call("GET", "/agents?limit=200")["items"]
    chosen = agents[0]["id"]
    watch_requests(english)
    installation.sign_in(english)
    for path, shown in (("/goals", "goals"), ("/memory", "memory")):
        open_path(installation, english, path)
        installation.choose(english, "main .filters select", chosen)
        place = f"/agents/{chosen}/{shown}"
        english.until(
            lambda place=place: english.run("return location.pathname") == place, "no page of it"
        )
        settle(english)
        installation.choose(english, "main .filters select", "")
        english.until(
            lambda path=path: english.run("return location.pathname") == path, "no page of all"
        )
