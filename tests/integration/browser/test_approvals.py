"""The inbox of approvals, in Chromium: one key decides the card that has the focus."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import NAME, nothing_ran
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

ACTIVE = "#view-approvals .approval:not(.decided)"
PRESS = (
    "document.activeElement.dispatchEvent(new KeyboardEvent('keydown',"
    "{key: arguments[0], bubbles: true, ...arguments[1]}))"
)


def asking(installation: Installation, name: str) -> str:
    """An agent that waits for an approval."""
    agent = installation.agent(name, policy="strict")
    session = installation.server.call("POST", "/sessions", {"participants": [agent]})["id"]
    installation.server.say(session, "write memo.txt: hello")
    return agent


def state(installation: Installation, agent: str) -> str:
    """The state of what an agent asked."""
    for path in ("/approvals?limit=200", "/approvals?state=decided&limit=200"):
        for each in installation.server.call("GET", path)["items"]:
            if each["agent_id"] == agent:
                return str(each["state"])
    return ""


@pytest.mark.parametrize(("key", "decided"), [("a", "approved"), ("r", "rejected")])
def test_one_key_decides_only_what_has_the_focus(
    installation: Installation, window: Browser, key: str, decided: str
) -> None:
    agent = asking(installation, NAME)
    installation.sign_in(window, at="/approvals")
    window.shown(f"{ACTIVE} .approve")
    window.run("document.activeElement.blur(); " + PRESS, key, {})
    window.run("document.querySelector(arguments[0]).focus()", f"{ACTIVE} input")
    window.type(f"{ACTIVE} input", "arar")
    window.run("document.querySelector(arguments[0]).focus()", ACTIVE)
    window.run(PRESS, key, {"ctrlKey": True})
    window.run(PRESS, key, {"repeat": True})
    assert state(installation, agent) == "pending"
    window.run(PRESS, key, {})
    window.shown(f"#view-approvals .decision.{decided}")
    assert state(installation, agent) == decided
    # It is listed with what was decided before, and opens as a whole.
    window.says(NAME, "#part-part_decided ~ *")
    window.click("details.decided summary")
    window.says("memo.txt", "details.decided[open] pre")
    nothing_ran(window)


def test_a_grant_is_made_and_taken_back(installation: Installation, window: Browser) -> None:
    agent = installation.agent(f"{NAME} may")
    installation.sign_in(window, at="/approvals")
    window.click("#part-part_grants ~ * details > summary")
    installation.choose(window, "#grant-agent", agent)
    window.type("#grant-actions", "ws_write, ws_edit")
    window.type("#grant-touches", "notes/")
    window.click("#part-part_grants ~ * button.send")
    window.says(f"{NAME} may", "#part-part_grants ~ * ul")
    (grant,) = installation.server.call("GET", f"/agents/{agent}/grants")["items"]
    assert (grant["actions"], grant["touches"]) == (["ws_write", "ws_edit"], "notes/")
    nothing_ran(window)
    window.run("window.confirm = () => true")
    window.click("#part-part_grants ~ * .reject")
    window.until(
        lambda: not installation.server.call("GET", f"/agents/{agent}/grants")["items"],
        "the grant is there",
    )
