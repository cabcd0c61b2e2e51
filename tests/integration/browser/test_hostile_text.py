"""Names, messages and answers that try to run in the page, in Chromium: all of it stays text."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import HOSTILE, NAME, RUN, nothing_ran
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

ENTER = "\ue007"


def test_hostile_words_of_people_and_models_stay_text(
    installation: Installation, window: Browser
) -> None:
    installation.talk(window, installation.agent(NAME, "vllm:slow"))
    for text in HOSTILE:
        said = window.count(".message.theirs:not(.arriving)")
        window.run("document.querySelector('#message').value = arguments[0]", text)
        window.type("#message", ENTER)
        installation.vendor.words.put(text)
        installation.vendor.words.put(None)
        done = ".message.theirs:not(.arriving)"
        window.until(lambda: window.count(done) > said, f"no answer to {text!r}")  # noqa: B023
    # An address is shown as text where Markdown has a link or a picture; nothing leads there.
    window.says(f"link javascript:{RUN}", ".message.theirs .markdown")
    nothing_ran(window)
    window.run("document.querySelectorAll('.message .plain').forEach((each) => each.click())")
    shown = window.run(
        "return [...document.querySelectorAll('.message .text')]"
        ".map((each) => (each.querySelector('.as-written') ?? each).textContent)"
    )
    for text in HOSTILE[:-1]:
        assert shown.count(text) == 2
    assert "⟨U+202E⟩esrever" in shown[-1]
    assert NAME in window.text(".message.theirs header")
    nothing_ran(window)


def test_hostile_calls_and_names_stay_text_where_they_are_decided(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent(f"{NAME} asks", policy="strict")
    session = installation.server.call("POST", "/sessions", {"participants": [agent]})["id"]
    installation.server.say(session, f"write memo.txt: {' '.join(HOSTILE[:-1])}")
    installation.sign_in(window, at="/approvals")
    window.says("<svg/onload=", "#view-approvals .approval pre")
    assert f"{NAME} asks" in window.text("#view-approvals .approval h2")
    nothing_ran(window)
    window.click("#view-approvals .approval .approve")
    window.shown("#view-approvals .decision.approved")
    installation.go(window, "/")
    window.says(f"{NAME} asks", "ul.agents")
    nothing_ran(window)


def test_the_browser_itself_refuses_html_from_a_script(
    installation: Installation, window: Browser
) -> None:
    window.open(installation.url)
    window.shown(".brand")
    refused = window.run(
        "try { document.body.innerHTML = '<b>x</b>'; return ''; }"
        "catch (error) { return error.name }"
    )
    assert refused == "TypeError"
    blocked = window.run(
        "return new Promise((resolve) => {"
        "document.addEventListener('securitypolicyviolation', (event) =>"
        "resolve(event.effectiveDirective));"
        "const image = document.createElement('img'); image.src = 'https://leak.example/x.png';"
        "document.body.append(image); })"
    )
    assert blocked == "img-src"
    window.logged()
