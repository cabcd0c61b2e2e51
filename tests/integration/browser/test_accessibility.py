"""axe-core finds nothing wrong with any page, in both languages, light and dark."""

import json
import re
from collections.abc import Mapping

import pytest

from tests.conftest import ROOT
from tests.integration.browser.conftest import Installation
from tests.integration.browser.furnishing import Furnished, furnish
from tests.integration.browser.routes import (
    each_view,
    move_to,
    routes_of,
    run_axe,
    watch_requests,
)
from tests.integration.browser.webdriver import Browser
from tests.soak import SOAK

pytestmark = pytest.mark.timeout(600)

AXE = ROOT / ".node" / "node_modules" / "axe-core" / "axe.min.js"
HEIGHT = 4_000
THEMES = {"light": (), "dark": ("color-contrast", "link-in-text-block")}
"""What each theme is judged by: all rules, and those of colours, which alone are the theme's."""

STYLE = ROOT / "layers/opencrab/python/opencrab/gateways/rest/page/static/style.css"
TEXTS = ("Ada 蟹", "write a report about tides 潮の報告書", "**bold** and `code`\n\n- one\n- two")


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not in .node: run `make setup` where npm is installed")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def furnished(installation: Installation, axe: str) -> Furnished:
    assert axe
    return furnish(installation, TEXTS)


def faults(
    window: Browser, axe: str, where: str, themes: Mapping[str, tuple[str, ...]] = THEMES
) -> list[str]:
    """What is wrong with the page that is shown, in each theme."""
    found = []
    for theme, rules in themes.items():
        feature = {"name": "prefers-color-scheme", "value": theme}
        window.devtools("Emulation.setEmulatedMedia", features=[feature])
        settle_theme(window)
        found += [f"{where} ({theme}): {json.dumps(each)}" for each in run_axe(window, axe, rules)]
    return found


def settle_theme(window: Browser) -> None:
    """Wait until no colour is on its way."""
    moving = "return document.getAnimations().some((each) => each.playState === 'running')"
    window.until(lambda: not window.run(moving), "the colours do not come to rest")


def test_every_page_is_accessible(
    installation: Installation, furnished: Furnished, window: Browser, axe: str
) -> None:
    watch_requests(window)
    installation.sign_in(window)
    # As high as a page is: axe judges the colours of what is seen.
    width = window.run("return innerWidth")
    window.resize(width, HEIGHT)
    # Pairs of colours are the same in both languages, and to judge them takes axe longest.
    is_english = window.run("return document.documentElement.lang") == "en"
    themes = THEMES if is_english or SOAK else {"light": THEMES["light"]}
    found = []
    for address in furnished.addresses(routes_of(window)):
        # Links are followed: axe, which is large, is loaded once.
        move_to(installation, window, address)
        for view in each_view(window):
            found += faults(window, axe, f"{address} {view}", themes)
    if window.run("return document.querySelector('button.menu').checkVisibility()"):
        window.click("button.menu")
        found += faults(window, axe, "the menu")
    window.resize(width, 850)
    assert found == [], "\n".join(found)


def test_signing_in_and_what_goes_wrong_are_accessible(
    installation: Installation, window: Browser, axe: str
) -> None:
    window.open(installation.url)
    window.run("sessionStorage.clear()")
    window.open(f"{installation.url}#sign-in=wrong")
    window.call("POST", "/refresh")
    window.shown("#key")
    found = faults(window, axe, "signing in")
    window.type("#key", "wrong-key-0123456789\ue007")
    window.shown(".problem")
    found += faults(window, axe, "a wrong key")
    assert found == [], "\n".join(found)


def test_themes_differ_in_colours_alone() -> None:
    _, *themed = STYLE.read_text(encoding="utf-8").split("@media (prefers-color-scheme")
    assert len(themed) == 1
    assert re.match(r": dark\) \{\s+:root \{(\s+--[a-z-]+: #[0-9a-f]+;)+\s+\}\s+\}", themed[0])


def test_axe_sees_the_page_and_its_colours(
    installation: Installation, english: Browser, axe: str
) -> None:
    english.open(installation.url)
    english.shown("main h1")
    english.run(
        "const faint = document.createElement('p'); faint.textContent = 'faint';"
        "faint.style.color = '#4a4a4a';"
        "document.querySelector('main').prepend(faint, document.createElement('button'))"
    )
    wrong = faults(english, axe, "here")
    assert sum("button-name" in each for each in wrong) == 1
    assert [("(dark)" in each) for each in wrong if "color-contrast" in each] == [True]
