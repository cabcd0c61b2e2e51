"""Goals in Chromium before a real `opencrab up`: give a task and a goal, see why, abandon it."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import HOSTILE, NAME, nothing_ran
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

TASKS, WANTS = (f"[aria-labelledby=part-goals_{part}]" for part in ("tasks", "wants"))


def test_a_task_is_given_and_its_report_read(installation: Installation, window: Browser) -> None:
    agent = installation.agent("Doer")
    installation.sign_in(window)
    installation.go(window, f"/agents/{agent}/goals")
    window.type("#field-goals_instruction", "write report.md: done 完了")
    window.click("#view-goals > form .send")
    window.shown(f"{TASKS} .badge.completed")
    window.click(f"{TASKS} details summary")
    window.says("ws_write", f"{TASKS} .plan")
    window.says("report.md", f"{TASKS} .paged")
    assert nothing_was_forbidden(window)


def test_a_goal_says_why_it_comes_first_and_is_abandoned(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Wanter")
    call = installation.server.call
    installation.sign_in(window)
    installation.go(window, f"/agents/{agent}/goals")
    window.click(f"{WANTS} > details summary")
    window.type("#field-goals_name", "地図 map")
    window.click(f"{WANTS} > details .send")
    window.says("地図 map", f"{WANTS} .paged")
    window.click(f"{WANTS} .paged details summary")
    assert window.count(f"{WANTS} .paged table tbody tr") == 6
    window.run("window.confirm = () => true")
    window.click(f"{WANTS} .paged .stop")
    window.shown(f"{WANTS} .badge.abandoned")
    [goal] = call("GET", f"/agents/{agent}/goals")["items"]
    assert goal["status"] == "abandoned"
    assert nothing_was_forbidden(window)


def test_hostile_goals_stay_text(installation: Installation, window: Browser) -> None:
    agent = installation.agent(f"{NAME} wants")
    for text in (*HOSTILE[:4], HOSTILE[-1]):
        body = {"name": text[:90], "description": text, "horizon": "aspiration"}
        installation.server.call("POST", f"/agents/{agent}/goals", body)
    installation.sign_in(window)
    installation.go(window, f"/agents/{agent}/goals")
    window.says(HOSTILE[0], f"{WANTS} .paged")
    window.run("document.querySelectorAll('.paged details').forEach((e) => { e.open = true })")
    window.says("⟨U+202E⟩esrever", f"{WANTS} .paged")
    assert f"{NAME} wants" in window.text("#view-goals h1")
    nothing_ran(window)
