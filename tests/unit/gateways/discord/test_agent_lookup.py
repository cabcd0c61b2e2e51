"""Finding: an agent is meant by its id, its name however it is written, or by the place."""

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.discord.community import KIND
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.value import Language
from opencrab.engine.conversation.channel_bindings import (
    SessionOpening,
    open_conversation_of_channel,
)
from opencrab.gateways.discord.agent_lookup import find_agent_on_discord
from tests.discord.recording import CHANNEL, GUILD
from tests.unit.gateways.discord.showing import HOSTILE
from tests.unit.gateways.discord.stage import Stage

ELSEWHERE = "645027906669510668"


def found(
    stage: Stage,
    option: str | None = None,
    *,
    guild: str | None = GUILD,
    language: Language = Language.EN,
) -> str:
    profile, _ = find_agent_on_discord(
        stage.runtime.home, option, channel_id=CHANNEL, guild_id=guild, language=language
    )
    return profile.agent.id


def renamed(stage: Stage, agent_id: str, name: str) -> None:
    agent = stage.house.home.agents.get(agent_id).agent
    stage.house.home.agents.save(agent.replaced(name=name))


def test_in_every_home_an_agent_is_found_with_its_presence(any_stage: Stage) -> None:
    any_stage.agent("crab")
    any_stage.place("crab")
    profile, presence = find_agent_on_discord(
        any_stage.runtime.home, "CRAB", channel_id=CHANNEL, guild_id=GUILD
    )
    assert profile.agent.id == "crab"
    assert presence is not None
    assert presence.spot(CHANNEL) is not None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(("かに丸", "a1"), (" かに丸 ", "a1"), ("CRAB-7", "a2"), ("crab-7", "a2")),
        *(("\uff23rab-\uff17", "a2"), ("クラブ7", "a3"), ("クラフ\u30997", "a3")),
    ],
)
def test_a_name_is_found_however_it_is_written(stage: Stage, written: str, meant: str) -> None:
    names = {"a1": "かに丸", "a2": "\uff23\uff52\uff41\uff42-\uff17", "a3": "ｸﾗﾌﾞ\uff17"}
    for agent_id, name in names.items():
        stage.agent(agent_id)
        renamed(stage, agent_id, name)
    assert found(stage, written) == meant


def test_an_id_wins_over_a_name(stage: Stage) -> None:
    stage.agent("crab")
    stage.agent("shrimp")
    renamed(stage, "shrimp", "crab")
    assert found(stage, "crab") == "crab"


def test_a_name_of_two_is_refused_with_their_ids(stage: Stage) -> None:
    for agent_id in ("a1", "a2"):
        stage.agent(agent_id)
        renamed(stage, agent_id, "花")
    with pytest.raises(Conflict) as caught:
        found(stage, "花", language=Language.JA)
    assert "a1, a2" in str(caught.value.cure)


def test_an_unknown_name_is_told_who_can_be_asked_in_both_languages(stage: Stage) -> None:
    stage.agent("a1")
    renamed(stage, "a1", HOSTILE)
    stage.agent("elsewhere")
    stage.place("elsewhere", ELSEWHERE)
    for language, words in ((Language.EN, "choose one of"), (Language.JA, "次の中から")):
        with pytest.raises(NotFound) as caught:
            found(stage, "nobody", language=language)
        assert words in str(caught.value.cure)
        assert "@everyone" not in str(caught.value.cure)
        assert "elsewhere" not in str(caught.value.cure)


def test_who_was_placed_elsewhere_is_found_in_private_only(stage: Stage) -> None:
    stage.agent("crab")
    stage.place("crab", ELSEWHERE)
    for option in ("crab", None):
        with pytest.raises(NotFound):
            found(stage, option)
        assert found(stage, option, guild=None) == "crab"


def test_without_a_name_the_only_one_is_meant(stage: Stage) -> None:
    with pytest.raises(NotFound, match="no agent"):
        found(stage)
    stage.agent("crab")
    assert found(stage) == "crab"
    stage.agent("shrimp")
    with pytest.raises(NotFound, match="several"):
        found(stage, "  ")


def test_without_a_name_the_one_of_this_place_is_meant(stage: Stage) -> None:
    for name in ("crab", "shrimp", "tuna"):
        stage.agent(name)
    stage.place("shrimp")
    assert found(stage) == "shrimp"
    opening = SessionOpening(agent_ids=("tuna",), opened_by="discord-1")
    open_conversation_of_channel(stage.runtime, f"{KIND}.{CHANNEL}", opening)
    assert found(stage) == "tuna"


def test_the_retired_are_found_by_their_id_only(stage: Stage) -> None:
    agent = stage.agent("crab")
    stage.house.home.agents.save(agent.replaced(status=AgentStatus.RETIRED, name="蟹"))
    assert found(stage, "crab") == "crab"
    for option in ("蟹", None):
        with pytest.raises(NotFound):
            found(stage, option)


@pytest.mark.parametrize("option", ["../x", "a" * 6_000, "\u202e", "AGENT#crab", "🦀"])
def test_nonsense_names_nobody(stage: Stage, option: str) -> None:
    stage.agent("crab")
    with pytest.raises(NotFound):
        found(stage, option)
