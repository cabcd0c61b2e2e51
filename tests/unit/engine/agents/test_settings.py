"""Owners change the models that agents think with, and the switches."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.models.routing import Use
from opencrab.engine.agents.settings import freeze_or_unfreeze_agent, set_model_of_agent
from tests.contract.homes import DISTINCT_HOMES
from tests.e2e.house import House


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    opened = House(request.param, tmp_path)
    opened.provider.routing = opened.provider.routing.replaced(aliases={"quick": "fake:quick"})
    opened.agent("crab", ())
    yield opened
    opened.close()


def chosen(house: House) -> tuple[str | None, dict[str, str]]:
    agent = house.home.agents.get("crab").agent
    return agent.model, {use.value: model for use, model in agent.llm.models.items()}


def test_a_model_is_chosen_for_one_use_and_given_back(house: House) -> None:
    set_model_of_agent(house.runtime, "crab", Use.THINKING, "quick")
    set_model_of_agent(house.runtime, "crab", Use.CREATIVE, "fake:other")
    assert chosen(house) == ("fake:crab", {"thinking": "quick", "creative": "fake:other"})
    set_model_of_agent(house.runtime, "crab", Use.THINKING, None)
    assert chosen(house) == ("fake:crab", {"creative": "fake:other"})
    set_model_of_agent(house.runtime, "crab", Use.THINKING, None)


def test_a_model_for_every_use_is_kept_by_its_own_name(house: House) -> None:
    set_model_of_agent(house.runtime, "crab", Use.THINKING, "fake:other")
    set_model_of_agent(house.runtime, "crab", None, "quick")
    assert chosen(house) == ("fake:quick", {"thinking": "fake:other"})
    set_model_of_agent(house.runtime, "crab", None, None)
    assert chosen(house) == (None, {})


@pytest.mark.parametrize("model", ["", " ", "two words", "fake:a b", "猫", "x" * 300, "a:\n"])
def test_what_is_no_name_is_refused_and_changes_nothing(house: House, model: str) -> None:
    before = chosen(house)
    for use in (Use.THINKING, None):
        with pytest.raises(Invalid):
            set_model_of_agent(house.runtime, "crab", use, model)
    assert chosen(house) == before


def test_a_private_agent_keeps_to_private_models(house: House) -> None:
    agent = house.home.agents.get("crab").agent
    private = agent.replaced(model="local:crab", llm=agent.llm.replaced(private=True))
    house.home.agents.save(private)
    with pytest.raises(Invalid, match="private"):
        set_model_of_agent(house.runtime, "crab", Use.THINKING, "fake:other")
    set_model_of_agent(house.runtime, "crab", Use.THINKING, "local:other")


def test_nobody_and_the_retired_choose_nothing(house: House) -> None:
    with pytest.raises(NotFound):
        set_model_of_agent(house.runtime, "nobody", None, "quick")
    agent = house.home.agents.get("crab").agent
    house.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    with pytest.raises(Conflict, match="retired"):
        set_model_of_agent(house.runtime, "crab", None, "quick")


def test_switches_are_turned_for_one_and_for_all(house: House) -> None:
    assert freeze_or_unfreeze_agent(house.runtime.home, "crab", frozen=True, by="owner") == (
        "crab",
    )
    assert freeze_or_unfreeze_agent(house.runtime.home, None, frozen=True, by="owner") == (
        "crab",
        "installation",
    )
    assert freeze_or_unfreeze_agent(house.runtime.home, None, frozen=False, by="owner") == ("crab",)
    assert freeze_or_unfreeze_agent(house.runtime.home, "crab", frozen=False, by="owner") == ()
    with pytest.raises(NotFound):
        freeze_or_unfreeze_agent(house.runtime.home, "nobody", frozen=True, by="owner")
