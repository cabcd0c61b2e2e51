"""A real provider around its models: what it lists, counts and keeps, and how it refuses."""

import math

import pytest

from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import ChatModel, ChatRequest
from tests.live.conftest import SECONDS, Live

pytestmark = pytest.mark.live

WRONG_KEY = "sk-wrong-0123456789-abcdefghij"
OVERFILLED = 400_000
"""Larger contexts are not filled: what is not refused must be paid."""

CACHING = {"openai", "azure", "anthropic", "google", "llamacpp"}
SURELY_CACHING = {"anthropic", "llamacpp"}
_FACTS = "A crab walks sideways, has ten legs and carries its house upon its back. "


def _refused(model: ChatModel, request: ChatRequest) -> ModelCallFailed:
    with pytest.raises(ModelCallFailed) as refused:
        model.chat(request, model.encode(request))
    return refused.value


def test_what_an_answer_costs_is_counted_and_below_its_reservation(live: Live) -> None:
    model, request = live.chat_model(), live.asked("Say hello. 挨拶して。")
    price = model.info.price
    if price is None:
        pytest.skip(f"the price of {live.name} is unknown: set it in config/pricing.toml")
    body = model.encode(request)
    usage = model.chat(request, body).usage
    assert usage.input_tokens > 0
    assert usage.output_tokens <= request.max_output_tokens
    reserved = price.reservation(
        request_tokens=len(body) + model.info.hidden_tokens,
        max_output_tokens=request.max_output_tokens,
    )
    assert 0 <= price.cost(usage) <= reserved
    assert price.cost(usage) > 0 or reserved == 0


def test_a_beginning_that_was_sent_before_comes_from_the_cache(remote: Live) -> None:
    if remote.provider.kind not in CACHING:
        pytest.skip(f"{remote.provider.name} has no cache that it tells of")
    # Vendors keep what is longer than one to four thousand tokens.
    facts = _FACTS * min(240, remote.info.max_input_tokens // 50)
    request = remote.asked("Say hello.", system=facts)
    cached = [remote.chat(request).usage.cached_tokens for _ in range(4)]
    if not any(cached[1:]) and remote.provider.kind not in SURELY_CACHING:
        pytest.skip(f"{remote.provider.name} caches when it likes, and did not")
    assert any(cached[1:])


def test_a_request_that_is_too_long_is_told_so_and_free(remote: Live) -> None:
    tokens = remote.info.max_input_tokens
    if remote.provider.kind == "ollama":
        pytest.skip("Ollama cuts what is too long without a word")
    if tokens > OVERFILLED:
        pytest.skip(f"filling {tokens} tokens is too dear")
    # Even four letters to a token are twice as many tokens as it takes.
    error = _refused(remote.chat_model(), remote.asked("蟹 crab " * tokens))
    assert error.fault is Fault.TOO_LONG
    assert not error.may_be_billed


def test_a_wrong_key_is_told_with_whose_it_is(remote: Live) -> None:
    if not remote.provider.api_key:
        pytest.skip(f"{remote.provider.name} takes no key here")
    error = _refused(remote.chat_model(api_key=WRONG_KEY), remote.asked("hello"))
    told = f"{error.message} {error.cure}"
    assert error.fault is Fault.AUTH
    assert remote.provider.key_name in told
    assert WRONG_KEY not in told


def test_a_model_that_does_not_exist_is_told_so(remote: Live) -> None:
    if remote.provider.kind == "llamacpp":
        pytest.skip("a llama.cpp server answers to any name")
    model = remote.models().get(f"{remote.provider.name}:no-such-crab-9")
    assert _refused(model, remote.asked("hello")).fault is Fault.MODEL_GONE


def test_an_answer_that_takes_too_long_is_not_waited_for(remote: Live) -> None:
    request = remote.asked("Tell a long story. 長い話を。", timeout_seconds=0.001)
    assert _refused(remote.chat_model(), request).fault in {Fault.TIMEOUT, Fault.UNREACHABLE}


def test_a_provider_that_is_well_says_so(live: Live) -> None:
    health = live.models().health(live.provider.name, timeout_seconds=SECONDS)
    assert health.ok, health.problem
    assert health.latency_ms >= 0


def test_a_provider_that_is_not_there_is_ill(remote: Live) -> None:
    nowhere = remote.models(base_url="http://127.0.0.1:9")
    health = nowhere.health(remote.provider.name, timeout_seconds=SECONDS)
    assert not health.ok
    assert health.problem
    assert health.cure


def test_a_provider_lists_the_model(live: Live) -> None:
    listed = live.models().health(live.provider.name, timeout_seconds=SECONDS).models
    assert listed
    if live.provider.kind == "azure":
        pytest.skip("Azure lists models, and ours is the name of a deployment")
    wanted = live.model.replace(".", "-")
    assert any(wanted in each.replace(".", "-") for each in listed), listed


def test_texts_become_vectors(remote: Live) -> None:
    if not remote.embedding:
        pytest.skip("name a model in OPENCRAB_LIVE_EMBEDDING")
    texts = ("蟹は横に歩きます", "a crab walks sideways", "the price of oil")
    made = remote.models().embedder(remote.embedding).embed(texts, timeout_seconds=SECONDS)
    assert len(made.vectors) == len(texts)
    assert len({len(vector) for vector in made.vectors}) == 1
    near, far = (_alike(made.vectors[0], other) for other in made.vectors[1:])
    assert remote.is_random or near > far


def _alike(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """How much two vectors point the same way."""
    along = math.fsum(x * y for x, y in zip(one, other, strict=True))
    return along / (math.hypot(*one) * math.hypot(*other))
