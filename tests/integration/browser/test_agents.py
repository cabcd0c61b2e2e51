"""The pages of agents before a real `opencrab up`: found, created, watched, steered and retired."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import HOSTILE, NAME, nothing_ran
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

ENTER = "\ue007"
INSPECTOR = "#pane-inspector"


def opened(installation: Installation, window: Browser, path: str) -> None:
    """Sign in and open a page."""
    installation.sign_in(window, at=path)


def pane(window: Browser, name: str) -> str:
    """Choose a pane where the panes are tabs, and return its selector."""
    window.run(
        "const tab = document.querySelector(arguments[0]); if (tab.checkVisibility()) tab.click()",
        f"#tab-{name}",
    )
    return f"#pane-{name}"


def yes(window: Browser) -> None:
    """Answer yes to what the page asks from now on."""
    window.run(
        "window.asked = []; window.confirm = (text) => { window.asked.push(text); return 1 }"
    )


def given(installation: Installation, agent: str, instruction: str) -> Any:
    """A task of an agent."""
    path = f"/agents/{agent}/tasks"
    return installation.server.call("POST", path, {"instruction": instruction})["id"]


def test_an_agent_is_found_created_and_retired(installation: Installation, window: Browser) -> None:
    installation.agent("Other crab")
    opened(installation, window, "/agents")
    window.says("Other crab", ".agent-list")
    if window.run("return !document.querySelector('.creation').open"):
        window.click(".creation summary")
    name = f"見張り Watcher {window.run('return innerWidth')}"
    window.type("#field-agent_name", name)
    window.type("#field-agent_purpose", "Watches 見張ります")
    installation.choose(window, "#field-agent_policy", "strict")
    window.click(".creation .send")
    window.says(name, "h1")
    window.says("Watches 見張ります", pane(window, "state"))
    made = window.run("return location.pathname").removeprefix("/agents/")
    agent = installation.server.call("GET", f"/agents/{made}")
    assert (agent["name"], agent["policy"]) == (name, "strict")
    installation.go(window, "/agents")
    window.type("#agent-search", name)
    window.until(lambda: window.count(".agent-cards > li") == 1, "one agent")
    window.click(".filters > button")
    window.says(name, "tbody")
    yes(window)
    window.click("tbody tr button")
    window.until(lambda: window.count("tbody tr") == 0, "the agent has not gone")
    assert name in window.run("return window.asked[0]")
    assert installation.server.call("GET", f"/agents/{made}")["status"] == "retired"
    installation.choose(window, "#agent-filter", "retired")
    window.shown("tbody .badge.retired")
    window.click(".filters > button")
    assert nothing_was_forbidden(window)


def test_an_agent_is_created_from_a_preset_and_from_a_character_card(
    installation: Installation, window: Browser, tmp_path: Path
) -> None:
    opened(installation, window, "/agents")
    window.shown(".creation summary")
    if window.run("return !document.querySelector('.creation').open"):
        window.click(".creation summary")
    installation.choose(window, "#field-agent_preset", "anvil")
    window.until(lambda: _value(window, "agent_name") in {"Anvil", "鋼"}, "the preset is not taken")
    assert _value(window, "agent_purpose")
    card = {"data": {"name": "蟹江 Kani", "description": "guards <img src=x> the reef"}}
    (tmp_path / "card.png").write_bytes(png_card(card))
    window.type("#field-agent_card", str(tmp_path / "card.png"))
    window.until(lambda: _value(window, "agent_name") == "蟹江 Kani", "the card is not taken")
    # The language of the agent counts, whichever language the page has.
    other = "en" if window.run("return document.documentElement.lang") == "ja" else "ja"
    installation.choose(window, "#field-agent_language", other)
    trait = {"en": "Description", "ja": "説明"}[other]
    window.until(lambda: window.count(".creation details strong"), "no trait is shown")
    shown = "return document.querySelector('.creation details strong').textContent"
    window.until(lambda: window.run(shown) == trait, "the card is not read again")
    window.click(".creation .send")
    window.says("蟹江 Kani", "h1")
    made = window.run("return location.pathname").removeprefix("/agents/")
    agent = installation.server.call("GET", f"/agents/{made}")
    assert agent["language"] == other
    assert agent["soul"]["custom_traits"] == {trait: "guards <img src=x> the reef"}
    nothing_ran(window)


def test_the_eight_founders_are_created_at_once_and_never_twice(
    installation: Installation, window: Browser
) -> None:
    opened(installation, window, "/agents")
    window.shown(".creation summary")
    if window.run("return !document.querySelector('.creation').open"):
        window.click(".creation summary")
    yes(window)
    found = []
    for times in (1, 2):
        window.click(".creation > p .action button")
        window.until(
            lambda: window.run("return !document.querySelector('.creation > p button').disabled"),
            "the button does not come back",
        )
        assert window.count(".creation > p .problem") == 0
        assert window.run("return window.asked.length") == times
        found.append(installation.server.call("GET", "/agents?limit=200")["items"])
    assert found[0] == found[1]
    # Whichever window was first, they are there once, in its language.
    presets = installation.server.call("GET", "/presets")["presets"]
    founders = [each["agent"]["name"] for each in presets if each["is_founder"]]
    shown = window.text(".agent-list")
    assert len(founders) == 8
    assert all(sum(each["name"] == name for each in found[1]) == 1 for name in founders)
    assert all(name in shown for name in founders)
    assert not [line for line in window.logged() if "409" not in line]


def png_card(card: dict[str, Any]) -> bytes:
    """A PNG with a character card in its text, as other programs save it."""
    data = b"chara\0" + base64.b64encode(json.dumps(card).encode())
    chunks = ((b"IHDR", b"\0" * 13), (b"tEXt", data), (b"IEND", b""))
    said = (len(body).to_bytes(4) + kind + body + b"\0" * 4 for kind, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(said)


def _value(window: Browser, name: str) -> str:
    return str(window.run(f"return document.querySelector('#field-{name}').value"))


def test_a_task_is_seen_step_by_step_and_approved(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Careful", policy="strict")
    opened(installation, window, f"/agents/{agent}")
    window.click(f"{pane(window, 'plan')} details:last-of-type summary")
    window.type("#field-agent_instruction", "write memo.txt: 蟹 seen")
    window.click("#pane-plan form .send")
    window.says("write memo.txt: 蟹 seen", "#pane-plan .goal summary")
    # Nothing opens by itself.
    assert window.count("#pane-plan .goal[open]") == 0
    pane(window, "inspector")
    window.says("1", f"{INSPECTOR} .run-name + p")
    window.shown(f"{INSPECTOR} progress")
    window.shown(f"{INSPECTOR} .actions .waiting")
    window.says("蟹 seen", f"{INSPECTOR} .approval pre")
    window.shown(".heading .badge.waiting")
    window.click(f"{INSPECTOR} .approve")
    window.shown(f"{INSPECTOR} .actions .done")
    window.shown(f"{INSPECTOR} .report")
    window.until(lambda: window.count(f"{INSPECTOR} .stop") == 0, "it cannot be cancelled any more")
    window.click(f"{INSPECTOR} .actions summary")
    window.says('"content": "蟹 seen"', f"{INSPECTOR} .actions pre")
    window.until(lambda: window.count("#pane-plan .goal") == 0, "the goal has not gone")
    window.says("write memo.txt", pane(window, "chat"))
    files = installation.server.call("GET", f"/agents/{agent}/workspace")["items"]
    assert [each["path"] for each in files] == ["memo.txt"]
    assert nothing_was_forbidden(window)


def test_a_task_is_paused_steered_resumed_and_cancelled(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Steered", policy="strict")
    task = given(installation, agent, "write memo.txt: never")
    opened(installation, window, f"/agents/{agent}")
    pane(window, "inspector")
    window.type("#field-steer_text", f"be brief 短く{ENTER}")
    window.shown(f"{INSPECTOR} form .good")
    buttons = f"{INSPECTOR} > div > .buttons"
    pausing = window.text(f"{buttons} button")
    window.click(f"{buttons} button")
    path = f"/agents/{agent}/tasks/{task}"
    window.until(lambda: _status(installation, path) == "paused", "it is not paused")
    # The page hears of it after the server has done it; until then its button pauses once more.
    window.until(lambda: window.text(f"{buttons} button") not in {"", pausing}, "it is not shown")
    before = window.text(f"{INSPECTOR} .run-name + p")
    window.click(f"{buttons} button")
    window.until(lambda: _status(installation, path) == "waiting", "it is not resumed")
    window.until(lambda: window.text(f"{buttons} button") == pausing, "the page is late")
    assert window.text(f"{INSPECTOR} .run-name + p") != before
    yes(window)
    window.click(f"{buttons} .stop")
    window.until(lambda: _status(installation, path) == "abandoned", "it is not cancelled")
    window.until(lambda: window.count(f"{buttons} button") == 0, "it can still be changed")
    assert nothing_was_forbidden(window)


def _status(installation: Installation, path: str) -> str:
    return str(installation.server.call("GET", path)["status"])


def test_one_agent_is_frozen_put_to_sleep_and_woken(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Switched")
    opened(installation, window, f"/agents/{agent}")
    state = pane(window, "state")
    yes(window)
    window.click(f"{state} button.stop")
    window.shown(".heading .badge.frozen")
    frozen = installation.server.call("GET", "/system/state")
    assert (agent in frozen["frozen_agents"], frozen["state"]) == (True, "running")
    window.click(f"{state} button")
    window.shown(".heading .badge.active")
    window.click(f"{state} .action:nth-child(2) button")
    window.shown(".heading .badge.dormant")
    window.click(f"{state} .action:nth-child(2) button")
    window.shown(".heading .badge.active")
    assert len(window.run("return window.asked")) == 1
    assert nothing_was_forbidden(window)


def test_a_persona_is_moved_previewed_saved_and_undone(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Shaped", soul={"personality": {"openness": 0.35}})
    opened(installation, window, f"/agents/{agent}/persona")
    before = installation.server.call("GET", f"/agents/{agent}")
    window.shown("#field-trait_extraversion")
    window.run(
        "const slider = document.querySelector('#field-trait_extraversion'); slider.value = 0.9;"
        "slider.dispatchEvent(new Event('input'))"
    )
    window.type("#field-agent_purpose", "見守る Watch")
    window.says("0.5", "#field-trait_extraversion-stored")
    assert window.run(
        "return document.querySelector('#field-trait_extraversion-stored').checkVisibility()"
    )
    buttons = ".persona > .buttons button:nth-child"
    window.click(f"{buttons}(2)")
    window.says("見守る Watch", "pre")
    assert re.search(r"(extraversion|外向性) 0\.9", window.text("pre"))
    window.click(f"{buttons}(3)")
    window.shown(".sample dd:nth-of-type(2)")
    assert len(window.text(".sample dd")) > 10
    assert installation.server.call("GET", f"/agents/{agent}") == before
    window.click(".persona .send")
    window.shown(".persona .good")
    saved = installation.server.call("GET", f"/agents/{agent}")
    traits = {**before["soul"]["personality"], "extraversion": 0.9}
    # What nobody moved is as exact as it was.
    assert (saved["soul"]["personality"], saved["purpose"]) == (traits, "見守る Watch")
    window.click(f"{buttons}(5)")
    window.shown(".persona-page > [role=status] .good")
    undone = installation.server.call("GET", f"/agents/{agent}")
    assert (undone["soul"], undone["purpose"]) == (before["soul"], before["purpose"])
    assert window.run("return document.querySelector('#field-agent_purpose').value") == ""
    assert nothing_was_forbidden(window)


def test_a_persona_that_somebody_else_changed_is_not_overwritten(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Shared")
    opened(installation, window, f"/agents/{agent}/persona")
    window.type("#field-job_title", "diver 潜水士")
    identity = {"name": "Shared", "organization": "Reef"}
    installation.server.call("PUT", f"/agents/{agent}/identity", identity)
    window.click(".persona .send")
    window.shown(".persona .problem")
    stored = installation.server.call("GET", f"/agents/{agent}/identity")
    assert (stored["organization"], stored["job_title"]) == ("Reef", None)
    # What was typed is still there, beside what is stored now.
    assert window.run("return document.querySelector('#field-job_title').value") == "diver 潜水士"
    window.says("Reef", "#field-organization-stored")


def test_keys_see_of_an_agent_what_they_may(installation: Installation, window: Browser) -> None:
    agent = installation.agent("Looked at")
    frozen = {"state": "frozen", "agent_id": agent}
    installation.server.call("PUT", "/system/state", frozen)
    for scope, forms in (("chat", 1), ("read", 0)):
        grants = {"grants": ["all"]} if scope == "read" else {}
        made = installation.server.call("POST", "/keys", {"name": scope, "scope": scope, **grants})
        installation.sign_in(window, made["secret"])
        window.shown("main h1")
        window.logged()
        installation.go(window, "/agents")
        window.says("Looked at", ".agent-list")
        assert window.count(".creation form") == 0
        assert window.count(".agent-cards button") == 0
        installation.go(window, f"/agents/{agent}")
        window.says("Looked at", "h1")
        window.shown(".heading .badge.frozen")
        assert window.count("#pane-state button") == 0
        assert window.count("#pane-plan form") == forms
        # What a key may not see, its page does not ask for.
        assert [line for line in window.logged() if "403" in line] == []


def test_hostile_names_tasks_and_results_stay_text(
    installation: Installation, window: Browser
) -> None:
    purpose = " ".join(HOSTILE[:-1])[:480]
    agent = installation.agent(f"{NAME} live", policy="open", purpose=purpose)
    given(installation, agent, f"write memo.txt: {' '.join(HOSTILE)}")
    opened(installation, window, "/agents")
    window.says(f"{NAME} live", ".agent-list")
    window.says("<svg/onload=", ".agent-list")
    installation.go(window, f"/agents/{agent}")
    pane(window, "inspector")
    window.says("<script>", f"{INSPECTOR} .run-name")
    window.shown(f"{INSPECTOR} .actions .done")
    window.says("<svg/onload=", f"{INSPECTOR} .actions pre")
    window.says("<svg/onload=", "#pane-state")
    nothing_ran(window)
