"""Editing files, skills and memories: indented, counted, not lost, and told what others saved."""

import httpx
import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.test_agents import opened
from tests.integration.browser.test_memory import PANEL
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.test_workspace import file
from tests.integration.browser.webdriver import Browser
from tests.running import KEY

pytestmark = pytest.mark.timeout(300)

TAB, SHIFT, ESCAPE = "\ue004", "\ue008", "\ue00c"
EDITOR = ".file .editor"
UNLOAD = (
    "const event = new Event('beforeunload', {cancelable: true});"
    "window.dispatchEvent(event); return event.defaultPrevented"
)


def answers(window: Browser, *, yes: bool) -> None:
    """Answer what the page asks from now on, and count it."""
    window.run(
        "window.asked = 0; window.confirm = () => { window.asked += 1; return arguments[0] }", yes
    )


def value(window: Browser, selector: str = EDITOR) -> str:
    """What a box holds."""
    return str(window.run("return document.querySelector(arguments[0]).value", selector))


def typed(window: Browser, selector: str, text: str) -> None:
    """Replace what a box holds, as typing does."""
    window.shown(selector)
    window.run(
        "const box = document.querySelector(arguments[0]); box.value = arguments[1];"
        "box.dispatchEvent(new Event('input', {bubbles: true}))",
        selector,
        text,
    )


def edited(installation: Installation, window: Browser, content: str) -> str:
    """An agent whose file is open in the editor."""
    agent = installation.agent("Editor")
    file(installation, agent, "計画.md", content.encode())
    opened(installation, window, f"/agents/{agent}")
    window.click('a[href$="/workspace"]')
    window.click(".entry")
    window.click(".file .buttons button")
    window.shown(EDITOR)
    return agent


def test_tab_indents_and_the_keyboard_finds_out_again(
    installation: Installation, window: Browser
) -> None:
    edited(installation, window, "- 一\n- two\n")
    window.run("document.querySelector(arguments[0]).setSelectionRange(1, 3)", EDITOR)
    press(window, TAB)
    assert value(window) == "  - 一\n- two\n"
    window.run("document.querySelector(arguments[0]).select()", EDITOR)
    press(window, TAB)
    assert value(window) == "    - 一\n  - two\n"
    press(window, SHIFT, TAB)
    press(window, SHIFT, TAB)
    assert value(window) == "- 一\n- two\n"
    window.run("document.execCommand('undo')")
    assert value(window) == "  - 一\n- two\n"
    window.run("document.querySelector(arguments[0]).setSelectionRange(99, 99)", EDITOR)
    press(window, TAB)
    assert value(window) == "  - 一\n- two\n  "
    described = "return document.querySelector(arguments[0]).getAttribute('aria-describedby')"
    assert "Esc" in window.text(f"#{window.run(described, EDITOR)}")
    press(window, ESCAPE)
    press(window, TAB)
    assert not window.run("return document.activeElement.matches(arguments[0])", EDITOR)
    assert nothing_was_forbidden(window)


def press(window: Browser, *keys: str) -> None:
    """Hold keys, one after the other, and let them go, wherever the focus is."""
    down = [{"type": "keyDown", "value": key} for key in keys]
    up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
    window.call("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": down + up}]})


