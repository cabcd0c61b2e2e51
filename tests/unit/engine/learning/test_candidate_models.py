"""Who may be chosen for an agent."""

from types import SimpleNamespace
from typing import Any

from opencrab.engine.learning.candidate_models import learning_candidate_models
from tests.unit.engine.models.test_router_lots import MODELS, agent


def test_each_model_that_may_be_chosen_is_a_choice_once_by_its_first_alias() -> None:
    runtime: Any = SimpleNamespace(models=MODELS)

    def named(**llm: object) -> dict[str, str]:
        return {
            alias: each.name
            for alias, each in learning_candidate_models(runtime.models, agent(**llm)).items()
        }

    every = {"fast": "openai:mini", "smart": "openai:gpt", "home": "ollama:llama"}
    assert named() == every
    assert named(selectable=("also", "fast")) == {"also": "openai:mini"}
    assert named(private=True) == {"home": "ollama:llama"}
    assert named(self_selection=False) == {}
