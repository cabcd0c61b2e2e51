"""Public price lists: what is taken from each kind of entry, and what is new since the build."""

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.catalogue.prices import (
    newest_provider_prices,
    read_provider_price_list,
)
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.money.budget import Price
from tests.unit.adapters.providers.fake import Replying

TODAY = date(2026, 11, 21)
URL = "https://prices.example/v2/data.json"


def published(prices: Any, provider: str = "openai", model: str = "m", **more: Any) -> Any:
    return [{"id": provider, "models": [{"id": model, "prices": prices, **more}]}]


def price(input_usd: float, output_usd: float, cached: float | None = None) -> Price:
    return Price(
        input_per_million=round(input_usd * 1_000_000),
        output_per_million=round(output_usd * 1_000_000),
        cached_per_million=None if cached is None else round(cached * 1_000_000),
    )


def only(document: Any) -> Price | None:
    listed = read_provider_price_list(document, TODAY)
    return next(iter(listed.values())).price() if listed else None


def test_a_plain_entry_is_taken_as_it_is() -> None:
    document = published(
        {
            "input_mtok": 1.75,
            "output_mtok": 14,
            "cache_read_mtok": "0.175",
            "web_searches_kcount": 1,
        },
        context_window=400_000,
        match={"or": [{"equals": "m"}, {"equals": "m-2026"}, {"starts_with": "x"}]},
    )
    entry = read_provider_price_list(document, TODAY)["openai:m"]
    assert entry.price() == price(1.75, 14, 0.175)
    assert (entry.context, entry.also) == (400_000, ("m-2026",))


def test_tiers_keep_the_lower_price_and_tell_how_far_it_is_true() -> None:
    document = published(
        {
            "input_mtok": {"base": 3, "tiers": [{"start": 200_000, "price": 6}]},
            "output_mtok": {"base": 15, "tiers": [{"start": 100_000, "price": 10}]},
        },
        provider="anthropic",
    )
    entry = read_provider_price_list(document, TODAY)["anthropic:m"]
    assert (entry.price(), entry.max_input_tokens) == (price(3, 15), 200_000)
    assert entry.price(200_001) == price(6, 15)


@pytest.mark.parametrize(
    ("today", "usd"), [(date(2026, 1, 1), 1), (date(2026, 2, 1), 2), (date(2027, 1, 1), 3)]
)
def test_the_last_price_that_has_begun_holds(today: date, usd: int) -> None:
    document = published(
        [
            {"prices": {"input_mtok": 1, "output_mtok": 1}},
            {
                "constraint": {"start_date": "2026-02-01"},
                "prices": {"input_mtok": 2, "output_mtok": 2},
            },
            {
                "constraint": {"start_date": "2027-01-01"},
                "prices": {"input_mtok": 3, "output_mtok": 3},
            },
        ]
    )
    assert read_provider_price_list(document, today)["openai:m"].price() == price(usd, usd)


def test_a_price_that_depends_on_the_hour_is_the_dearest() -> None:
    hours = {"start_time": "00:30:00Z", "end_time": "16:30:00Z"}
    document = published(
        [
            {"prices": {"input_mtok": 0.135, "output_mtok": 2}},
            {"constraint": hours, "prices": {"input_mtok": 0.27, "output_mtok": 1.1}},
        ],
        provider="deepseek",
    )
    assert only(document) == price(0.27, 2)


def test_embeddings_have_no_output_to_pay_for() -> None:
    assert only(published({"input_mtok": 0.13}, model="text-embedding-3-large")) == price(0.13, 0)
    assert only(published({"input_mtok": 0.13}, model="chat")) is None


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-image-1"), ("openai", "whisper-1"), ("openai", "ft:gpt-4o"),
        ("google", "gemini-3.8-flash-tts"), ("google", "claude-sonnet-4-5"),
        ("openrouter", "gpt-4o"), ("openrouter", "a/b:free"), ("openrouter", "a/b:batch"),
        ("unknown", "m"),
    ],
)  # fmt: skip
def test_models_that_do_other_things_are_left_out(provider: str, model: str) -> None:
    assert only(published({"input_mtok": 1, "output_mtok": 1}, provider, model)) is None


