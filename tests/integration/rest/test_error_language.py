"""Errors over REST in the language that a client asks for: what it reads, and nothing else."""

from typing import Any

import pytest

from tests.integration.rest.house import House, problem

JA = {"Accept-Language": "ja,en;q=0.8"}
TEXTS = ("title", "detail", "cure")


def _both(
    house: House, method: str, path: str, status: int, **request: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same request in English and in Japanese."""
    english = house.call(method, path, **request)
    japanese = house.call(method, path, headers=JA, **request)
    assert "content-language" not in english.headers
    assert japanese.headers["content-language"] == "ja"
    return problem(english, status), problem(japanese, status)


def test_an_error_is_told_in_japanese_and_keeps_what_programs_read(shared: House) -> None:
    english, japanese = _both(shared, "GET", "/agents/nobody", 404)
    assert english["detail"] == "there is no agent 'nobody'"
    assert japanese["title"] == "見つかりません"
    assert "'nobody'" in japanese["detail"]
    for name in TEXTS:
        assert japanese.pop(name) != english.pop(name)
    assert japanese == english


def test_each_field_of_a_validation_error_is_told_in_japanese(shared: House) -> None:
    body = {"name": 5, "language": "fr", "nobody": 1}
    english, japanese = _both(shared, "POST", "/agents", 422, body=body)
    assert len(japanese["errors"]) == len(english["errors"]) == 3
    for one, other in zip(english["errors"], japanese["errors"], strict=True):
        assert other["field"] == one["field"]
        assert other["detail"] != one["detail"]
        assert other["cure"] != one["cure"]
    first = japanese["errors"][0]
    assert japanese["detail"] == f"{first['field']}: {first['detail']}"


@pytest.mark.parametrize("path", ["/nothing", "/agents/nobody/memory/curated"])
def test_a_route_without_a_key_or_that_is_not_there_tells_it_in_japanese(
    shared: House, path: str
) -> None:
    _, japanese = _both(shared, "GET", path, 401, key="wrong")
    assert japanese["title"] == "有効な API キーがありません"


def test_a_key_of_too_small_a_scope_is_told_so(shared: House) -> None:
    _, japanese = _both(shared, "POST", "/agents", 403, key=shared.chat, body={"name": "x"})
    assert "スコープ" in japanese["detail"]
    assert "opencrab admin keys create" in japanese["cure"]


def test_other_languages_are_answered_in_english(shared: House) -> None:
    answer = shared.call("GET", "/agents/nobody", headers={"Accept-Language": "fr"})
    assert problem(answer, 404)["detail"] == "there is no agent 'nobody'"


def test_tags_of_languages_have_no_case_and_caches_learn_of_them(shared: House) -> None:
    answer = shared.call("GET", "/agents/nobody", headers={"Accept-Language": "JA-JP"})
    assert problem(answer, 404)["title"] == "見つかりません"
    assert answer.headers["vary"] == "Accept-Language"
    english = shared.call("GET", "/agents/nobody")
    assert english.headers["vary"] == "Accept-Language"
