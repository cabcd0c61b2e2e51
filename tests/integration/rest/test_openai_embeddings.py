"""Embeddings for clients of OpenAI's API: paid for by an agent, or refused with what to set."""

import base64
import struct
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.domain.access.authority import Scope
from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import FREE, Limits, agent_budget_scope
from opencrab.engine.runtime import Rules
from opencrab.ports.models.model import ModelInfo
from tests.integration.rest.house import House
from tests.integration.rest.test_openai import ask, error
from tests.meaning import Choosing, Vendor, unanswered, vector

EMBEDDINGS = "/v1/embeddings"
TEXTS = ["公園で犬が走った🦀", "A dog ran across the park"]


@pytest.fixture
def vendor() -> Vendor:
    return Vendor(private=True)


@pytest.fixture
def selling(house: House, vendor: Vendor) -> House:
    """A house with a model of embeddings, and with Mika."""
    house.furnish(directory=Choosing(house.thinking, vendor))
    house.agent("Mika")
    return house


def embed(house: House, sent: Any, key: str | None = None, **more: Any) -> Any:
    named = {} if key is None else {"Authorization": f"Bearer {key}"}
    return ask(house, EMBEDDINGS, {"model": "Mika", "input": sent, **more}, **named)


@pytest.mark.parametrize("sent", [TEXTS[0], TEXTS])
def test_texts_become_vectors_that_the_agent_pays_for(
    selling: House, vendor: Vendor, sent: Any
) -> None:
    texts = [sent] if isinstance(sent, str) else sent
    answer = embed(selling, sent)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    tokens = sum(map(len, texts))
    assert (told["object"], told["model"]) == ("list", "fake:vectors")
    assert told["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert [(each["object"], each["index"]) for each in told["data"]] == [
        ("embedding", place) for place in range(len(texts))
    ]
    assert [tuple(each["embedding"]) for each in told["data"]] == [vector(text) for text in texts]
    agent_id = selling.got("/agents")["items"][0]["id"]
    (row,) = selling.runtime.home.usage.rows(agent_id, limit=10)
    assert (row.purpose, row.cost) == (Use.EMBEDDING, vendor.billed)
    assert 0 < row.cost <= row.reserved
    day = selling.runtime.clock.now().strftime("%Y-%m-%d")
    drawn = selling.runtime.home.budgets.drawn_micro_usd(agent_budget_scope(agent_id), day)
    assert drawn == vendor.billed


def test_base64_is_what_clients_unpack_even_if_a_number_is_too_large(
    selling: House, vendor: Vendor
) -> None:
    (found,) = embed(selling, TEXTS[0], encoding_format="base64").json()["data"]
    content = base64.b64decode(found["embedding"], validate=True)
    assert struct.unpack(f"<{len(content) // 4}f", content) == vector(TEXTS[0])
    enormous = vendor.embed(("x",), timeout_seconds=1.0)
    vendor.embed = lambda *_, **__: type(enormous)(((1e300, -1e300),), enormous.usage)  # type: ignore[method-assign]
    (found,) = embed(selling, "x", encoding_format="base64").json()["data"]
    assert len(base64.b64decode(found["embedding"])) == 8


@pytest.mark.parametrize(
    ("body", "field", "word"),
    [
        ({"input": [1, 2, 3]}, "input", "tokens"),
        ({"input": [[1, 2]]}, "input", "tokens"),
        ({"input": []}, "input", "texts"),
        ({"input": None}, "input", "texts"),
        ({"input": ["犬", " \n"]}, "input", "text 1 is blank"),
        ({"input": "犬" * 32_001}, "input", "32001 characters"),
        ({"input": ["x"] * 257}, "input", "at most 256"),
        ({"dimensions": 256}, "dimensions", "[llm.models] embedding"),
        ({"encoding_format": "ubinary"}, "encoding_format", "float"),
        ({"model": "Nobody"}, "model", "GET /v1/models"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_it_costs_anything(
    selling: House, vendor: Vendor, body: dict[str, Any], field: str, word: str
) -> None:
    answer = ask(selling, EMBEDDINGS, {"model": "Mika", "input": "x", **body})
    told = error(answer, answer.status_code)
    assert 400 <= answer.status_code < 500
    assert told["param"] == field
    assert word in told["message"]
    assert vendor.received == 0


def test_without_a_model_the_error_names_the_setting(house: House) -> None:
    house.agent("Mika")
    told = error(embed(house, "犬"), 422)
    assert "[llm.models] embedding" in told["message"]
    assert told["param"] == "model"


def test_an_agent_of_private_models_sends_no_text_elsewhere(selling: House, vendor: Vendor) -> None:
    vendor.private = False
    selling.thinking.model = Scripted(info=ModelInfo("scripted:rules", price=FREE, private=True))
    assert "private" in error(embed(selling, "犬"), 403)["message"]
    assert vendor.received == 0


def test_failures_and_empty_budgets_have_openais_form(selling: House, vendor: Vendor) -> None:
    vendor.fails.append(unanswered(Fault.OVERLOADED))
    assert error(embed(selling, "犬"), 502)["type"] == "server_error"
    # One failure stops nobody: no pause as for memories, which have words to search by.
    assert embed(selling, "犬").status_code == 200
    selling.furnish(rules=Rules(limits=Limits(agent_day_micro_usd=0)))
    assert error(embed(selling, "犬"), 429)["type"] == "insufficient_quota"


def test_a_repeat_with_its_key_is_not_paid_for_twice(selling: House, vendor: Vendor) -> None:
    body = {"model": "Mika", "input": "犬"}
    first, second = (ask(selling, EMBEDDINGS, body, **{"Idempotency-Key": "k1"}) for _ in "ab")
    assert first.json() == second.json()
    assert vendor.received == 1


def test_keys_that_may_not_talk_get_no_vectors(selling: House) -> None:
    assert embed(selling, "犬", key=selling.chat).status_code == 200
    assert embed(selling, "犬", key=selling.key(Scope.READ)[0]).status_code == 403
    assert embed(selling, "犬", key="nobody").status_code == 401
