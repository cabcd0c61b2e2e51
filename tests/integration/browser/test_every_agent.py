"""Lists over all agents in Chromium: with none, with one, and with many, of which few are read."""

from collections.abc import Iterator

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.routes import go_to, move_to, settle, watch_requests
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

PATHS = ("/goals", "/skills", "/memory", "/schedules", "/heartbeats")
MANY = 45


def open_each(installation: Installation, window: Browser) -> Iterator[str]:
    """Open each list, the first by its address, which reads all agents anew; follow links then."""
    for number, path in enumerate(PATHS):
        (move_to if number else go_to)(installation, window, path)
        yield path


def wait_for_address(window: Browser, path: str) -> None:
    """Wait until the page is at an address."""
    window.until(lambda: window.run("return location.pathname") == path, f"not at {path}")


def find_one(window: Browser, name: str) -> None:
    """Look for an agent by its name, until only one row is left."""
    window.type(".every-agent input[type=search]", name)
    rows = ".every-agent > ul > li:not([hidden])"
    window.until(lambda: window.count(rows) == 1, f"{name} is not found")


def read_rows(window: Browser) -> int:
    """How many agents were read."""
    return window.count(".every-agent li .reading")


def test_every_list_works_with_no_agent_one_and_many(
    installation: Installation, english: Browser, japanese: Browser
) -> None:
    for window in (english, japanese):
        watch_requests(window)
        installation.sign_in(window)
        for _path in open_each(installation, window):
            window.shown("main .empty")
    first = installation.agent("Only 一人")
    for window in (english, japanese):
        for _path in open_each(installation, window):
            assert window.count(".every-agent") == 0
            assert window.run("return document.querySelector('main select').value") == first
    for number in range(MANY):
        installation.agent(f"<b>蟹</b> {number}")
    installation.server.call("POST", f"/agents/{first}/goals", {"name": "Watch <i>tides</i> 潮"})
    for window in (english, japanese):
        for _path in open_each(installation, window):
            assert window.count(".every-agent > ul > li") == MANY + 1
            # What nobody sees is not read.
            assert 0 < read_rows(window) < MANY
            find_one(window, "only")
            settle(window)
        move_to(installation, window, "/goals")
        find_one(window, "一人")
        window.says("Watch <i>tides</i> 潮", ".every-agent")
        window.click(".every-agent > ul > li:not([hidden]) a")
        window.says("Only 一人", "h1")
        assert window.run("return location.pathname") == f"/agents/{first}/goals"
        assert nothing_was_forbidden(window)


def test_one_agent_and_all_are_chosen_in_one_list(
    installation: Installation, english: Browser
) -> None:
    agents = installation.server.call("GET", "/agents?limit=200")["items"]
    chosen = agents[0]["id"]
    watch_requests(english)
    installation.sign_in(english)
    for path, shown in (("/goals", "goals"), ("/memory", "memory")):
        go_to(installation, english, path)
        installation.choose(english, "main .filters select", chosen)
        wait_for_address(english, f"/agents/{chosen}/{shown}")
        settle(english)
        installation.choose(english, "main .filters select", "")
        wait_for_address(english, path)
