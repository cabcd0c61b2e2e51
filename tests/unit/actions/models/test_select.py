"""Choosing one's own model: from a list, for a purpose, for a while or for good."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.models.routing import (
    Duration,
    LlmConfig,
    ModelAssignment,
    ModelChosen,
    RoutingBasis,
    Use,
)
from opencrab.domain.value import Language
from opencrab.ports.models.readiness import ProviderHealth
from opencrab.ports.turn.action import ActionContext
from tests.unit.actions.bench import REGISTRY, ROUTING, OneAgent, agent, context, prepared, run
from tests.unit.engine.known_models import Known, Named

CHOICE = {"purpose": "thinking", "model_alias": "smart", "reason": "難しい問題なので"}


@pytest.fixture
def at(tmp_path: Path) -> ActionContext:
    return context(tmp_path)


def _chosen(at: ActionContext, **arguments: str) -> ActionContext:
    return prepared(at, "select_llm", **{**CHOICE, **arguments})


@pytest.mark.parametrize("duration", ["this_turn", "this_session"])
def test_a_choice_is_an_effect_and_changes_nothing_else(at: ActionContext, duration: str) -> None:
    result = run(_chosen(at), "select_llm", **CHOICE, duration=duration)
    assert result.success
    assert result.data == {
        "selected": "smart",
        "purpose": "thinking",
        "duration": duration,
        "reason": CHOICE["reason"],
    }
    assert result.side_effects == (
        ModelChosen(
            use=Use.THINKING,
            model="smart",
            duration=Duration(duration),
            reason="難しい問題なので",
        ),
    )
    assert at.reach.agents.get("mika").agent.llm == LlmConfig()


def test_a_lasting_choice_is_the_agents_own_and_a_repeat_harms_nothing(at: ActionContext) -> None:
    ready = _chosen(at, duration="permanent")
    for _ in range(2):
        assert run(ready, "select_llm", **CHOICE, duration="permanent").success
    kept = at.reach.agents.get("mika").agent
    assert kept.llm.models == {Use.THINKING: "smart"}
    assert kept.version == agent().version + 1


def test_a_late_repeat_does_not_undo_a_newer_choice(at: ActionContext) -> None:
    ready = _chosen(at, duration="permanent")
    stored = at.reach.agents.get("mika").agent
    newer = stored.llm.replaced(models={Use.THINKING: "local"})
    at.reach.agents.save(stored.replaced(llm=newer))
    result = run(ready, "select_llm", **CHOICE, duration="permanent")
    assert not result.success
    assert at.reach.agents.get("mika").agent.llm == newer


@pytest.mark.parametrize("alias", ["gold", "openai:gpt", "smart2"])
def test_only_what_is_on_the_list_may_be_chosen(at: ActionContext, alias: str) -> None:
    result = run(_chosen(at), "select_llm", **{**CHOICE, "model_alias": alias})
    assert not result.success
    assert "fast, smart, local" in str(result.error)


@pytest.mark.parametrize(
    ("alias", "purpose", "told"),
    [
        ("fast", "thinking", "price"),
        ("odd", "thinking", "there is no model"),
        ("local", "conversation", "does not support tool calls"),
    ],
)
def test_what_could_not_think_may_not_be_chosen(
    at: ActionContext, alias: str, purpose: str, told: str
) -> None:
    given = {**CHOICE, "model_alias": alias, "purpose": purpose}
    result = run(_chosen(at), "select_llm", **given)
    assert not result.success
    assert told in str(result.error)


def test_vectors_are_no_purpose_of_thought() -> None:
    action = REGISTRY.find("select_llm")
    assert action is not None
    with pytest.raises(ValidationError):
        action.arguments.model_validate({**CHOICE, "purpose": "embedding"})


def test_a_private_agent_may_not_choose_a_model_outside(at: ActionContext) -> None:
    private = replace(at, agent=agent().replaced(llm=LlmConfig(private=True)))
    assert not run(_chosen(private), "select_llm", **CHOICE).success
    assert run(_chosen(private), "select_llm", **{**CHOICE, "model_alias": "home"}).success


@pytest.mark.parametrize("language", Language)
def test_who_may_not_choose_is_not_offered_a_choice(language: Language) -> None:
    names = {"select_llm", "get_available_models", "get_current_llm_config"}
    for own, routing in (
        (LlmConfig(self_selection=False), ROUTING),
        (LlmConfig(selectable=()), ROUTING),
        (LlmConfig(self_selection=True), ROUTING.replaced(self_selection=False)),
    ):
        them = agent(language).replaced(llm=own)
        told = REGISTRY.schemas(them, routing, Authority.OWNER, AgentState())
        assert not names & {schema.name for schema in told}
        allowed = REGISTRY.allowed(them, routing, Authority.OWNER)
        assert not names & {action.name for action in allowed}


def test_the_list_tells_prices_and_what_is_not_there(at: ActionContext) -> None:
    result = run(at, "get_available_models")
    assert result.data is not None
    told = {entry["alias"]: entry for entry in result.data["models"]}
    assert told["smart"]["available"] is True
    assert (told["smart"]["model"], told["smart"]["input_usd"]) == ("openai:gpt", 0.0)
    assert told["fast"] == {**told["fast"], "available": False, "input_usd": None}
    assert told["odd"]["available"] is False
    assert told["local"]["private"] is True


LISTED = ("llama", "secret")


class Answers:
    """`ports.models.readiness.Readiness` in which OpenAI is dead and Ollama has two models."""

    def readiness(
        self,
        providers: Iterable[str] | None = None,
        *,
        wait_seconds: float,
        newer_than_seconds: float | None = None,
    ) -> Mapping[str, ProviderHealth]:
        assert wait_seconds < 1
        return {
            "openai": ProviderHealth(ok=False, latency_ms=1, problem="nobody is there"),
            "ollama": ProviderHealth(ok=True, latency_ms=1, models=LISTED),
        }


def test_only_what_answered_is_ready(at: ActionContext) -> None:
    answers = Answers()
    result = run(replace(at, reach=replace(at.reach, readiness=answers)), "get_available_models")
    assert result.data is not None
    told = {entry["alias"]: entry for entry in result.data["models"]}
    assert told["smart"]["ready"] is told["smart"]["available"] is False
    assert told["smart"]["why"] == "nobody is there"
    assert (told["local"]["ready"], told["local"]["available"]) == (True, True)
    # Free, and its server does not list it: it is not installed.
    assert (told["home"]["ready"], told["home"]["available"]) == (False, False)
    assert "does not have it" in told["home"]["why"]


@pytest.mark.parametrize(
    ("language", "words"), [(Language.EN, "ask your owner"), (Language.JA, "オーナー")]
)
def test_free_models_that_are_installed_are_told_though_they_have_no_alias(
    at: ActionContext, language: Language, words: str
) -> None:
    routing = ROUTING.replaced(aliases={"smart": "openai:gpt"}, selectable=("smart",))
    models = Known((Named("openai:gpt"), Named("ollama:llama", private=True)), routing)
    reach = replace(at.reach, readiness=Answers(), models=models)
    them = replace(at, reach=reach, agent=agent(language))
    result = run(them, "get_available_models")
    assert result.data is not None
    assert result.data["free_others"] == ["ollama:llama"]
    assert words in result.data["note"]


def test_the_configuration_tells_who_chose(at: ActionContext) -> None:
    choice = ModelChosen(use=Use.CREATIVE, model="fast", duration=Duration.THIS_TURN)
    result = run(replace(at, choices=(choice,)), "get_current_llm_config")
    assert result.data is not None
    assert result.data["models"]["creative"] == {"model": "fast", "chosen_by": "turn"}
    assert result.data["models"]["thinking"] == {"model": "fast", "chosen_by": "turn"}, "the rest"
    result = run(at, "get_current_llm_config")
    assert result.data is not None
    assert result.data["models"]["thinking"] == {"model": "smart", "chosen_by": "use"}
    assert result.data["models"]["analysis"] == {"model": "openai:gpt", "chosen_by": "default"}
    assert "embedding" not in result.data["models"]
    assert OneAgent().agent.llm == LlmConfig()


def test_the_configuration_tells_what_was_drawn_where_nobody_chose(at: ActionContext) -> None:
    lots = tuple(
        ModelAssignment(use=use, task_type="code", model="home", probability=0.5)
        for use in (Use.THINKING, Use.CREATIVE)
    )
    basis = RoutingBasis(lots=lots, session={Use.CREATIVE: "fast"})
    result = run(replace(at, basis=basis), "get_current_llm_config")
    assert result.data is not None
    models = result.data["models"]
    assert models["creative"] == {"model": "fast", "chosen_by": "session"}
    assert models["thinking"] == {
        "model": "smart",
        "chosen_by": "use",
        "learned": {"code": "home"},
    }
