"""Models over REST: listed with their prices, named by aliases, and replaced when they fail."""

from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.errors import Conflict
from opencrab.domain.models.preferences import Preferences
from opencrab.engine.models.preferences import ATTEMPTS
from opencrab.ports.models.preferences import PreferenceStore, StoredPreferences
from tests.integration.rest.house import House, problem
from tests.integration.rest.thinking import PRICE

NEW_PRICE = {"input_per_million": 1_250_000, "output_per_million": 10_000_000}


def priced(house: House, name: str) -> Any:
    """What a model costs by now."""
    return next(one["price"] for one in house.got("/llm/models")["items"] if one["name"] == name)


def dated(as_of: str = "2026-02-17", **changes: Any) -> dict[str, Any]:
    """A price of a day."""
    return {"price": {**NEW_PRICE, **changes}, "as_of": as_of}


def test_models_are_listed_with_limits_and_prices_and_what_is_unknown(house: House) -> None:
    listed = house.got("/llm/models")["items"]
    names = ["ollama:llama", "ollama:かに", "openai:dear", "openai:new", "scripted:rules"]
    assert [one["name"] for one in listed] == names
    assert [one["provider"] for one in listed] == [name.partition(":")[0] for name in names]
    assert listed[2]["price"] == PRICE.model_dump(mode="json")
    assert (listed[2]["vision"], listed[2]["private"]) == (True, False)
    assert listed[3]["price"] is None
    assert listed[3]["notes"] == ["the price of 'openai:new' is not known"]
    assert listed[0]["price"]["input_per_million"] == 0


def test_models_say_whether_they_can_be_used_now_and_why_not(house: House) -> None:
    listed = {one["name"]: one for one in house.got("/llm/models")["items"]}
    told = {name: (one["problem"], one["listed"], one["free"]) for name, one in listed.items()}
    lacks = "provider 'openai' is not set up: OPENAI_API_KEY"
    assert told == {
        "ollama:llama": ("", True, True),
        "ollama:かに": ("the price of 'ollama:かに' is not known", True, False),
        "openai:dear": (lacks, None, False),
        "openai:new": (lacks, None, False),
        "scripted:rules": ("", True, True),
    }


def test_models_of_one_provider_come_in_pages(house: House) -> None:
    page = house.got("/llm/models?provider=openai&limit=1")
    rest = house.got(f"/llm/models?provider=openai&limit=1&cursor={page['next_cursor']}")
    assert [one["name"] for one in page["items"] + rest["items"]] == ["openai:dear", "openai:new"]
    assert rest["next_cursor"] is None
    assert house.got("/llm/models?provider=nobody")["items"] == []


@pytest.mark.parametrize("query", ["provider=N%20o", "provider=", "provider=%F0%9F%A6%80", "x=1"])
def test_models_are_asked_for_with_a_real_provider(house: House, query: str) -> None:
    problem(house.raw("GET", f"/llm/models?{query}"), 422, query.partition("=")[0])


def test_a_dated_price_is_taken_over_and_an_older_one_is_not(house: House) -> None:
    taken = house.call("PUT", "/llm/prices", {"prices": {"openai:new": dated()}})
    assert taken.status_code == 200, taken.text
    assert priced(house, "openai:new")["output_per_million"] == 10_000_000
    older = {"prices": {"openai:new": dated("2025-12-31", output_per_million=1)}}
    kept = house.call("PUT", "/llm/prices", older).json()["prices"]
    assert kept["openai:new"]["as_of"] == "2026-02-17"
    house.call("PUT", "/llm/prices", {"prices": {"openai:dear": dated()}})
    assert priced(house, "openai:new")["output_per_million"] == 10_000_000
    house.call("PUT", "/llm/prices", {"prices": {"openai:new": None}})
    assert priced(house, "openai:new") is None


@pytest.mark.parametrize(
    ("prices", "field"),
    [
        ({"openai:new": dated(input_per_million=-1)}, "prices.openai:new.price.input_per_million"),
        ({"openai:new": dated(output_per_million=10**13)}, None),
        ({"openai:new": dated(output_per_million=1.5)}, None),
        ({"openai:new": dated(output_per_million="5")}, None),
        ({"openai:new": dated("2199-01-01")}, "prices.openai:new.as_of"),
        ({"openai:new": dated("yesterday")}, None),
        ({"openai:new": dated("2026-02-30")}, None),
        ({"openai:new": 5}, None),
        ({"openai:new": {"price": NEW_PRICE}}, None),
        ({"nobody:new": dated()}, "prices.nobody:new"),
        ({"openai": dated()}, None),
        ({"蟹": dated()}, None),
        ({f"openai:{n}": dated() for n in range(2_001)}, "prices"),
        ([], "prices"),
        (None, "prices"),
    ],
)
def test_a_price_that_cannot_be_is_refused(house: House, prices: Any, field: str | None) -> None:
    found = problem(house.call("PUT", "/llm/prices", {"prices": prices}), 422)
    assert found["cure"]
    if field is not None:
        assert found["field"] == field
    assert house.runtime.home.preferences.get().version == 0


