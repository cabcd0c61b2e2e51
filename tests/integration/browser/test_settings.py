"""The settings, in Chromium: what an owner changes there is what the API has afterwards."""

from typing import Any

import httpx
import pytest

from tests.integration.browser.conftest import Installation
from tests.integration.browser.harm import NAME, nothing_ran
from tests.integration.browser.webdriver import Browser
from tests.running import free_port

pytestmark = pytest.mark.timeout(300)

SILENT = "window.confirm = () => true"


def fill(window: Browser, selector: str, value: str) -> None:
    """Write a value into a field, in place of what is there."""
    window.shown(selector)
    window.run("document.querySelector(arguments[0]).value = ''", selector)
    window.type(selector, value)


def provider(installation: Installation, name: str) -> Any:
    """A provider as the API shows it."""
    found = installation.server.call("GET", "/llm/providers?limit=200")["items"]
    return next(each for each in found if each["name"] == name)


def test_the_installation_says_what_works_and_freezes(
    installation: Installation, window: Browser
) -> None:
    installation.sign_in(window, at="/settings")
    window.says("DISCORD_TOKEN", "#part-part_missing ~ *")
    japanese = window.run("return document.documentElement.lang") == "ja"
    cure = "を設定して、起動し直してください" if japanese else "and start again"
    window.says(cure, "#part-part_missing ~ *")
    window.shown(".check.ok")
    names = window.run(
        "return [...document.querySelectorAll('.check strong')].map((each) => each.textContent)"
    )
    assert ("データ" if japanese else "Data") in names
    window.run(SILENT)
    window.click(".switch .stop")
    window.shown(".switch .warning")
    assert installation.server.call("GET", "/system/state")["state"] == "frozen"
    window.click(".switch button:not(.stop)")
    window.shown(".switch .stop")
    assert installation.server.call("GET", "/system/state")["state"] == "running"


def test_a_provider_gets_a_key_that_is_never_shown_again_and_is_switched_off(
    installation: Installation, window: Browser
) -> None:
    installation.sign_in(window, at="/settings/providers")
    row = '[data-provider="lmstudio"]'
    window.click(f"{row} summary")
    window.type("#key-lmstudio", "sk-of-the-test")
    fill(window, "#address-lmstudio", f"http://127.0.0.1:{free_port()}/v1")
    window.click(f"{row} button.send")
    window.shown(f"{row} .health.good")
    assert provider(installation, "lmstudio")["has_key"]
    assert "sk-of-the-test" not in window.run(
        "return [...document.querySelectorAll('input')].map((each) => each.value).join()"
        " + document.body.textContent"
    )
    window.run(SILENT)
    window.click(f"{row} .line .action button")
    window.until(lambda: not provider(installation, "lmstudio")["enabled"], "the provider is on")
    installation.server.call("PUT", "/llm/providers/lmstudio", {"enabled": True})


def test_limits_are_set_in_dollars_and_reset(installation: Installation, window: Browser) -> None:
    installation.sign_in(window, at="/settings/budgets")
    fill(window, "#limit-turn", "0.25")
    window.click(".settings button.send")
    window.until(
        lambda: installation.server.call("GET", "/budgets")["limits"]["turn_micro_usd"] == 250_000,
        "the limit is not stored",
    )
    assert installation.server.call("GET", "/budgets")["changed"] == ["turn_micro_usd"]
    window.run(SILENT)
    window.click(".settings form ~ .action button")
    window.until(lambda: not installation.server.call("GET", "/budgets")["changed"], "not reset")


def test_a_key_is_made_shown_once_and_revoked(installation: Installation, window: Browser) -> None:
    installation.sign_in(window, at="/settings/keys")
    window.type("#key-name", NAME)
    installation.choose(window, "#key-scope", "read")
    window.type("#key-grants", "metrics")
    window.click("button.send")
    window.shown("#new-secret")
    secret = window.text("#new-secret")
    said = httpx.get(
        f"{installation.url}api/keys/current", headers={"authorization": f"Bearer {secret}"}
    )
    assert (said.json()["name"], said.json()["scope"]) == (NAME, "read")
    installation.go(window, "/settings/keys")
    window.says(NAME, "ul.paged")
    assert secret not in window.text("body")
    nothing_ran(window)
    made = [
        each
        for each in installation.server.call("GET", "/keys?limit=200")["items"]
        if each["name"] == NAME
    ]
    assert [each["grants"] for each in made if not each["revoked_at"]] == [["metrics"]]
    window.run(SILENT)
    window.click("ul.paged .reject")
    window.until(
        lambda: all(
            each["revoked_at"]
            for each in installation.server.call("GET", "/keys?limit=200")["items"]
            if each["name"] == NAME
        ),
        "the key is not revoked",
    )


