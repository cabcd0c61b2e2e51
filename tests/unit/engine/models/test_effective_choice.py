"""The model that an agent would ask first: who chose it, what was learned, and what is wrong."""

from dataclasses import replace

import pytest

from opencrab.domain.models.routing import LlmConfig, Routing, Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.engine.models.effective_choice import effective_models
from tests.unit.engine.known_models import Known, Named
from tests.unit.engine.known_world import World


def known(world: World) -> None:
    """Two models, of which one is private."""
    aliases = {"home": "ollama:llama", "away": "openai:gpt"}
    routing = Routing(default="openai:gpt", aliases=aliases, selectable=("home", "away"))
    models = Known([Named("openai:gpt"), Named("ollama:llama", private=True)], routing)
    world.runtime = replace(world.runtime, models=models)


def test_a_model_that_is_gone_is_told_for_each_use(world: World) -> None:
    known(world)
    agent = world.runtime.home.agents.get("mika").agent
    agent = agent.replaced(model="gone:x", llm=LlmConfig(models={Use.CREATIVE: "home"}))
    found = effective_models(world.runtime.models, agent)
    assert (found[Use.CREATIVE].model, found[Use.CREATIVE].by) == ("ollama:llama", "permanent")
    assert (found[Use.THINKING].model, found[Use.THINKING].by) == ("gone:x", "agent")
    assert found[Use.THINKING].problem
    assert (found[Use.EMBEDDING].model, found[Use.EMBEDDING].problem) == ("openai:gpt", "")


@pytest.mark.parametrize(
    ("fallback", "model", "by", "problem"),
    [
        (("openai:gpt", "ollama:llama"), "ollama:llama", "fallback", ""),
        (("openai:gpt",), "openai:gpt", "default", "agent 'mika' is private"),
    ],
)
def test_a_private_agent_is_told_who_would_really_be_asked(
    world: World, fallback: tuple[str, ...], model: str, by: str, problem: str
) -> None:
    routing = Routing(default="openai:gpt", fallback=fallback)
    models = Known([Named("openai:gpt"), Named("ollama:llama", private=True)], routing)
    world.runtime = replace(world.runtime, models=models)
    agent = world.runtime.home.agents.get("mika").agent.replaced(llm=LlmConfig(private=True))
    found = effective_models(world.runtime.models, agent)
    assert (found[Use.THINKING].model, found[Use.THINKING].by) == (model, by)
    assert found[Use.THINKING].problem.startswith(problem)
    assert bool(found[Use.THINKING].problem) is bool(problem)
    assert found[Use.EMBEDDING].model == "openai:gpt"
    assert found[Use.EMBEDDING].problem == "agent 'mika' is private, and 'openai:gpt' is not"


def test_what_was_learned_is_shown_by_type_of_task_where_nobody_chose(world: World) -> None:
    known(world)
    agent = world.runtime.home.agents.get("mika").agent
    weights = {"home": 0.3, "away": 0.1, "gone": 0.6}
    mixes = [
        Mix(purpose=use, task_type="code", weights=weights) for use in (Use.THINKING, Use.CREATIVE)
    ]
    agent = agent.replaced(llm=LlmConfig(models={Use.CREATIVE: "home"}))
    found = effective_models(world.runtime.models, agent, mixes)
    assert list(found[Use.THINKING].learned) == ["code"]
    assert found[Use.THINKING].learned["code"] == pytest.approx({"home": 0.75, "away": 0.25})
    assert (found[Use.THINKING].model, found[Use.CREATIVE].learned) == ("openai:gpt", {})
    assert effective_models(world.runtime.models, agent)[Use.THINKING].learned == {}
