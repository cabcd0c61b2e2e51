"""The link for the browser, and which browsers take it."""

import webbrowser

import pytest

from opencrab.gateways.cli.connection.browser import (
    access_sign_in_link,
    browser_sign_in_url_at_port,
    open_access_link,
)


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/#sign-in=c"),
        ("http://0.0.0.0:8080", "http://127.0.0.1:8080/#sign-in=c"),
        ("http://[::]:8080", "http://[::1]:8080/#sign-in=c"),
        ("https://crab.example", "https://crab.example/#sign-in=c"),
    ],
)
def test_a_link_leads_to_the_page_with_its_code_behind_the_hash(url: str, link: str) -> None:
    assert access_sign_in_link(url, "c") == link


def test_the_page_may_have_another_port() -> None:
    assert browser_sign_in_url_at_port("http://127.0.0.1:8080", 3000) == "http://127.0.0.1:3000"
    assert browser_sign_in_url_at_port("http://[::1]:8080", 3000) == "http://[::1]:3000"
    assert browser_sign_in_url_at_port("http://127.0.0.1:8080", None) == "http://127.0.0.1:8080"


class Window(webbrowser.BaseBrowser):
    """A browser that opens, or says why it cannot."""

    def __init__(self, name: str, problem: Exception | None = None) -> None:
        super().__init__(name)
        self.problem = problem

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:  # noqa: FBT001, FBT002
        if self.problem is not None:
            raise self.problem
        return url.startswith("http://")


@pytest.mark.parametrize(
    ("window", "opens"),
    [
        (Window("/usr/bin/chromium"), True),
        (Window("/usr/bin/w3m"), False),
        (Window("chromium", OSError("no display")), False),
        (Window("chromium", webbrowser.Error()), False),
    ],
)
def test_a_browser_that_takes_the_terminal_or_fails_opens_nothing(
    window: Window, *, opens: bool
) -> None:
    assert open_access_link("http://127.0.0.1:8080/", lambda: window) is opens
