"""Reading allowed pages and searching: what counts as external, and that results taint."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from opencrab.actions.registry import Registry
from opencrab.actions.web import RESULT_BYTES, group
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Invalid, Refused, Unavailable
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Language
from opencrab.ports.turn.action import Action, ActionContext
from opencrab.ports.web import WebPage, WebResult

REGISTRY = Registry([group])
PREFIX = "https://docs.example.org/3/"


@dataclass
class OnePlace:
    """`ports.web.Web` with one prefix, and `ports.web.SearchEngine`."""

    page: WebPage | Exception = field(default_factory=lambda: WebPage(PREFIX, "蟹", "海の生き物"))
    asked: list[object] = field(default_factory=list)

    def prefix(self, url: str) -> str | None:
        if not url.startswith("http"):
            raise Invalid("cannot be resolved")
        return PREFIX if url.startswith(PREFIX) else None

    def fetch(self, url: str) -> WebPage:
        self.asked.append(url)
        if isinstance(self.page, Exception):
            raise self.page
        return self.page

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        self.asked.append((query, limit))
        return (WebResult("蟹", "https://ja.example.net/蟹", "横に歩く"),)


def context(place: OnePlace | None) -> ActionContext:
    """What these actions look at, and nothing else."""
    return cast(
        ActionContext,
        SimpleNamespace(reach=SimpleNamespace(web=place, web_search=place), prepared={}),
    )


def action(name: str) -> Action:
    found = REGISTRY.find(name)
    assert found is not None
    return found


def run(place: OnePlace | None, name: str, **arguments: Any) -> ActionResult:
    done = action(name)
    return done.run(done.arguments.model_validate(arguments), context(place))


def impact(url: str, place: OnePlace | None) -> Impact:
    fetch = action("web_fetch")
    assert fetch.impact_of is not None
    return fetch.impact_of(fetch.arguments.model_validate({"url": url}), context(place))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (PREFIX, Impact.READ),
        (f"{PREFIX}#top", Impact.READ),
        (f"{PREFIX}library", Impact.EXTERNAL),
        (f"{PREFIX}?q=蟹", Impact.EXTERNAL),
        (f"{PREFIX}?", Impact.EXTERNAL),
        (f"{PREFIX}?q#", Impact.EXTERNAL),
        ("https://evil.example.com/?secret", Impact.READ),
        ("cannot be resolved", Impact.READ),
    ],
)
def test_whatever_goes_beyond_a_prefix_is_external(url: str, expected: Impact) -> None:
    assert impact(url, OnePlace()) is expected


def test_without_any_allowed_page_nothing_leaves() -> None:
    assert impact(PREFIX, None) is Impact.READ
    assert not run(None, "web_fetch", url=PREFIX).success
    assert not run(None, "web_search", query="x").success


def test_a_page_comes_as_text_and_taints() -> None:
    result = run(OnePlace(), "web_fetch", url=PREFIX)
    assert (result.success, result.taint) == (True, True)
    assert result.data == {"url": PREFIX, "title": "蟹", "text": "海の生き物", "cut": False}


def test_a_page_that_was_cut_says_so() -> None:
    place = OnePlace(WebPage(PREFIX, "t", '"\n' * 10_240, cut=True))
    result = run(place, "web_fetch", url=PREFIX)
    assert result.data is not None
    assert result.data["cut"]
    assert "beginning" in result.data["note"]
    assert len(result.model_dump_json().encode()) < RESULT_BYTES


def test_a_refused_page_tells_the_model_what_is_allowed() -> None:
    place = OnePlace(Refused("this address is not allowed", cure=f"allowed is {PREFIX}"))
    result = run(place, "web_fetch", url="https://evil.example.com/")
    assert result.error == f"this address is not allowed: allowed is {PREFIX}"


def test_a_page_that_is_out_of_order_is_left_to_the_engine() -> None:
    with pytest.raises(Unavailable):
        run(OnePlace(Unavailable("down")), "web_fetch", url=PREFIX)


def test_a_search_is_external_and_its_results_taint() -> None:
    place = OnePlace()
    result = run(place, "web_search", query="蟹")
    assert (result.success, result.taint) == (True, True)
    assert result.data == {
        "results": [{"title": "蟹", "url": "https://ja.example.net/蟹", "snippet": "横に歩く"}]
    }
    assert place.asked == [("蟹", 5)]
    assert action("web_search").impact is Impact.EXTERNAL


def test_a_blank_query_is_not_sent() -> None:
    place = OnePlace()
    assert not run(place, "web_search", query=" 　").success
    assert place.asked == []


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": "x" * 401}, {"query": "x", "limit": 11}]
)
def test_arguments_out_of_bounds_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        action("web_search").arguments.model_validate(arguments)


def test_what_is_sent_is_shown_on_one_line() -> None:
    fetch, search = action("web_fetch"), action("web_search")
    assert fetch.touches is not None
    assert search.touches is not None
    url = "https://docs.example.org/3/a?secret=1\n2\u202e#fragment"
    shown = fetch.touches(fetch.arguments.model_validate({"url": url}))
    assert shown == "docs.example.org/3/a?secret=1 2"
    assert search.touches(search.arguments.model_validate({"query": "a\nb 蟹"})) == "a b 蟹"
    assert fetch.sentence({"url": url}, Language.JA).startswith("ページを読む: https://docs")


def test_both_only_read_and_are_left_out_where_they_are_absent() -> None:
    assert {each.effect for each in group.actions} == {Effect.PURE}
    left = Registry([group], absent={"web_search"})
    assert left.find("web_search") is None
    assert left.find("web_fetch") is not None


def test_the_prompts_are_short() -> None:
    for each in group.actions:
        for language in Language:
            assert len(each.schema(language).description.encode()) <= 160
