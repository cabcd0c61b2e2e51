"""Bad input over REST: always a problem document that names field and cure, and never an echo."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import for_each
from tests.integration.rest.house import House, problem
from tests.soak import examples

MARK = "ZQX悪意"
DEEP = 200_000
ROUTES: dict[str, dict[str, Any]] = {
    "POST /agents": {"name": "x"},
    "PUT /agents/a": {"name": "x"},
    "PATCH /agents/a": {},
    "PUT /agents/a/soul": {"persona_name": "x"},
    "POST /agents/a/soul/preview": {"soul": {"persona_name": "x"}},
    "POST /agents/a/soul/sample": {"soul": {"persona_name": "x"}},
    "POST /agents/a/soul/trait-pair": {"name": "openness", "question": 0},
    "PUT /agents/a/identity": {"name": "x"},
    "POST /sessions": {"participants": ["a"]},
    "POST /sessions/s/messages": {"text": "x"},
    "POST /sessions/s/mentor": {"text": "x"},
    "POST /turns/t/cancel": {},
    "POST /turns/t/decide": {"approved": True},
    "POST /keys": {"name": "x"},
    "PUT /llm/providers/openai": {},
    "PUT /llm/prices": {"prices": {}},
    "PUT /llm/aliases": {"aliases": None},
    "PUT /llm/fallback": {"fallback": None},
    "PUT /agents/a/llm/config": {},
    "POST /agents/a/memory/curated": {"content": "x"},
    "PATCH /agents/a/memory/curated/m": {},
    "POST /agents/a/memory/search": {"query": "x"},
    "POST /agents/a/memory/forget": {"scope": "person", "id": "p"},
    "PUT /budgets": {"limits": None},
    "PUT /system/state": {"state": "running"},
    "POST /system/checks": {},
}
BODIES: dict[str, bytes] = {
    "no JSON": b'{"name": ' + MARK.encode(),
    "nothing but space": b"  ",
    "nested lists": b"[" * DEEP + b"]" * DEEP,
    "nested objects": b'{"a":' * 170_000 + b"1" + b"}" * 170_000,
    "sixty-five levels": b'{"name": ' + b"[" * 64 + b"]" * 64 + b"}",
    "NaN": b'{"name": NaN}',
    "minus Infinity": b'{"name": -Infinity}',
    "beyond all numbers": b'{"name": 1e999}',
    "five thousand digits": b'{"name": ' + b"9" * 5_000 + b"}",
    "half a character": b'{"name": "\\ud83e"}',
    "half a name": b'{"\\udd80": 1}',
    "not UTF-8": '{"name": "かに"}'.encode("shift-jis"),
    "overlong UTF-8": b'{"name": "\xc0\xaf"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "one name twice": b'{"name": "a", "name": "b"}',
    "one name twice, deep down": b'{"name": {"a": [{"b": 1, "b": 2}]}}',
}
TEXTS = {
    "POST /agents": ["name", "purpose", "soul.persona_name", "identity.job_title"],
    "PUT /agents/a": ["name", "purpose"],
    "PUT /agents/a/soul": ["persona_name", "thinking_style.description"],
    "POST /agents/a/soul/preview": ["soul.persona_name", "purpose"],
    "POST /sessions": ["theme", "name"],
    "POST /sessions/s/messages": ["text", "sender_name"],
    "POST /sessions/s/mentor": ["text"],
    "POST /turns/t/cancel": ["reason"],
    "POST /turns/t/decide": ["reason"],
    "POST /keys": ["name"],
    "POST /agents/a/memory/curated": ["content"],
    "PATCH /agents/a/memory/curated/m": ["content"],
    "POST /agents/a/memory/search": ["query", "speaker"],
    "PUT /llm/providers/openai": ["base_url", "key", "default_model"],
}


def refused(answer: Any, status: int, field: str | None = None) -> dict[str, Any]:
    """The problem of bad input: whole, with a cure, and without what was sent."""
    found = problem(answer, status, field)
    assert found["field"]
    assert found["cure"]
    assert MARK not in answer.content.decode()
    assert "ZQX" not in answer.text
    return found


def send(house: House, route: str, content: bytes, kind: str = "application/json") -> Any:
    """A body as it is."""
    method, path = route.split()
    return house.raw(method, path, content, headers={"Content-Type": kind})


def nested(field: str, value: Any) -> Any:
    """A value at a dotted place."""
    for name in reversed(field.split(".")):
        value = {name: value}
    return value


@for_each("kind", BODIES)
@for_each("route", ROUTES)
def test_a_body_that_is_no_plain_json_is_refused(shared: House, route: str, kind: str) -> None:
    refused(send(shared, route, BODIES[kind]), 422, "body")


@for_each("route", ROUTES)
@for_each("value", [[], [1], "ZQX悪意", 1, 1.5, True])
def test_a_body_that_is_no_object_is_refused(shared: House, route: str, value: Any) -> None:
    refused(send(shared, route, json.dumps(value).encode()), 422, "body")


@for_each("route", [route for route in ROUTES if not route.endswith("cancel")])
@for_each("content", [b"", b"null"])
def test_a_body_that_is_missing_is_asked_for(shared: House, route: str, content: bytes) -> None:
    refused(send(shared, route, content), 422, "body")


@for_each("route", ROUTES)
def test_a_field_that_nobody_knows_is_named(shared: House, route: str) -> None:
    body = {**ROUTES[route], "colour": MARK}
    found = refused(send(shared, route, json.dumps(body).encode()), 422, "colour")
    assert found["cure"] == "remove it, or correct its name"


def test_a_field_whose_name_is_no_name_is_not_repeated(shared: House) -> None:
    body = {"name": "x", f"<script>{MARK}": 1}
    refused(send(shared, "POST /agents", json.dumps(body).encode()), 422, "(unprintable)")


@for_each(("route", "field"), [(route, field) for route in TEXTS for field in TEXTS[route]])
@for_each("value", [f"{MARK}\0", 5, ["ZQX"], {"a": "ZQX"}, True, f"{MARK}蟹" * 20_000])
def test_a_text_must_be_a_text_of_some_length_without_nul(
    shared: House, route: str, field: str, value: Any
) -> None:
    content = json.dumps({**ROUTES[route], **nested(field, value)}).encode()
    refused(send(shared, route, content), 422, field)


@for_each(
    ("route", "body", "field"),
    [
        ("POST /agents", {"name": ""}, "name"),
        ("POST /agents", {"name": "   "}, "name"),
        ("POST /agents", {"name": "a\nb"}, "name"),
        ("POST /agents", {"name": "蟹" * 101}, "name"),
        ("POST /agents", {"name": "x", "language": "fr"}, "language"),
        ("POST /agents", {"name": "x", "policy": "ZQX"}, "policy"),
        ("POST /agents", {"name": "x", "model": "ZQX"}, "model"),
        ("POST /agents", {"name": "x", "day_limit_micro_usd": -1}, "day_limit_micro_usd"),
        ("POST /agents", {"name": "x", "day_limit_micro_usd": "5"}, "day_limit_micro_usd"),
        ("POST /agents", {"name": "x", "day_limit_micro_usd": 1.5}, "day_limit_micro_usd"),
        ("PUT /agents/a/soul", {}, "persona_name"),
        ("POST /sessions", {"participants": []}, "participants"),
        ("POST /sessions", {"participants": ["a"] * 21}, "participants"),
        ("POST /sessions", {"participants": ["ZQX悪意"]}, "participants.0"),
        ("POST /sessions", {"participants": "a"}, "participants"),
        ("POST /sessions", {"participants": ["nobody"]}, "participants"),
        ("POST /sessions", {"participants": ["a"], "max_turns": 0}, "max_turns"),
        ("POST /sessions/s/messages", {"text": ""}, "text"),
        ("POST /sessions/s/messages", {"text": "x" * 65_537}, "text"),
        ("POST /sessions/s/messages", {"text": "蟹" * 21_846}, "text"),
        ("POST /sessions/s/messages", {"text": "x", "metadata": {"a": 1}}, "metadata.a"),
        ("POST /sessions/s/mentor", {"text": ""}, "text"),
        ("POST /turns/t/decide", {}, "approved"),
        ("POST /turns/t/decide", {"approved": "true"}, "approved"),
        ("POST /turns/t/decide", {"approved": 1}, "approved"),
        ("POST /keys", {"name": "x", "scope": "ZQX"}, "scope"),
    ],
)
def test_a_value_of_the_wrong_kind_or_size_names_its_field(
    shared: House, route: str, body: Any, field: str
) -> None:
    refused(send(shared, route, json.dumps(body).encode()), 422, field)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": None},
        {"parts": [{"kind": "video", "text": "ZQX"}]},
        {"parts": [{"text": "ZQX"}]},
        {"parts": [{"kind": "image", "reference": "http://ZQX"}]},
        {"parts": [{"kind": "text", "text": "x"}] * 17},
        {"parts": [{"kind": "text", "text": "ZQX" * 11_000}] * 2},
        {"text": "x", "parts": [{"kind": "text", "text": "x"}] * 16},
        {"text": "x", "metadata": {f"{n}": "ZQX" * 1_000 for n in range(30)}},
    ],
)
def test_a_message_of_nothing_or_too_much_is_refused(house: House, body: Any) -> None:
    session_id = house.session()
    refused(house.call("POST", f"/sessions/{session_id}/messages", body), 422)
    assert house.lines(session_id) == []


def test_a_message_of_just_sixty_four_kilobytes_is_taken(house: House) -> None:
    session_id = house.session()
    texts = ["x" * 65_536, "蟹" * 21_845]
    for text in texts:
        house.say(session_id, text)
    assert house.lines(session_id) == texts


@for_each("kind", ["", "text/plain", "application/xml", "application/jsonp", "ZQX"])
@for_each("route", ROUTES)
def test_a_body_of_another_type_is_refused(shared: House, route: str, kind: str) -> None:
    content = json.dumps(ROUTES[route]).encode()
    refused(send(shared, route, content, kind), 415, "Content-Type")


@for_each("route", ROUTES)
def test_a_body_beyond_one_mebibyte_is_refused(shared: House, route: str) -> None:
    content = b'{"name": "' + b"ZQX" * 350_000 + b'"}'
    refused(send(shared, route, content), 413, "body")
    method, path = route.split()
    announced = {"Content-Type": "application/json", "Content-Length": str(1 << 40)}
    refused(shared.raw(method, path, b"{}", headers=announced), 413, "body")


LISTINGS = (
    "/agents",
    "/sessions",
    "/keys",
    "/agents/A/workspace",
    "/agents/A/memory/curated",
    "/agents/A/memory/sessions",
    "/agents/A/memory/graph",
    "/agents/A/llm/metrics",
    "/llm/models",
    "/llm/providers",
)


@for_each("listing", LISTINGS)
@for_each(
    "query",
    [
        "limit=0",
        "limit=-1",
        f"limit={10**9}",
        f"limit={10**30}",
        "limit=ZQX",
        "limit=1.5",
        "limit=",
        "cursor=ZQX%E6%82%AA%E6%84%8F",
        "cursor=",
        "cursor=YWdlbnRz",
        f"cursor={'A' * 2_001}",
        "cursor=bm90aGluZzp4",
        "colour=ZQX",
    ],
)
def test_a_list_is_asked_for_with_a_real_cursor_and_limit(
    shared: House, listing: str, query: str
) -> None:
    path = listing.replace("/A/", f"/{shared.agent()}/")
    refused(shared.raw("GET", f"{path}?{query}"), 422, query.partition("=")[0])


@pytest.mark.parametrize(
    "query", ["order=ZQX", "after=-1", f"after={10**12}", "kinds=ZQX", "limit=0", "cursor=ZQX"]
)
def test_lines_are_asked_for_with_real_wishes(house: House, query: str) -> None:
    path = f"/sessions/{house.session()}/messages?{query}"
    refused(house.raw("GET", path), 422, query.partition("=")[0])


@for_each("thing", ["agents", "sessions", "turns"])
@for_each("name", ["unknown", "01890000-0000-7000-8000-000000000000"])
def test_what_does_not_exist_is_not_found(shared: House, thing: str, name: str) -> None:
    found = problem(shared.call("GET", f"/{thing}/{name}"), 404)
    assert found["code"] == "not-found"


@for_each("thing", ["agent", "session", "turn"])
@for_each("name", ["%E6%82%AA%E6%84%8F", "a%20b", "a%00", "x" * 65, "..", "a'--"])
def test_an_id_that_is_none_is_refused(shared: House, thing: str, name: str) -> None:
    refused(shared.raw("GET", f"/{thing}s/{name}"), 422, f"{thing}_id")


@for_each("path", ["/agents/%FF", "/agents?cursor=%C3%28", "/agents/%ED%A0%80"])
def test_an_address_that_is_not_utf8_is_refused(shared: House, path: str) -> None:
    refused(shared.raw("GET", path), 422)


def test_an_unknown_route_or_method_is_a_problem_too(shared: House) -> None:
    assert problem(shared.call("GET", "/nowhere"), 404)["cure"]
    found = shared.call("POST", "/agents/a/soul", {})
    assert problem(found, 405)["cure"]
    assert found.headers["allow"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["name", "text", "soul"]) | st.text(max_size=9), inner)
    ),
    max_leaves=12,
)


@given(route=st.sampled_from(sorted(ROUTES)), body=JSON | st.binary(max_size=60))
@settings(max_examples=examples(60))
def test_nothing_that_is_sent_breaks_the_house(shared: House, route: str, body: Any) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = send(shared, route, content)
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        problem(answer, answer.status_code)