def test_the_size_is_told_near_the_limit_as_the_api_counts_it(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Long")
    opened(installation, window, f"/agents/{agent}/skills")
    window.click(".creation summary")
    said = ".creation .field:has(.editor) [role=status]"
    typed(window, "#skill_guidance-new", "短い short")
    assert window.text(said) == ""
    typed(window, "#skill_guidance-new", "あ" * 2_400)
    window.says("7,200", said)
    typed(window, "#skill_guidance-new", "あ" * 2_800)
    window.shown(f"{said}.warning")
    assert not window.run("return document.querySelector('.creation .editor').checkValidity()")


def test_who_leaves_what_is_not_saved_is_asked_once(
    installation: Installation, window: Browser
) -> None:
    edited(installation, window, "before")
    assert not window.run(UNLOAD)
    typed(window, EDITOR, "mine 私の")
    assert window.run(UNLOAD)
    answers(window, yes=False)
    address = window.run("return location.href")
    for leave in (
        "document.querySelector('#menu a[href=\"/goals\"]').click()",
        "document.querySelector('.entry').click()",
        "document.querySelector('.file article > button').click()",
        "document.querySelector('header > button:last-child').click()",
    ):
        before = window.run("return window.asked")
        window.run(leave)
        assert window.run("return window.asked") == before + 1
        assert value(window) == "mine 私の"
    window.run("window.asked = 0; history.back()")
    window.until(lambda: window.run("return window.asked"), "nobody is asked")
    assert value(window) == "mine 私の"
    assert window.run("return location.href") == address
    answers(window, yes=True)
    window.run("document.querySelector('#menu a[href=\"/goals\"]').click()")
    window.until(lambda: not window.count("#view-workspace"), "the page stays")
    assert window.run("return window.asked") == 1
    assert not window.run(UNLOAD)
    assert nothing_was_forbidden(window)


def test_what_others_saved_meanwhile_is_shown_to_take_it_or_to_save_over_it(
    installation: Installation, window: Browser
) -> None:
    agent = edited(installation, window, "before")
    typed(window, EDITOR, "mine 私の")
    file(installation, agent, "計画.md", "theirs <b>彼らの</b>".encode())
    window.click(".file .send")
    window.says("theirs <b>彼らの</b>", ".file .stored pre")
    window.shown(".file .problem")
    assert value(window) == "mine 私の"
    answers(window, yes=True)
    window.click(".stored .action:nth-child(1) button")
    window.says("theirs <b>彼らの</b>", ".file pre.content")
    assert window.run("return window.asked") == 1
    window.click(".file .buttons button")
    typed(window, EDITOR, "mine again 私の")
    file(installation, agent, "計画.md", b"theirs again")
    window.click(".file .send")
    window.click(".stored .action:nth-child(2) button")
    window.says("mine again 私の", ".file pre.content")
    assert file(installation, agent, "計画.md") == "mine again 私の".encode()
    window.click(".file .buttons button")
    typed(window, EDITOR, "kept 残す")
    url = f"{installation.url}api/agents/{agent}/workspace/計画.md"
    assert httpx.delete(url, headers={"authorization": f"Bearer {KEY}"}).status_code == 204
    window.click(".file .send")
    window.click(".stored button")
    window.says("kept 残す", ".file pre.content")
    window.logged()


def test_a_skill_tells_what_others_saved_of_its_text_only(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Shared")
    skill = {"description": "Tidy 整理", "guidance": "One."}
    path = f"/agents/{agent}/skills/tidy"
    installation.server.call("PUT", path, skill)
    opened(installation, window, f"/agents/{agent}/skills")
    window.click(".skill.acquired summary")
    typed(window, "#skill_guidance-tidy", "Mine 私の.")
    # Its state is not its text: switched off meanwhile, it is saved without a question.
    installation.server.call("POST", f"{path}/toggle", {"on": False})
    window.click(".skill.acquired form .send")
    window.until(lambda: guidance(installation, path) == "Mine 私の.", "it is not saved")
    window.shown(".skill.acquired .badge")
    window.until(lambda: not window.run(UNLOAD), "it is not saved")
    typed(window, "#skill_guidance-tidy", "Mine again 私の.")
    installation.server.call("PUT", path, {**skill, "guidance": "Theirs."})
    window.click(".skill.acquired form .send")
    window.says("Theirs.", ".stored pre")
    assert guidance(installation, path) == "Theirs."
    answers(window, yes=True)
    window.click(".stored .action:nth-child(1) button")
    window.until(lambda: value(window, "#skill_guidance-tidy") == "Theirs.", "it is not taken")
    window.logged()


def test_a_memory_tells_what_others_saved(installation: Installation, window: Browser) -> None:
    agent = installation.agent("Shared")
    memories = f"/agents/{agent}/memory/curated"
    kept = {"content": "The harbour is blue 港は青い", "category": "fact"}
    made = installation.server.call("POST", memories, kept)["memory"]["id"]
    opened(installation, window, f"/agents/{agent}/memory")
    window.click("#tab-memory_curated")
    window.click(f"{PANEL} .paged .marks button")
    typed(window, f"{PANEL} .paged .editor", "The harbour is white 港は白い")
    theirs = {"content": "The harbour is red 港は赤い"}
    installation.server.call("PATCH", f"{memories}/{made}", theirs)
    window.click(f"{PANEL} .paged .send")
    window.says("港は赤い", ".stored pre")
    window.click(".stored .action:nth-child(2) button")
    window.says("港は白い", f"{PANEL} .paged .prose")
    assert "白い" in installation.server.call("GET", f"{memories}/{made}")["content"]
    window.logged()


def guidance(installation: Installation, path: str) -> str:
    """The stored text of a skill."""
    return str(installation.server.call("GET", path)["guidance"])
