"""Schedules and heartbeats, in Chromium: made, changed, run and deleted as a person does it."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import NAME, nothing_ran
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)


def test_a_schedule_is_made_changed_run_and_deleted(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent(NAME)
    path = f"/agents/{agent}/schedules"
    installation.sign_in(window, at=f"/schedules?agent={agent}")
    window.type("#schedule-name-new", f"{NAME} weekly")
    installation.choose(window, "#schedule-kind-new", "cron")
    window.run("document.querySelector('#schedule-cron-new').value = '0 9 * * 1'")
    window.run("document.querySelector('#schedule-zone-new').value = 'Asia/Tokyo'")
    window.type("#schedule-instructions-new", "say <img src=x onerror=window.ran=1>")
    window.click("form button.send")
    window.says(f"{NAME} weekly", "ul.paged")
    (made,) = installation.server.call("GET", path)["items"]
    assert (made["when"], made["zone"], made["enabled"]) == ("0 9 * * 1", "Asia/Tokyo", True)
    row = f'[data-schedule="{made["id"]}"]'
    window.click(f"{row} > details:last-child > summary")
    installation.choose(window, f"#schedule-kind-{made['id']}", "every")
    installation.choose(window, f"#schedule-unit-{made['id']}", "h")
    window.click(f"{row} form button.send")
    window.until(
        lambda: installation.server.call("GET", path)["items"][0]["when"] == "@every 1h",
        "the time is the old one",
    )
    window.click(f"{row} [data-does=switch]")
    window.until(
        lambda: installation.server.call("GET", path)["items"][0]["enabled"] is False,
        "the schedule is on",
    )
    window.click(f"{row} [data-does=switch]")
    window.shown(f"{row} .badge.active")
    window.click(f"{row} [data-does=run]")
    window.until(
        lambda: installation.server.call("GET", f"/turns?agent_id={agent}")["items"],
        "no turn has begun",
    )
    nothing_ran(window)
    window.run("window.confirm = () => true")
    window.click(f"{row} .reject")
    window.until(lambda: not installation.server.call("GET", path)["items"], "it is there")


def test_an_agent_wakes_as_it_is_set(installation: Installation, window: Browser) -> None:
    agent = installation.agent(NAME)
    path = f"/agents/{agent}/heartbeat"
    installation.server.call("PUT", path, {"subscriptions": [{"type": "world.*"}]})
    installation.sign_in(window, at=f"/heartbeats?agent={agent}")
    window.shown("#beat-interval")
    window.run("document.querySelector('#beat-interval').value = 601")
    window.click("#beat-hours")
    window.run("document.querySelector('#beat-start').value = '07:30'")
    window.type("#beat-instructions", "look after the garden")
    window.click("#heartbeat button.send")
    window.shown("#heartbeat .good")
    found = installation.server.call("GET", path)
    assert found["interval_seconds"] == 601
    assert found["active_hours"]["start"] == "07:30"
    assert found["instructions"] == "look after the garden"
    # What the form does not show stays as it was.
    assert [each["type"] for each in found["subscriptions"]] == ["world.*"]
    installation.go(window, "/heartbeats")
    window.says(NAME, "#part-next_beats ~ *")
    nothing_ran(window)
