"""The figures, in Chromium: what agents did is drawn and said as a table; gaps are said."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import NAME, nothing_ran
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

AGENTS = "#part-figures_agents ~ .scrolls table"
NO_COSTS = {
    "en": "Nothing cost anything in this period.",
    "ja": "この期間に費用はかかっていません。",
}
HOSTILE = f'{NAME}"><svg/onload=window.ran=1>'


def talked(installation: Installation, name: str) -> tuple[str, str]:
    """An agent that has answered once, and its turn."""
    agent = installation.agent(name)
    session = installation.server.call("POST", "/sessions", {"participants": [agent]})["id"]
    answered = installation.server.say(session, "hello")
    return agent, str(answered["turn_ids"][0])


def test_what_agents_did_is_drawn_and_said_as_a_table(
    installation: Installation, window: Browser
) -> None:
    agent, turn = talked(installation, HOSTILE)
    installation.sign_in(window, at="/analytics")
    window.says(HOSTILE, AGENTS)
    window.click(f'a[href="/analytics/{agent}"]')
    window.says(HOSTILE, "h1")
    window.shown(".chart svg .bar")
    window.click(".chart details summary")
    window.shown(".chart details[open] td")
    window.says("scripted:rules", "main")
    window.click(f'a[href="/analytics/turns/{turn}"]')
    window.says("scripted:rules", "main table")
    nothing_ran_but_drawings(window)


def test_a_chart_of_nothing_but_zeros_says_so_in_both_languages(
    installation: Installation, window: Browser
) -> None:
    agent, _ = talked(installation, HOSTILE)
    installation.sign_in(window)
    for _ in NO_COSTS:
        for place in ("/analytics", f"/analytics/{agent}"):
            installation.go(window, place)
            said = NO_COSTS[window.run("return document.documentElement.lang")]
            window.says(said, ".chart .empty")
        assert window.count(".chart svg .bar") > 0, "there were calls, which are drawn"
        window.click(".language")
    nothing_ran_but_drawings(window)


def test_each_page_of_an_agent_without_results_says_so(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent(HOSTILE)
    installation.sign_in(window)
    for part in ("", "/models", "/learning", "/relations"):
        installation.go(window, f"/analytics/{agent}{part}")
        window.shown("main .card, main .empty")
        window.until(lambda: not window.count("[aria-busy]"), "it reads for ever")
        assert HOSTILE in window.text("h1")
        assert window.count(".problem") == 0
    nothing_ran_but_drawings(window)


def test_another_model_is_calculated_and_an_experiment_pinned(
    installation: Installation, window: Browser
) -> None:
    agent, _ = talked(installation, HOSTILE)
    installation.sign_in(window, at=f"/analytics/{agent}/models")
    window.type("#what-if-now", "scripted:rules")
    window.type("#what-if-other", "openai:gpt-5-mini")
    window.click("form button.send")
    window.says("→", "form ~ [role=status] dl")
    window.shown(".chart .cell")
    installation.go(window, f"/analytics/{agent}/learning")
    window.click('[data-subject="memory"] button')
    window.until(
        lambda: (
            installation.server.call("GET", f"/agents/{agent}/experiments")["pinned"] == ["memory"]
        ),
        "it is not pinned",
    )


def test_a_read_key_sees_the_figures_of_its_agent_only(
    installation: Installation, window: Browser
) -> None:
    agent, _ = talked(installation, HOSTILE)
    made = installation.server.call(
        "POST", "/keys", {"name": "reader", "scope": "read", "grants": [f"agent:{agent}"]}
    )
    installation.sign_in(window, made["secret"], at="/analytics")
    window.says(HOSTILE, AGENTS)
    assert window.count(f"{AGENTS} a") == 1
    installation.go(window, f"/analytics/{agent}")
    window.shown(".chart svg .bar")
    assert window.count(".subpages a") == 2
    assert window.count('#menu a[href="/settings"]') == 0
    nothing_ran_but_drawings(window)


def nothing_ran_but_drawings(window: Browser) -> None:
    """Charts are the only drawings."""
    drawn = "document.querySelectorAll('.drawing > svg').forEach((each) => each.remove())"
    window.run(drawn)
    nothing_ran(window)
