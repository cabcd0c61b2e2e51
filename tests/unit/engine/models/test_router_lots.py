"""Lots: drawn alike by everybody, as often as the mix says, and only among who may be asked."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from opencrab.domain.agents.agent import Agent
from opencrab.domain.models.optimization import Aim, LearningMode
from opencrab.domain.models.routing import LlmConfig, ModelAssignment, ModelReference, Routing, Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.engine.models.router import assign_models_to_turn, model_traffic_split_shares
from tests.unit.engine.known_models import Known, Named

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
ALIASES = {
    "fast": "openai:mini",
    "smart": "openai:gpt",
    "also": "openai:mini",
    "home": "ollama:llama",
    "dear": "openai:unpriced",
    "mute": "openai:mute",
    "gone": "nowhere:x",
}
MODELS = Known(
    (
        Named("openai:mini"),
        Named("openai:gpt"),
        Named("ollama:llama", private=True),
        Named("openai:unpriced", price=None),
        Named("openai:mute", functions=False),
    ),
    Routing(default="openai:gpt", aliases=ALIASES, selectable=tuple(ALIASES)),
)


def agent(**llm: object) -> Agent:
    config = LlmConfig.model_validate(llm)
    return Agent(id="mika", name="美香", llm=config, created_at=NOW, updated_at=NOW)


def mix(**weights: float) -> Mix:
    named: dict[ModelReference, float] = dict(weights)
    return Mix(purpose=Use.THINKING, task_type="code", weights=named)


def test_each_model_is_drawn_as_often_as_its_weight_says_and_always_alike() -> None:
    turns = [f"t{n}" for n in range(2_000)]
    drawn = [
        assign_models_to_turn(MODELS, agent(), (mix(fast=0.8, smart=0.2),), turn)[0]
        for turn in turns
    ]
    counted = Counter(lot.model for lot in drawn)
    assert 0.77 < counted["fast"] / len(turns) < 0.83
    assert {(lot.model, lot.probability) for lot in drawn} == {("fast", 0.8), ("smart", 0.2)}
    again = assign_models_to_turn(MODELS, agent(), (mix(smart=0.2, fast=0.8),), "t7")
    assert again == (drawn[7],)


def test_two_mixes_are_drawn_apart() -> None:
    first = mix(fast=0.5, smart=0.5)
    both = (first, first.replaced(task_type="design"))
    pairs = {
        tuple(lot.model for lot in assign_models_to_turn(MODELS, agent(), both, f"t{n}"))
        for n in range(40)
    }
    assert len(pairs) == 4


@pytest.mark.parametrize(
    ("llm", "weights", "left"),
    [
        ({}, {"fast": 0.2, "gone": 0.6, "smart": 0.2}, {"fast": 0.5, "smart": 0.5}),
        ({}, {"dear": 0.5, "mute": 0.4, "smart": 0.1}, {"smart": 1.0}),
        ({}, {"stranger": 1.0}, {}),
        ({}, {"gone": 0.7, "fast": 0.0}, {}),
        ({"selectable": ("smart",)}, {"fast": 0.9, "smart": 0.1}, {"smart": 1.0}),
        ({"self_selection": False}, {"fast": 1.0}, {}),
        ({"private": True}, {"fast": 0.9, "home": 0.1}, {"home": 1.0}),
        ({"private": True}, {"fast": 1.0}, {}),
    ],
)
def test_only_who_may_be_asked_has_a_share(
    llm: dict[str, object], weights: dict[str, float], left: dict[str, float]
) -> None:
    found = model_traffic_split_shares(MODELS, agent(**llm), mix(**weights))
    assert found == pytest.approx(left)
    assert len(assign_models_to_turn(MODELS, agent(**llm), (mix(**weights),), "t1")) == bool(left)


def test_an_owner_who_lets_nothing_be_learned_gets_no_lots() -> None:
    for leave, drawn in (
        (LearningMode.OFF, 0),
        (LearningMode.RECOMMEND, 1),
        (LearningMode.APPLY, 1),
    ):
        assert (
            len(assign_models_to_turn(MODELS, agent(aim=Aim(leave=leave)), (mix(fast=1.0),), "t1"))
            == drawn
        )


def test_a_model_by_two_names_is_as_likely_as_both_together() -> None:
    (lot,) = assign_models_to_turn(MODELS, agent(), (mix(fast=0.5, also=0.25, smart=0.25),), "t1")
    expected = {"fast": 0.75, "also": 0.75, "smart": 0.25}[lot.model]
    assert lot == ModelAssignment(
        use=Use.THINKING, task_type="code", model=lot.model, probability=expected
    )
