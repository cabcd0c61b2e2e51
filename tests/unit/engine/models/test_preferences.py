"""References to models: followed to their end, or refused by name."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.models.routing import LlmConfig, Routing, Use
from opencrab.engine.models.preferences import (
    change_model_aliases,
    change_model_provider,
    require_directory_of_models,
    require_usable_models_of_agent,
    resolve_model_reference,
)
from opencrab.ports.models.readiness import ProviderState
from tests.unit.engine.known_models import Known, Named
from tests.unit.engine.known_world import World

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
        assert resolve_model_reference(reference, aliases, PROVIDERS, field="f") == model
        return
    with pytest.raises(Invalid) as refused:
        resolve_model_reference(reference, aliases, PROVIDERS, field="f")
    assert refused.value.field == "f"
    assert refused.value.cure


@given(aliases=st.dictionaries(st.sampled_from("abcd"), NAMES), reference=NAMES)
def test_every_reference_ends_somewhere_or_is_refused(
    aliases: dict[str, str], reference: str
) -> None:
    model = "openai:x"
    with suppress(Invalid):
        model = resolve_model_reference(reference, aliases, PROVIDERS, field="f")
    assert model.partition(":")[0] in PROVIDERS
    assert model.partition(":")[2]


def test_a_circle_is_shown() -> None:
    with pytest.raises(Invalid, match="a → b → a are circular"):
        resolve_model_reference("a", {"a": "b", "b": "a"}, PROVIDERS, field="f")


def known(world: World) -> None:
    """Two models, of which one is private."""
    routing = Routing(default="openai:gpt", aliases={"home": "ollama:llama"})
    models = Known([Named("openai:gpt"), Named("ollama:llama", private=True)], routing)
    world.runtime = replace(world.runtime, models=models)


def test_a_private_agent_takes_private_models_only(world: World) -> None:
    known(world)
    private = LlmConfig(private=True, models={Use.CREATIVE: "home"})
    require_usable_models_of_agent(world.runtime.models, private, "ollama:llama")
    with pytest.raises(Invalid, match="'openai:gpt' is not private"):
        require_usable_models_of_agent(world.runtime.models, private, "openai:gpt")


@pytest.mark.parametrize(
    ("aliases", "cure"),
    [({"fast": "openai:gpt"}, "use one of fast"), ({}, "set aliases first with PUT")],
)
def test_only_aliases_can_be_selectable(world: World, aliases: dict[str, str], cure: str) -> None:
    routing = Routing(default="openai:gpt", aliases=aliases)
    models = Known([Named("openai:gpt")], routing)
    world.runtime = replace(world.runtime, models=models)
    with pytest.raises(Invalid, match="no alias 'smart'") as refused:
        require_usable_models_of_agent(world.runtime.models, LlmConfig(selectable=("smart",)), None)
    assert (refused.value.cure or "").startswith(cure)


def test_without_a_directory_nothing_is_changed(world: World) -> None:
    with pytest.raises(Unavailable):
        require_directory_of_models(world.runtime.directory)
    with pytest.raises(Unavailable):
        change_model_aliases(world.runtime, {"a": "openai"})
    with pytest.raises(Unavailable):
        change_model_provider(world.runtime, "openai", {}, key="sk")
    assert world.runtime.home.preferences.get().version == 0
