"""The pages of skills before a real `opencrab up`: read, switched, written, edited, approved."""

import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import HOSTILE, nothing_ran
from tests.integration.browser.test_agents import opened, yes
from tests.integration.browser.test_page import nothing_was_forbidden
from tests.integration.browser.webdriver import Browser

pytestmark = pytest.mark.timeout(300)

SKILL = {"name": "tidy", "description": "Tidy 整理", "guidance": "One fact per line."}
WAITING = """
const real = window.fetch;
window.sent = [];
window.fetch = async (url, options) => {
  if (options?.method === "POST" && url.endsWith("/approve")) {
    window.sent.push(options.headers["If-Match"]);
    window.approved = true;
  } else if (options?.method !== "GET" || !/skills/.test(url)) return real(url, options);
  const answer = url.endsWith("/approve") ? null : await real(url, options);
  const body = answer ? await answer.json() : {};
  for (const each of url.includes("/analytics/") ? [] : body.items ?? [body]) {
    if (each.kind !== "acquired" || window.approved) continue;
    Object.assign(each, {status: "quarantined", tainted: true, version: "3"});
  }
  for (const each of url.includes("/analytics/") ? body.skills : []) {
    each.effect = {points: 12, low: 3, high: 21, given: 40, held: 38};
  }
  return new Response(JSON.stringify(body), {headers: {"Content-Type": "application/json"}});
};
"""


def test_standard_skills_are_read_and_switched(installation: Installation, window: Browser) -> None:
    agent = installation.agent("Skilled")
    opened(installation, window, f"/skills?agent={agent}")
    window.shown("#skill-knowledge-vault")
    path = f"/agents/{agent}/skills/knowledge-vault"
    assert installation.server.call("GET", path)["status"] == "disabled"
    window.click("#skill-knowledge-vault")
    window.until(lambda: installation.server.call("GET", path)["status"] == "active", "it is off")
    article = ".skill:has(#skill-knowledge-vault)"
    window.click(f"{article} summary")
    window.until(lambda: len(window.text(f"{article} pre")) > 200, "its text is not shown")
    installation.go(window, f"/agents/{agent}/skills")
    window.says("Skilled", "h1")
    window.until(
        lambda: window.run("return document.querySelector('#skill-knowledge-vault')?.checked"),
        "it is not shown as on",
    )
    assert nothing_was_forbidden(window)


def test_a_skill_is_written_edited_switched_retired_and_restored(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Taught")
    opened(installation, window, f"/agents/{agent}/skills")
    window.click(".creation summary")
    window.type("#skill-name", "tidy-notes")
    window.type("#skill_description-new", "Tidy notes メモの整理")
    window.type("#skill_guidance-new", "One fact per line. 一行に一つ。")
    window.click(".creation .send")
    window.says("Tidy notes メモの整理", ".skill.acquired")
    window.shown(".skill.acquired .badge.active")
    path = f"/agents/{agent}/skills/tidy-notes"
    window.click(".skill.acquired summary")
    window.type("#skill_guidance-tidy-notes", " No more.")
    window.click(".skill.acquired form .send")
    window.shown(".skill.acquired form .good")
    skill = installation.server.call("GET", path)
    assert (skill["guidance"], skill["version"]) == (
        "One fact per line. 一行に一つ。 No more.",
        "2",
    )
    buttons = ".skill.acquired > .buttons .action:nth-child"
    window.click(f"{buttons}(1) button")
    window.shown(".skill.acquired .badge.disabled")
    yes(window)
    window.click(f"{buttons}(2) button")
    window.shown(".skill.acquired .badge.archived")
    assert "tidy-notes" in window.run("return window.asked[0]")
    window.click(f"{buttons}(1) button")
    window.shown(".skill.acquired .badge.candidate")
    assert installation.server.call("GET", path)["status"] == "candidate"
    assert nothing_was_forbidden(window)


def test_a_skill_that_waits_is_approved_in_the_version_that_was_read(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Waits")
    installation.server.call("POST", f"/agents/{agent}/skills", SKILL)
    opened(installation, window, "/skills")
    window.shown("#skills-of")
    window.run(WAITING)
    installation.choose(window, "#skills-of", agent)
    window.shown(".skill.acquired .badge.quarantined")
    window.shown(".skill.acquired .warning")
    window.shown(".skill.acquired .scale.helps .interval")
    window.says("+12", ".skill.acquired .effect")
    window.click(".skill.acquired summary")
    window.says("One fact per line.", ".skill.acquired pre")
    window.click(".skill.acquired .approve")
    window.until(lambda: window.count(".skill.acquired .badge.quarantined") == 0, "it waits")
    assert window.run("return window.sent") == ['"3"']


def test_a_read_key_reads_skills_and_a_chat_key_has_no_such_page(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent("Read about")
    installation.server.call("POST", f"/agents/{agent}/skills", SKILL)
    for scope, grants in (("read", {"grants": ["all"]}), ("chat", {})):
        made = installation.server.call("POST", "/keys", {"name": scope, "scope": scope, **grants})
        installation.sign_in(window, made["secret"])
        window.shown("main h1")
        assert window.count("#menu a[href='/skills']") == (scope == "read")
        installation.go(window, f"/agents/{agent}/skills")
        assert window.count(".skill") == (8 if scope == "read" else 0)
        assert window.count(".skill button, .skill input:enabled, .creation") == 0


def test_hostile_skills_stay_text(installation: Installation, window: Browser) -> None:
    agent = installation.agent("Hostile skills")
    body = {
        "name": "hostile",
        "description": " ".join(HOSTILE[:-1]),
        "situation_pattern": HOSTILE[1],
        "guidance": "\n".join(HOSTILE[:-1]),
    }
    installation.server.call("POST", f"/agents/{agent}/skills", body)
    opened(installation, window, f"/agents/{agent}/skills")
    window.says("<svg/onload=", ".skill.acquired > p")
    window.click(".skill.acquired summary")
    window.until(
        lambda: (
            "</textarea>"
            in window.run("return document.querySelector('#skill_guidance-hostile')?.value ?? ''")
        ),
        "the text is not in the editor",
    )
    nothing_ran(window)
