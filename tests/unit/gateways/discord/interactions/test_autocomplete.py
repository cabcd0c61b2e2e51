"""Choices: what the door offers is at most a minute old, and no more than it can carry."""

import json
from typing import Any

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.discord.community import Community
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.gateways.discord.interactions.acks import CHOICES_ID, CHOICES_KIND
from opencrab.gateways.discord.interactions.autocomplete import (
    MOST,
    MOST_BYTES,
    MOST_SPOTS,
    read_discord_autocomplete_cache,
    refresh_discord_autocomplete,
)
from opencrab.ports.models.model import ModelInfo
from opencrab.ports.models.readiness import ProviderState
from tests.discord.recording import CHANNEL
from tests.unit.gateways.discord.stage import Stage


class Listed:
    """As much of `ports.model.ProviderDirectory` as is asked: two providers, one of them set up."""

    def __init__(self, models: int = 2) -> None:
        self._models = models

    def providers(self) -> tuple[ProviderState, ...]:
        return ProviderState("fake", "fake"), ProviderState("other", "fake", missing="a key")

    def infos(self) -> tuple[ModelInfo, ...]:
        names = [f"fake:m{n:04d}" for n in range(self._models)]
        return tuple(ModelInfo(name=name) for name in (*names, "other:m", f"fake:{'x' * 100}"))


def kept(stage: Stage) -> Any:
    return read_discord_autocomplete_cache(stage.runtime.home.facts)


def test_in_every_home_agents_are_kept_as_the_door_reads_them(any_stage: Stage) -> None:
    any_stage.agent("crab")
    any_stage.agent("shrimp")
    any_stage.place("shrimp")
    assert kept(any_stage) is None
    assert refresh_discord_autocomplete(any_stage.runtime)
    assert kept(any_stage)["agents"] == [
        {"id": "crab", "name": "crab"},
        {"id": "shrimp", "name": "shrimp", "channels": [CHANNEL]},
    ]


def test_what_is_younger_than_a_minute_stays(stage: Stage) -> None:
    assert refresh_discord_autocomplete(stage.runtime)
    stage.agent("crab")
    stage.house.clock.advance(59)
    assert not refresh_discord_autocomplete(stage.runtime)
    stage.house.clock.advance(1)
    assert refresh_discord_autocomplete(stage.runtime)
    assert [each["id"] for each in kept(stage)["agents"]] == ["crab"]


def test_the_retired_are_not_offered(stage: Stage) -> None:
    agent = stage.agent("crab")
    stage.house.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    refresh_discord_autocomplete(stage.runtime)
    assert not kept(stage).get("agents")


def test_aliases_come_before_models_that_are_set_up(stage: Stage) -> None:
    routing = stage.house.provider.routing
    stage.house.provider.routing = routing.replaced(aliases={"quick": "fake:m0000"})
    refresh_discord_autocomplete(stage.replaced(directory=Listed()))
    names = [each["id"] for each in kept(stage)["models"]]
    assert names == ["quick", "fake:m0000", "fake:m0001"]


@pytest.mark.parametrize("count", [MOST, MOST + 1])
def test_there_is_an_end_to_what_is_offered(stage: Stage, count: int) -> None:
    refresh_discord_autocomplete(stage.replaced(directory=Listed(count)))
    assert len(kept(stage)["models"]) == MOST


def test_what_another_version_kept_is_replaced(stage: Stage) -> None:
    body = {"agents": [{"id": "x", "name": "x", "new": 1}]}
    stage.house.home.facts.commit(
        Document(owner=INSTALLATION_FACTS, kind=CHOICES_KIND, id=CHOICES_ID, body=body)
    )
    assert refresh_discord_autocomplete(stage.runtime)
    assert not kept(stage).get("agents")


def test_the_servers_in_which_something_is_offered_are_kept_and_a_change_of_them_at_once(
    stage: Stage,
) -> None:
    assert refresh_discord_autocomplete(stage.runtime)
    assert "guilds" not in kept(stage)
    listing = stage.replaced(community=Community(guild_ids=("7", "8")))
    assert refresh_discord_autocomplete(listing)
    assert kept(stage)["guilds"] == ["7", "8"]
    assert not refresh_discord_autocomplete(listing)


def test_an_agent_of_many_channels_is_named_by_hand(stage: Stage) -> None:
    channels = [str(10**18 + n) for n in range(MOST_SPOTS + 1)]
    for agent_id, count in (("few", MOST_SPOTS), ("many", MOST_SPOTS + 1)):
        stage.agent(agent_id)
        stage.place(agent_id, *channels[:count])
    refresh_discord_autocomplete(stage.runtime)
    assert [each["id"] for each in kept(stage)["agents"]] == ["few"]


def test_the_fact_stays_as_small_as_its_table_wants_it(stage: Stage) -> None:
    channels = [str(10**19 + n) for n in range(MOST_SPOTS)]
    agents = stage.house.home.agents
    for number in range(MOST + 1):
        agent = stage.agent(f"a{number:03}")
        agents.save(agent.replaced(name=f"{number:03}" + "蟹" * 97))
        stage.place(agent.id, *channels)
    refresh_discord_autocomplete(stage.replaced(directory=Listed(MOST)))
    size = len(json.dumps(kept(stage), ensure_ascii=False, separators=(",", ":")).encode())
    assert 0.9 * MOST_BYTES < size <= MOST_BYTES
    assert len(kept(stage)["models"]) == MOST
