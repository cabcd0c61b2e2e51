"""The web as settings allow it: nothing unless asked for, clear words where it cannot be."""

from typing import Any

import pytest

from opencrab.bootstrap.web import configured_web_access
from opencrab.domain.errors import Invalid
from opencrab.settings import load_settings

KEY = {"WEB_SEARCH_API_KEY": "BSA-key-of-the-crab"}


def made(**environment: str) -> tuple[Any, Any, frozenset[str]]:
    def carrier() -> Any:
        raise AssertionError("nobody searches yet")

    return configured_web_access(load_settings({}, environment), carrier)


def test_nothing_is_offered_unless_it_is_configured() -> None:
    assert made() == (None, None, frozenset({"web_fetch", "web_search"}))
    assert load_settings({}, {}).absent["web.search"] == "WEB_SEARCH_API_KEY"
    assert "web.search" not in load_settings({}, KEY).absent


def test_allowed_pages_are_offered() -> None:
    web, _, absent = made(OPENCRAB_WEB__ALLOW="https://docs.example.org/3/, https://例え.jp/")
    assert absent == {"web_search"}
    assert web.prefix("https://docs.example.org/3/library") == "https://docs.example.org/3/"
    assert web.prefix("https://例え.jp/蟹") == "https://xn--r8jz45g.jp/"
    assert web.prefix("https://evil.example.com/") is None


def test_brave_needs_its_key_and_tells_nobody() -> None:
    _, search, absent = made(**KEY)
    assert absent == {"web_fetch"}
    assert search.base_url == "https://api.search.brave.com/res/v1"
    assert KEY["WEB_SEARCH_API_KEY"] not in repr(search)


def test_searxng_needs_an_address_and_no_key() -> None:
    kind = {"OPENCRAB_WEB__SEARCH__KIND": "searxng"}
    _, search, absent = made(**kind, OPENCRAB_WEB__SEARCH__BASE_URL="http://localhost:8888/")
    assert absent == {"web_fetch"}
    assert search.base_url == "http://localhost:8888"
    with pytest.raises(Invalid) as caught:
        made(**kind)
    assert caught.value.field == "web.search.base_url"


@pytest.mark.parametrize(
    ("variable", "text", "field"),
    [
        ("OPENCRAB_WEB__ALLOW", "docs.example.org", "web.allow"),
        ("OPENCRAB_WEB__ALLOW", "https://127.0.0.1/", "web.allow"),
        ("OPENCRAB_WEB__SEARCH__KIND", "google", "web.search.kind"),
        ("OPENCRAB_WEB__SEARCH__BASE_URL", "http://search.example.org", "web.search.base_url"),
        ("OPENCRAB_WEB__SEARCH__BASE_URL", "https://169.254.169.254/", "web.search.base_url"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(variable: str, text: str, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        made(**KEY, **{variable: text})
    assert caught.value.field == field
    assert caught.value.cure