def test_prices_of_more_models_than_are_kept_are_refused(house: House) -> None:
    for part in ("a", "b"):
        prices = {f"openai:{part}{n}": dated() for n in range(1_001)}
        answer = house.call("PUT", "/llm/prices", {"prices": prices})
        assert answer.status_code == (200 if part == "a" else 422), answer.text
    assert len(house.runtime.home.preferences.get().preferences.prices) == 1_001


def test_aliases_are_replaced_whole_and_return_to_the_configured_ones(house: House) -> None:
    configured = house.got("/llm/aliases")
    assert configured["configured"] is True
    assert configured["selectable"] == ["fast", "smart"]
    wanted = {"quick": "scripted", "smart": "quick", "dear": "openai:gpt-5.2"}
    answer = house.call("PUT", "/llm/aliases", {"aliases": wanted})
    assert (answer.json()["aliases"], answer.headers["etag"]) == (wanted, '"1"')
    assert house.got("/llm/aliases")["configured"] is False
    assert house.call("PUT", "/llm/aliases", {"aliases": None}).json() == configured


@pytest.mark.parametrize("what", ["aliases", "fallback"])
def test_what_is_shown_may_be_sent_back(house: House, what: str) -> None:
    shown = house.got(f"/llm/{what}")[what]
    assert house.call("PUT", f"/llm/{what}", {what: shown}).json()[what] == shown


@pytest.mark.parametrize(
    ("aliases", "field", "said"),
    [
        ({"a": "nobody:x"}, "aliases.a", "'nobody:x'"),
        ({"a": "a"}, "aliases.a", "a → a"),
        ({"a": "b", "b": "c", "c": "a"}, "aliases.a", "a → b → c → a"),
        ({"a": "ollama"}, "aliases.a", "no default model"),
        ({"a": "b"}, "aliases.a", "'b'"),
        ({"A": "openai:x"}, None, ""),
        ({"a b": "openai:x"}, None, ""),
        ({"速い": "openai:x"}, None, ""),
        ({"a": ""}, "aliases.a", ""),
        ({"a": "openai:x y"}, "aliases.a", ""),
        ({"a": "openai:" + "x" * 300}, "aliases.a", ""),
        ({"a": 5}, "aliases.a", ""),
        ({"a": None}, "aliases.a", ""),
        ({f"a{n}": "openai:x" for n in range(101)}, "aliases", ""),
        (["a"], "aliases", ""),
    ],
)
def test_an_alias_that_leads_nowhere_is_refused_and_named(
    house: House, aliases: Any, field: str | None, said: str
) -> None:
    found = problem(house.call("PUT", "/llm/aliases", {"aliases": aliases}), 422, field)
    assert said in found["detail"]
    assert found["cure"]
    assert house.runtime.home.preferences.get().version == 0


def test_who_is_asked_next_is_replaced_and_returns(house: House) -> None:
    assert house.got("/llm/fallback") == {
        "fallback": ["scripted", "ollama:llama"],
        "usable": ["scripted", "ollama:llama"],
        "configured": True,
    }
    wanted = ["smart", "ollama:qwen3", "scripted"]
    changed = house.call("PUT", "/llm/fallback", {"fallback": wanted}).json()
    assert changed == {"fallback": wanted, "usable": wanted, "configured": False}
    assert house.call("PUT", "/llm/fallback", {"fallback": []}).json()["fallback"] == []
    assert house.call("PUT", "/llm/fallback", {"fallback": None}).json()["configured"] is True


@pytest.mark.parametrize(
    ("fallback", "field"),
    [
        (["scripted", "scripted"], "fallback.1"),
        (["smart", "openai:dear"], "fallback.1"),
        (["openai", "openai:dear"], "fallback.1"),
        (["nobody"], "fallback.0"),
        (["ollama"], "fallback.0"),
        (["openai:a b"], "fallback.0"),
        (["openai:x"] * 21, "fallback"),
        ("smart", "fallback"),
        ([1], "fallback.0"),
    ],
)
def test_a_fallback_that_cannot_be_is_refused(house: House, fallback: Any, field: str) -> None:
    problem(house.call("PUT", "/llm/fallback", {"fallback": fallback}), 422, field)
    assert house.runtime.home.preferences.get().version == 0


