"""Search services: what they are asked, what is made of their answers, and that no key leaks."""

import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.web.search import BraveSearch, SearxngSearch
from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.web import SearchEngine, WebResult

KEY = "BSA-key-of-the-crab"


@dataclass
class Service:
    """A carrier that answers with one thing, and remembers what it was asked."""

    answer: Any
    status: int = 200
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    def send(self, url: str, *, headers: Mapping[str, str], timeout_seconds: float) -> Reply:
        self.asked.append((url, headers))
        if isinstance(self.answer, Exception):
            raise self.answer
        is_raw = isinstance(self.answer, bytes)
        return Reply(self.status, self.answer if is_raw else json.dumps(self.answer).encode())


def brave(service: Service) -> SearchEngine:
    return BraveSearch(lambda: service, KEY)


def searxng(service: Service) -> SearchEngine:
    return SearxngSearch(lambda: service, "http://localhost:8888")


def test_brave_is_asked_with_its_key_in_a_header_only() -> None:
    found = [
        {"title": "蟹 <b>ガザミ</b>", "url": "https://ja.example.net/蟹",
         "description": "横に<strong>歩く</strong>"},
        {"title": "Crab", "url": "https://example.org/", "description": "walks &amp; hides"},
    ]  # fmt: skip
    service = Service({"web": {"results": found}})
    assert brave(service).search("蟹 & crab", 2) == (
        WebResult("蟹 ガザミ", "https://ja.example.net/蟹", "横に歩く"),
        WebResult("Crab", "https://example.org/", "walks & hides"),
    )
    ((url, headers),) = service.asked
    assert url == ("https://api.search.brave.com/res/v1/web/search?q=%E8%9F%B9+%26+crab&count=2")
    assert headers["x-subscription-token"] == KEY


def test_searxng_is_asked_for_json_without_a_key() -> None:
    service = Service(
        {"results": [{"title": "蟹", "url": "https://a.org/", "content": "海の蟹"}] * 9}
    )
    assert searxng(service).search("蟹", 5) == (WebResult("蟹", "https://a.org/", "海の蟹"),) * 5
    assert service.asked == [
        ("http://localhost:8888/search?q=%E8%9F%B9&format=json", {"accept": "application/json"})
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {}, [], None, {"web": None, "results": None}, {"results": {"a": 1}, "web": {"results": 1}},
        {"results": [None, 1, "x", {}, {"url": 3}, {"url": "javascript:x"}], "web": []},
    ],
)  # fmt: skip
def test_an_answer_of_another_form_has_no_results(answer: Any) -> None:
    assert brave(Service(answer)).search("x", 5) == ()
    assert searxng(Service(answer)).search("x", 5) == ()


def test_results_are_short_lines_of_visible_text() -> None:
    item = {"title": "a\u202eb\n" * 500, "url": "https://a.org/", "description": "蟹" * 5_000}
    (result,) = brave(Service({"web": {"results": [item]}})).search("x", 5)
    assert len(result.title) == 200
    assert not set(result.title) & set("\n\u202e")
    assert len(result.snippet) == 500


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        ({"error": KEY}, 401, Refused), ({"error": KEY}, 403, Refused),
        (KEY.encode(), 429, Unavailable), ([], 302, Unavailable),
        ({"error": KEY}, 500, Unavailable), (KEY.encode(), 200, Unavailable),
        (b"[" * 100_000, 200, Unavailable),
        (ModelCallFailed(f"broke off at {KEY}", Fault.BROKEN_OFF), 200, Unavailable),
    ],
)  # fmt: skip
def test_what_goes_wrong_tells_no_key(answer: Any, status: int, error: type[OpenCrabError]) -> None:
    service = Service(answer, status)
    with pytest.raises(error) as caught:
        brave(service).search("x", 5)
    told = traceback.format_exception(caught.value)
    assert KEY not in f"{caught.value.message}{caught.value.cure}{told}"


def test_a_key_that_comes_back_in_a_result_is_hidden() -> None:
    item = {"title": KEY, "url": f"https://a.org/?k={KEY}", "description": f"<b>{KEY}</b>"}
    (result,) = brave(Service({"web": {"results": [item]}})).search("x", 5)
    assert KEY not in repr(result)
    assert KEY not in repr(brave(Service({})))
