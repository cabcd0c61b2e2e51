"""Tried models: how often each is drawn before anything is known of it."""

import pytest

from opencrab.domain.money.budget import FREE, Price
from opencrab.engine.models.exploration import first_try_shares
from opencrab.ports.models.model import ModelInfo

USUAL = ModelInfo("a:usual", price=Price(input_per_million=1_000_000, output_per_million=4_000_000))


def model(name: str, times: float, *, private: bool = False) -> ModelInfo:
    price = Price(input_per_million=int(1e6 * times), output_per_million=int(4e6 * times))
    return ModelInfo(name, price=price if times else FREE, private=private)


def test_cheaper_models_share_what_may_be_tried() -> None:
    choices = {"usual": USUAL, "half": model("b:half", 0.5), "free": model("c:free", 0)}
    found = first_try_shares(choices, USUAL, 0.2)
    assert found == {"half": 0.1, "free": 0.1}


def test_a_dearer_model_is_tried_the_more_rarely_the_dearer_it_is() -> None:
    choices = {"usual": USUAL, "dear": model("b:dear", 4), "dearest": model("b:dearest", 20)}
    found = first_try_shares(choices, USUAL, 0.2)
    assert found == pytest.approx({"dear": 0.025, "dearest": 0.005})


def test_neither_the_usual_model_nor_one_on_the_owners_machine_is_drawn() -> None:
    choices = {"one": USUAL, "local": model("ollama:蟹", 0, private=True)}
    assert first_try_shares(choices, USUAL, 0.2) == {}


def test_where_the_usual_model_is_free_only_free_ones_are_tried() -> None:
    usual = model("a:free", 0)
    choices = {"usual": usual, "free": model("b:free", 0), "dear": model("c:dear", 1)}
    assert first_try_shares(choices, usual, 0.2) == {"free": 0.1}
