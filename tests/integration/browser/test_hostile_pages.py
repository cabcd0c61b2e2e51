"""Every page, in Chromium, of an installation with hostile text in every field that is shown."""

import json
from pathlib import Path

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.furnishing import Furnished, furnish
from tests.integration.browser.harm import nothing_ran
from tests.integration.browser.routes import (
    each_view,
    go_to,
    move_to,
    routes_of,
    show_all,
    watch_requests,
)
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(600)

VECTORS = json.loads(Path(__file__).with_name("hostile_text.json").read_text(encoding="utf-8"))
"""What is known to run, fetch or hide where a page makes HTML of a text. All of it is our own."""


@pytest.fixture(scope="module")
def furnished(installation: Installation) -> Furnished:
    return furnish(installation, VECTORS)


def test_every_field_takes_most_of_what_is_hostile(furnished: Furnished) -> None:
    # Refused are control characters, and in names what hides.
    assert len(VECTORS) > 60
    assert {name: taken for name, taken in furnished.stored.items() if taken < 60} == {}


def test_nothing_hostile_runs_on_any_page(
    installation: Installation, furnished: Furnished, window: Browser
) -> None:
    watch_requests(window)
    installation.sign_in(window)
    # The one loads each page by its address, the other follows links.
    go = go_to if window.run("return document.documentElement.lang") == "en" else move_to
    shown = ""
    for address in furnished.addresses(routes_of(window)):
        go(installation, window, address)
        for _view in each_view(window):
            show_all(window)
            shown += window.text("main")
            nothing_ran(window)
            assert window.run("return location.origin + '/'") == installation.url
    assert shown.count("window.ran=1") > len(VECTORS)


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("b", "data-ran", ""),
        ("a", "href", "javascript:1"),
        ("a", "href", "https://leak.example"),
        ("form", "action", "/"),
        ("iframe", "title", "x"),
    ],
)
def test_harm_is_seen(
    installation: Installation, english: Browser, name: str, attribute: str, value: str
) -> None:
    english.open(installation.url)
    english.shown("main h1")
    english.logged()
    nothing_ran(english)
    english.run(
        "const bad = document.createElement(arguments[0]);"
        "bad.setAttribute(arguments[1], arguments[2]); document.querySelector('main').append(bad)",
        name,
        attribute,
        value,
    )
    with pytest.raises(AssertionError):
        nothing_ran(english)
