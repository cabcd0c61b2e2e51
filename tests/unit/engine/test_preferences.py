"""References to models: followed to their end, or refused by name."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.routing import LlmConfig, Routing, Use
from opencrab.engine.preferences import (
    change_aliases,
    change_provider,
    directory_of,
    effective,
    require_config,
    resolved,
)
from opencrab.ports.model import ProviderState
from tests.unit.engine.models import Known, Named
from tests.unit.engine.world import World

PROVIDERS = {
    "openai": ProviderState("openai", "openai", default_model="gpt", key_name="OPENAI_API_KEY"),
    "ollama": ProviderState("ollama", "ollama"),
}
NAMES = st.sampled_from(["a", "b", "c", "d", "openai", "openai:x", "ollama"])


@pytest.mark.parametrize(
    ("reference", "model"),
    [
        ("openai:gpt-5:free", "openai:gpt-5:free"),
        ("openai", "openai:gpt"),
        ("fast", "openai:gpt"),
        ("速い:x", None),
        ("ollama", None),
        ("ollama:", None),
        ("", None),
    ],
)
def test_a_reference_leads_to_one_model(reference: str, model: str | None) -> None:
    aliases = {"fast": "faster", "faster": "openai"}
    if model is not None:
        assert resolved(reference, aliases, PROVIDERS, field="f") == model
        return
    with pytest.raises(Invalid) as refused:
        resolved(reference, aliases, PROVIDERS, field="f")
    assert refused.value.field == "f"
    assert refused.value.cure


@given(aliases=st.dictionaries(st.sampled_from("abcd"), NAMES), reference=NAMES)
def test_every_reference_ends_somewhere_or_is_refused(
    aliases: dict[str, str], reference: str
) -> None:
    model = "openai:x"
    with suppress(Invalid):
        model = resolved(reference, aliases, PROVIDERS, field="f")
    assert model.partition(":")[0] in PROVIDERS
    assert model.partition(":")[2]


def test_a_circle_is_shown() -> None:
    with pytest.raises(Invalid, match="a → b → a lead in a circle"):
        resolved("a", {"a": "b", "b": "a"}, PROVIDERS, field="f")


def known(world: World) -> None:
    """Two models, of which one is private."""
    routing = Routing(default="openai:gpt", aliases={"home": "ollama:llama"})
    models = Known([Named("openai:gpt"), Named("ollama:llama", private=True)], routing)
    world.runtime = replace(world.runtime, models=models)


def test_a_private_agent_takes_private_models_only(world: World) -> None:
    known(world)
    private = LlmConfig(private=True, models={Use.CREATIVE: "home"})
    require_config(world.runtime, private, "ollama:llama")
    with pytest.raises(Invalid, match="'openai:gpt' is not private"):
        require_config(world.runtime, private, "openai:gpt")


def test_a_model_that_is_gone_is_told_for_each_use(world: World) -> None:
    known(world)
    agent = world.runtime.home.agents.get("mika").agent
    agent = agent.replaced(model="gone:x", llm=LlmConfig(models={Use.CREATIVE: "home"}))
    found = effective(world.runtime, agent)
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
    found = effective(world.runtime, agent)
    assert (found[Use.THINKING].model, found[Use.THINKING].by) == (model, by)
    assert found[Use.THINKING].problem.startswith(problem)
    assert bool(found[Use.THINKING].problem) is bool(problem)
    assert found[Use.EMBEDDING].model == "openai:gpt"
    assert found[Use.EMBEDDING].problem == "agent 'mika' is private, and 'openai:gpt' is not"


def test_without_a_directory_nothing_is_changed(world: World) -> None:
    with pytest.raises(Unavailable):
        directory_of(world.runtime)
    with pytest.raises(Unavailable):
        change_aliases(world.runtime, {"a": "openai"})
    with pytest.raises(Unavailable):
        change_provider(world.runtime, "openai", {}, key="sk")
    assert world.runtime.home.preferences.get().version == 0