def test_an_alias_that_is_asked_next_cannot_go(house: House) -> None:
    house.call("PUT", "/llm/fallback", {"fallback": ["smart", "scripted"]})
    gone = house.call("PUT", "/llm/aliases", {"aliases": {"fast": "scripted"}})
    assert "'smart'" in problem(gone, 422, "aliases")["detail"]
    house.call("PUT", "/llm/fallback", {"fallback": ["scripted"]})
    assert house.call("PUT", "/llm/aliases", {"aliases": {"fast": "scripted"}}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("aliases", {"aliases": {}}),
        ("fallback", {"fallback": []}),
        ("prices", {"prices": {}}),
        ("providers/openai", {"enabled": True}),
    ],
)
def test_a_change_may_be_meant_for_one_version_only(house: House, path: str, body: Any) -> None:
    first = house.call("PUT", f"/llm/{path}", body, headers={"If-Match": '"0"'})
    assert (first.status_code, first.headers["etag"]) == (200, '"1"')
    again = house.call("PUT", f"/llm/{path}", body, headers={"If-Match": '"0"'})
    assert problem(again, 409, "If-Match")["cure"] == "load them again and repeat the change"
    anyhow = house.call("PUT", f"/llm/{path}", body, headers={"If-Match": "*"})
    assert anyhow.headers["etag"] == '"2"'


class Rushed:
    """`ports.preferences.PreferenceStore` in which somebody else is faster a few times."""

    def __init__(self, store: PreferenceStore, times: int) -> None:
        self._store = store
        self._times = times

    def get(self) -> StoredPreferences:
        return self._store.get()

    def save(self, preferences: Preferences, version: int) -> StoredPreferences:
        if self._times:
            self._times -= 1
            theirs = self._store.get()
            changed = theirs.preferences.replaced(fallback=("scripted",))
            self._store.save(changed, theirs.version)
        return self._store.save(preferences, version)


@pytest.mark.parametrize(("times", "status"), [(2, 200), (ATTEMPTS, 409)])
def test_changes_of_different_parts_do_not_undo_each_other(
    house: House, times: int, status: int
) -> None:
    home = house.runtime.home
    house.furnish(home=replace(home, preferences=Rushed(home.preferences, times)))
    answer = house.call("PUT", "/llm/aliases", {"aliases": {"quick": "scripted"}})
    assert answer.status_code == status, answer.text
    kept = home.preferences.get()
    assert kept.preferences.fallback == ("scripted",)
    assert (kept.preferences.aliases is not None) is (status == 200)
    with pytest.raises(Conflict):
        home.preferences.save(Preferences(), 0)


FREE = {"input_per_million": 0, "output_per_million": 0}


@pytest.mark.parametrize(
    "price", [FREE, {"input_per_million": 999_999, "output_per_million": 8_000_000}]
)
def test_a_price_that_falls_far_is_kept_and_told_unless_it_may(
    house: House, price: dict[str, int]
) -> None:
    body = {
        "prices": {"openai:dear": {"price": price, "as_of": "2026-02-17"}, "openai:new": dated()}
    }
    answer = house.call("PUT", "/llm/prices", body).json()
    assert set(answer["prices"]) == {"openai:new"}
    told = answer["refused"]["openai:dear"]
    assert told["kept"] == PRICE.model_dump(mode="json")
    assert told["refused"]["input_per_million"] == price["input_per_million"]
    assert priced(house, "openai:dear") == PRICE.model_dump(mode="json")
    answer = house.call("PUT", "/llm/prices", {**body, "allow_lower": True}).json()
    assert (set(answer["prices"]), answer["refused"]) == ({"openai:dear", "openai:new"}, {})
    assert priced(house, "openai:dear")["input_per_million"] == price["input_per_million"]


def test_prices_that_were_taken_over_are_listed_and_may_be_sent_back(house: House) -> None:
    assert house.got("/llm/prices") == {"prices": {}}
    house.call("PUT", "/llm/prices", {"prices": {"openai:new": dated()}})
    shown = house.call("GET", "/llm/prices")
    assert (list(shown.json()["prices"]), shown.headers["etag"]) == (["openai:new"], '"1"')
    same = {"If-Match": shown.headers["etag"]}
    assert house.call("PUT", "/llm/prices", shown.json(), headers=same).status_code == 200


@pytest.mark.parametrize("what", ["aliases", "fallback", "prices", "providers"])
def test_every_list_of_settings_tells_their_one_version(house: House, what: str) -> None:
    assert house.call("GET", f"/llm/{what}").headers["etag"] == '"0"'
    house.call("PUT", "/llm/fallback", {"fallback": []})
    assert house.call("GET", f"/llm/{what}").headers["etag"] == '"1"'


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("aliases", {"aliases": {"a.b@c": "scripted"}}, "aliases.a.b@c"),
        ("aliases", {"aliases": {"bad name": "scripted"}}, "aliases.(unprintable)"),
        ("prices", {"prices": {"no/where:x": {"price": {}}}}, "prices.no/where:x"),
    ],
)
def test_a_refused_entry_is_found_by_its_name(
    house: House, path: str, body: Any, field: str
) -> None:
    found = problem(house.call("PUT", f"/llm/{path}", body), 422)
    assert str(found["field"]).startswith(field)
    assert "[key]" not in str(found)