@pytest.mark.parametrize(
    "prices",
    [
        None, [], {}, "free", {"input_mtok": -1, "output_mtok": 1}, {"input_mtok": 1},
        {"input_mtok": "NaN", "output_mtok": 1}, {"input_mtok": True, "output_mtok": 1},
        {"input_mtok": 1, "output_mtok": 99_999_999}, {"input_mtok": {}, "output_mtok": 1},
        {"input_mtok": 1, "output_mtok": 1, "requests_kcount": 5},
        [{"constraint": {"start_date": "2099-01-01"}, "prices": {"input_mtok": 1}}],
    ],
)  # fmt: skip
def test_an_entry_without_a_true_price_is_left_out(prices: Any) -> None:
    assert only(published(prices)) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "models", "prices", "openai", "constraint", "base", "input_mtok"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=12,
    )
)
def test_nonsense_is_an_empty_list_and_no_error(document: Any) -> None:
    read_provider_price_list(document, TODAY)
    read_provider_price_list(
        [{"id": "openai", "models": [{"id": "m", "match": document, "prices": document}]}], TODAY
    )


def fetched(document: Any, known: dict[str, Price | None], **more: Any) -> dict[str, Any]:
    transport = Replying(json.dumps(document).encode())
    return dict(newest_provider_prices(transport, URL, known, TODAY, **more).taken)


def test_only_known_models_whose_price_changed_are_told() -> None:
    document = published({"input_mtok": 2, "output_mtok": 3}) + published(
        {"input_mtok": 4, "output_mtok": 5}, "anthropic", "claude-x-4-6"
    )
    known = {"openai:m": price(2, 3), "anthropic:claude-x-4.6": price(1, 1), "openai:gone": None}
    found = fetched(document, known)
    assert list(found) == ["anthropic:claude-x-4.6"]
    assert found["anthropic:claude-x-4.6"].price == price(4, 5)
    assert found["anthropic:claude-x-4.6"].as_of == TODAY
    assert list(fetched(document, {"openai:m": None})) == ["openai:m"]


def test_a_model_that_may_take_more_than_the_lower_price_allows_gets_the_dearest() -> None:
    tiered = {"base": 3, "tiers": [{"start": 200_000, "price": 6}]}
    document = published({"input_mtok": tiered, "output_mtok": 15})
    known: dict[str, Price | None] = {"openai:m": None}
    assert fetched(document, known)["openai:m"].price == price(3, 15)
    above = fetched(document, known, limits={"openai:m": 1_000_000})
    assert above["openai:m"].price == price(6, 15)
    within = fetched(document, known, limits={"openai:m": 200_000})
    assert within["openai:m"].price == price(3, 15)


@pytest.mark.parametrize(
    "url",
    ["http://prices.example/x", "http://localhost/x", "https://169.254.169.254/x", "file:///x", ""],
)
def test_an_unsafe_address_is_refused_before_anything_is_sent(url: str) -> None:
    transport = Replying(b"[]")
    with pytest.raises(Invalid):
        newest_provider_prices(transport, url, {}, TODAY)
    assert not transport.sent


@pytest.mark.parametrize(
    ("body", "status"), [(b"<html>", 200), (b"[]", 200), (b"[" * 100_000, 200), (b"[]", 404)]
)
def test_what_is_no_list_is_told(body: bytes, status: int) -> None:
    with pytest.raises(Unavailable):
        newest_provider_prices(Replying(body, status=status), URL, {}, TODAY)


def test_prices_that_fall_far_are_refused_and_told() -> None:
    document = published({"input_mtok": 0, "output_mtok": 0}) + published(
        {"input_mtok": 0.9, "output_mtok": 3}, model="half"
    )
    known: dict[str, Price | None] = {"openai:m": price(2, 3), "openai:half": price(2, 3)}
    transport = Replying(json.dumps(document).encode())
    found = newest_provider_prices(transport, URL, known, TODAY)
    assert (dict(found.taken), set(found.refused)) == ({}, set(known))
    fall = found.refused["openai:half"]
    assert (fall.kept, fall.refused) == (price(2, 3), price(0.9, 3))
    assert set(fetched(document, known, allow_lower=True)) == set(known)


def test_a_list_of_prices_per_token_is_refused_whole() -> None:
    document = published({"input_mtok": 0.00000125, "output_mtok": 0.00001}) + published(
        {"input_mtok": 0.001, "output_mtok": 0.002}, model="small"
    )
    known: dict[str, Price | None] = {
        "openai:m": price(1.25, 10),
        "openai:small": price(0.05, 0.2),
        "openai:x": None,
    }
    with pytest.raises(Unavailable, match="per token"):
        fetched(document, known, allow_lower=True)


def test_a_model_is_found_in_a_list_that_writes_it_otherwise() -> None:
    document = published({"input_mtok": 4, "output_mtok": 5}, "anthropic", "claude-x-4.6")
    assert list(fetched(document, {"anthropic:claude-x-4-6": None})) == ["anthropic:claude-x-4-6"]
