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
    installation.sign_in(window, at=f"/agents/{agent}/goals")
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
    installation.sign_in(window, at=f"/agents/{agent}/goals")
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


def test_goals_are_sorted_by_button_by_key_and_by_dragging(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Sorter")
    call = installation.server.call
    for name, reward in (("一 one", 0.2), ("二 two", 0.1), ("三 three", 0.0)):
        call("POST", f"/agents/{agent}/goals", {"name": name, "expected_reward": reward})
    installation.sign_in(window, at=f"/agents/{agent}/goals")

    def saved(*names: str) -> None:
        window.until(
            lambda: [each["name"][2:] for each in call("GET", path)["goals"]] == list(names),
            f"the order is not {names}",
        )
        assert window.count(".goal-order li") == 3
        window.says(names[0], ".goal-order li:first-child")

    path = f"/agents/{agent}/goal-order"
    window.shown(".goal-order")
    window.click(".goal-order li:nth-child(2) .up")
    saved("two", "one", "three")
    assert window.run("return document.activeElement.className") == "down"
    window.run(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
        " {key: 'ArrowDown', altKey: true, bubbles: true}))"
    )
    saved("one", "two", "three")
    window.run(
        "const [first, , last] = document.querySelectorAll('.goal-order li');"
        "const data = new DataTransfer();"
        "for (const [to, kind] of [[last, 'dragstart'], [first, 'dragover'], [first, 'drop']])"
        " to.dispatchEvent(new DragEvent(kind,"
        " {dataTransfer: data, bubbles: true, cancelable: true}))"
    )
    saved("three", "one", "two")
    assert nothing_was_forbidden(window)


def test_hostile_goals_stay_text(installation: Installation, window: Browser) -> None:
    agent = installation.agent(f"{NAME} wants")
    for text in (*HOSTILE[:4], HOSTILE[-1]):
        body = {"name": text[:90], "description": text, "horizon": "aspiration"}
        installation.server.call("POST", f"/agents/{agent}/goals", body)
    installation.sign_in(window, at=f"/agents/{agent}/goals")
    window.says(HOSTILE[0], f"{WANTS} .paged")
    window.run("document.querySelectorAll('.paged details').forEach((e) => { e.open = true })")
    window.says("⟨U+202E⟩esrever", f"{WANTS} .paged")
    assert f"{NAME} wants" in window.text("#view-goals h1")
    nothing_ran(window)