def test_an_agent_gets_another_model_for_one_use(
    installation: Installation, window: Browser
) -> None:
    agent = installation.agent(NAME)
    installation.sign_in(window, at=f"/settings/agents?agent={agent}")
    fill(window, "#config-creative", "vllm:slow")
    window.click("button.send")
    window.says("vllm:slow", "table")
    config = installation.server.call("GET", f"/agents/{agent}/llm/config")
    assert config["models"] == {"creative": "vllm:slow"}
    nothing_ran(window)


def test_the_order_of_fallbacks_and_an_alias_are_stored(
    installation: Installation, window: Browser
) -> None:
    installation.sign_in(window, at="/settings/models")
    window.type("#fallback-more", "vllm:slow")
    window.click("#fallback .beside button")
    window.click(".order li:last-child button")
    window.click("#fallback button.send")
    window.shown("#fallback .good")
    first = installation.server.call("GET", "/llm/fallback")["fallback"][0]
    assert first == "vllm:slow"
    window.click("#part-part_aliases ~ * summary")
    fill(window, "#aliases .row:first-child input:nth-of-type(2)", "vllm:slow")
    window.click("#aliases button.send")
    window.shown("#aliases .good")
    assert installation.server.call("GET", "/llm/aliases")["aliases"]["fast"] == "vllm:slow"
    installation.server.call("PUT", "/llm/fallback", {"fallback": None})
    installation.server.call("PUT", "/llm/aliases", {"aliases": None})


def test_a_provider_is_added_checked_at_once_and_removed(
    installation: Installation, window: Browser
) -> None:
    here = provider(installation, "vllm")["base_url"]
    installation.sign_in(window, at="/settings/providers")
    window.shown('[data-provider="vllm"]')
    window.click("#new-provider summary")
    window.type("#new-provider-name", "vllm")
    window.type("#new-provider-address", here)
    # One that is there already is not changed by this form.
    assert not window.run("return document.querySelector('#new-provider-name').checkValidity()")
    fill(window, "#new-provider-name", "my_gateway")
    window.type("#new-provider-key", "sk-of-the-test")
    window.type("#new-provider-model", "slow")
    window.click("#new-provider-private")
    window.click("#new-provider button.send")
    window.says("ms", "#new-provider-health.good")
    window.says("slow", "#new-provider-health details")
    added = provider(installation, "my_gateway")
    assert (added["kind"], added["base_url"], added["default_model"]) == ("openai", here, "slow")
    assert (added["has_key"], added["private"], added["added"]) == (True, True, True)
    assert "sk-of-the-test" not in window.run(
        "return [...document.querySelectorAll('input')].map((each) => each.value).join()"
        " + document.body.textContent"
    )
    window.run(SILENT)
    window.click('[data-provider="my_gateway"] .line .reject')
    window.until(lambda: window.count('[data-provider="my_gateway"]') == 0, "it is still shown")
    found = installation.server.call("GET", "/llm/providers?limit=200")["items"]
    assert "my_gateway" not in {each["name"] for each in found}
    assert window.count('[data-provider="vllm"] .reject') == 0


def test_a_provider_that_cannot_be_reached_is_added_and_says_why(
    installation: Installation, window: Browser
) -> None:
    installation.sign_in(window, at="/settings/providers")
    window.shown('[data-provider="vllm"]')
    window.click("#new-provider summary")
    window.type("#new-provider-name", "nobody")
    window.type("#new-provider-address", f"http://127.0.0.1:{free_port()}/v1")
    window.click("#new-provider-private")
    window.click("#new-provider button.send")
    window.shown("#new-provider-health.bad")
    window.run(SILENT)
    window.click('[data-provider="nobody"] .line .reject')
    window.until(lambda: window.count('[data-provider="nobody"]') == 0, "it is still shown")


def test_each_setting_says_what_sets_it(installation: Installation, window: Browser) -> None:
    installation.sign_in(window, at="/settings/values")
    window.type("#values-words", "vllm.base_url")
    window.until(lambda: window.count("tbody tr") == 1, "not one setting")
    window.says("OPENCRAB_LLM__PROVIDERS__VLLM__BASE_URL", "tbody tr")
    fill(window, "#values-words", "llm.default_provider")
    window.shown("tbody tr .badge:not(.active)")
    window.click("#values-own")
    window.until(lambda: window.count("tbody tr") == 0, "a default is shown")
    window.shown(".reading .empty")
