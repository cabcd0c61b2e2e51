"""Sessions in Chromium before a real `opencrab up`: open one, live in four looks, read a turn."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import HOSTILE, NAME, nothing_ran
from tests.integration.browser.test_page import ENTER, nothing_was_forbidden
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

SAVED = (
    "window.saved = []; HTMLAnchorElement.prototype.click = function () {"
    "saved.push([this.download, this.href]) }"
)
"""Remember what the page lets the browser save."""

LOOK = {"inner_voice": 2, "action": 3, "system": 4}


def saved_names(window: Browser) -> list[str]:
    """The names of the files that were saved."""
    return [str(name) for name, _ in window.run("return window.saved")]


def check(window: Browser, selector: str) -> None:
    """Tick or untick a box."""
    window.run("document.querySelector(arguments[0]).click()", selector)


def test_a_discussion_is_opened_watched_and_ended(
    installation: Installation, window: Browser
) -> None:
    names = ("Rowan", "蟹田")
    agents = [installation.agent(name) for name in names]
    installation.sign_in(window, at="/sessions")
    window.click(".creation-form summary")
    for agent in agents:
        check(window, f'.choice input[value="{agent}"]')
    window.run("document.querySelector('#field-sessions_theme').value = arguments[0]", "灯台 light")
    window.click(".creation-form .send")
    window.says("灯台 light", "#view-session h1")
    window.type("#session-message", f"write memo.txt: hello{ENTER}")
    window.says("memo.txt", ".rows .message.theirs .text")
    window.shown(".rows details.tool")
    window.run("document.querySelector('.side').open = true")
    window.says(names[1], ".side table")
    window.click(".guide summary")
    window.type("#session-guidance", "短く be brief")
    window.click(".guide button")
    window.says("短く be brief", ".rows .guidance")
    check(window, f".looks label:nth-of-type({LOOK['action']}) input")
    window.until(lambda: not window.count(".rows details.tool"), "the actions are hidden")
    assert window.count(".rows .message")
    assert nothing_was_forbidden(window)


def test_a_turn_opens_as_a_story_and_takes_feedback(
    installation: Installation, window: Browser
) -> None:
    session = installation.server.call(
        "POST", "/sessions", {"participants": [installation.agent("Teller")]}
    )["id"]
    installation.server.say(session, "write memo.txt: hello")
    installation.sign_in(window, at=f"/sessions/{session}")
    window.click(".rows .message.theirs header a")
    window.says("ws_write", ".step details summary")
    window.click(".step details summary")
    window.says('"path": "memo.txt"', ".step pre")
    window.click("#view-turn div > details.card > summary")
    window.shown("#view-turn figure svg .bar")
    installation.choose(window, "#field-sessions_thumbs", "up")
    window.type("#field-sessions_remark", "よくできました well done")
    window.click("#view-turn .send")
    window.shown("#view-turn .good")
    found = installation.server.call("GET", f"/turns?session_id={session}")["items"]
    assert found[0]["tainted"] is False
    assert nothing_was_forbidden(window)


def test_a_session_is_renamed_shared_ended_and_erased(
    installation: Installation, window: Browser
) -> None:
    call = installation.server.call
    guest = call("POST", "/keys", {"name": "花子 Hanako", "scope": "chat"})["principal_id"]
    session = call("POST", "/sessions", {"participants": [installation.agent("Host")]})["id"]
    installation.server.say(session, "hello")
    installation.sign_in(window, at=f"/sessions/{session}")
    window.run("document.querySelectorAll('.side, .side details').forEach((e) => (e.open = 1))")
    window.type("#field-sessions_name", "港の話 harbour")
    window.click(".card:last-child .send")
    window.says("港の話 harbour", "#view-session h1")
    installation.choose(window, "#field-sessions_person", guest)
    window.click(".card:nth-last-child(2) .send")
    window.says("花子 Hanako", "[aria-labelledby=part-sessions_seats] ul")
    assert call("GET", f"/sessions/{session}")["members"] == [guest]
    check(window, "#speaks-freely")
    window.until(lambda: call("GET", f"/sessions/{session}")["speaks_freely"], "speaks freely")
    window.run("window.confirm = () => true")
    window.click(".card:last-child .action .stop")
    window.until(lambda: not window.count("#session-message"), "it takes no more messages")
    window.click(".card:last-child .buttons > .stop")
    window.click(".forgetting .stop")
    window.shown("#view-sessions")
    left = call("GET", f"/sessions/{session}/messages")["items"]
    assert {line["text"] for line in left} == {""}
    assert nothing_was_forbidden(window)


def test_very_many_lines_come_and_only_some_are_in_the_document(
    installation: Installation, window: Browser
) -> None:
    call = installation.server.call
    session = call("POST", "/sessions", {"participants": [installation.agent("Busy")]})["id"]
    for number in range(120):
        call("POST", f"/sessions/{session}/mentor", {"text": f"行 {number}."})
    installation.sign_in(window, at=f"/sessions/{session}")
    window.says("行 119.", ".rows > :last-child")
    assert window.count(".rows > article") == 50
    # Who scrolls up gets what is earlier, down to the first line.
    for text in ("行 20.", "行 0."):
        for _ in range(2):
            window.run("document.querySelector('.log').scrollTop = 0")
        window.says(text, ".rows")
    call("POST", f"/sessions/{session}/mentor", {"text": "新しい new"})
    window.click(".to-end")
    window.says("新しい new", ".rows > :last-child")
    assert nothing_was_forbidden(window)


def test_hostile_words_stay_text_in_a_session_and_in_its_list(
    installation: Installation, window: Browser
) -> None:
    call = installation.server.call
    agent = installation.agent(f"{NAME} live")
    body = {"participants": [agent], "theme": HOSTILE[0], "name": HOSTILE[2]}
    session = call("POST", "/sessions", body)["id"]
    for text in HOSTILE:
        call("POST", f"/sessions/{session}/mentor", {"text": text})
    installation.server.say(session, f"write memo.txt: {' '.join(HOSTILE[:-1])}")
    installation.sign_in(window, at="/sessions")
    window.says(f"{NAME} live", "#view-sessions")
    nothing_ran(window)
    installation.go(window, f"/sessions/{session}")
    window.says("⟨U+202E⟩esrever", ".rows")
    window.click(".rows details.tool summary")
    window.says("<svg/onload=", ".rows details.tool pre")
    nothing_ran(window)
    window.click(".rows .message.theirs header a")
    window.says(f"{NAME} live", "#view-turn h1")
    nothing_ran(window)
