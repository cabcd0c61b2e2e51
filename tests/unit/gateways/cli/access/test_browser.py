"""The link for the browser, and which browsers take it."""

import pytest

from opencrab.gateways.cli.access.browser import access_sign_in_link, open_access_link


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


def refused(_link: str) -> bool:
    raise OSError("no display")


@pytest.mark.parametrize(
    ("name", "open_it", "opens"),
    [
        ("/usr/bin/chromium", lambda _link: True, True),
        ("/usr/bin/w3m", lambda _link: True, False),
        ("chromium", refused, False),
    ],
)
def test_a_browser_that_takes_the_terminal_or_fails_opens_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, open_it: object, *, opens: bool
) -> None:
    window = type("Window", (), {"name": name, "open": staticmethod(open_it)})  # type: ignore[arg-type]
    monkeypatch.setattr("webbrowser._tryorder", ["window"])
    monkeypatch.setattr("webbrowser._browsers", {"window": (None, window)})
    assert open_access_link("http://127.0.0.1:8080/") is opens
