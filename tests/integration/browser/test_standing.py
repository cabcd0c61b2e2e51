"""What agents do unasked and with each other, in Chromium: plans, folders, promises, worlds."""

import json
from pathlib import Path

import httpx
import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.life import furnish_life
from tests.integration.browser.webdriver import Browser
from tests.running import KEY

pytestmark = pytest.mark.timeout(300)

TEXTS = ("潮を毎朝8時に調べる", "Ask the harbour", "write report.md", "報告する")


@pytest.fixture
def lived(installation: Installation) -> tuple[str, str]:
    """An agent that lives with others, and the address of its discussion."""
    agent = installation.agent("Nagi 凪", heartbeat={"enabled": True, "interval_seconds": 86_399})
    with httpx.Client(
        base_url=f"{installation.url}api",
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=60,
        trust_env=False,
    ) as client:
        (session,) = furnish_life(client, installation.data, agent, TEXTS)
    return agent, session


def test_the_outcome_of_a_discussion_says_who_kept_what(
    installation: Installation, window: Browser, lived: tuple[str, str]
) -> None:
    installation.sign_in(window, at=lived[1])
    outcome = "[aria-labelledby=part-sessions_outcome]"
    window.run("document.querySelector('details.side').open = true")
    window.shown(f"{outcome} .badge.kept")
    assert window.count(f"{outcome} .badge.broken") == 2
    assert window.count(f"{outcome} .badge.declined") == 1
    window.says("潮を毎朝8時に調べる", outcome)
    window.says("G2 active", outcome)


def test_promises_are_shown_with_trust_and_an_owner_says_whom_an_agent_reaches(
    installation: Installation, window: Browser, lived: tuple[str, str]
) -> None:
    agent, _ = lived
    installation.sign_in(window, at=f"/agents/{agent}/memory")
    window.click("#tab-memory_peers")
    window.shown("[aria-labelledby=part-memory_promises] .badge.kept")
    window.click("[aria-labelledby=part-memory_known_peers] details summary")
    history = "[aria-labelledby=part-memory_known_peers] details li"
    window.until(lambda: window.count(history) == 2, "no two judged promises")
    window.shown("#peer-reach")
    installation.choose(window, "#peer-reach", "nobody")
    window.click("[aria-labelledby=part-memory_reach] button.send")
    path = f"/agents/{agent}/peer-policy"
    window.until(
        lambda: installation.server.call("GET", path)["reach"] == "nobody", "the rule is not saved"
    )
    # Until the page knows as well, its button saves nothing else.
    window.shown("[aria-labelledby=part-memory_reach] .good")
    installation.choose(window, "#peer-reach", "listed")
    window.click("[aria-labelledby=part-memory_reach] .choice input")
    window.click("[aria-labelledby=part-memory_reach] button.send")
    window.until(
        lambda: len(installation.server.call("GET", path)["agents"]) == 1, "nobody is listed"
    )


def test_a_plan_its_zone_and_a_folder(
    installation: Installation, window: Browser, lived: tuple[str, str], tmp_path: Path
) -> None:
    agent, _ = lived
    installation.sign_in(window, at=f"/agents/{agent}/standing")
    window.says("world.bounty")
    window.says("0 8 * * *")
    window.type("#agent-zone", "Asia/Tokyo")
    window.click("[aria-labelledby=part-standing_zone] button.send")
    path = f"/agents/{agent}"
    window.until(
        lambda: installation.server.call("GET", path)["time_zone"] == "Asia/Tokyo", "no zone"
    )
    notes = tmp_path / "ノート notes"
    notes.mkdir()
    workspace = "[data-place=workspace]"
    window.click(f"{workspace} summary")
    window.type("#folder-workspace", str(tmp_path / "nowhere"))
    window.click(f"{workspace} button.send")
    window.shown(f"{workspace} .problem")
    window.run("document.getElementById('folder-workspace').value = arguments[0]", str(notes))
    window.click(f"{workspace} button.send")
    window.says(str(notes), workspace)
    found = installation.server.call("GET", f"{path}/folders")["items"]
    assert {each["place"] for each in found} == {"vault", "workspace"}


def test_a_world_is_trusted_up_to_a_limit(
    installation: Installation, window: Browser, lived: tuple[str, str]
) -> None:
    agent, _ = lived
    installation.sign_in(window, at="/settings/worlds")
    card = f"[aria-labelledby='world-of-{agent}']"
    window.shown(f"{card} .facts")
    window.says("harbour", card)
    window.run(f'document.querySelectorAll("{card} details").forEach((e) => {{ e.open = true }})')
    window.shown(f"{card} ul.paged > li")
    # The facts of the other worlds push this one down while they come.
    window.until(
        lambda: window.count("section.card") == window.count("section.card .facts"), "no facts"
    )
    window.click(f"{card} form input[type=checkbox]")
    window.shown(f"{card} form input:checked")
    window.run(f"document.querySelector({json.dumps(f'#limit-{agent}')}).value = 70")
    window.click(f"{card} button.send")
    window.until(
        lambda: installation.server.call("GET", f"/agents/{agent}/world")["trust"], "not trusted"
    )
    trust = installation.server.call("GET", f"/agents/{agent}/world")["trust"]
    assert trust["daily_limit"] == 70
    window.says("70", f"{card} .facts")
