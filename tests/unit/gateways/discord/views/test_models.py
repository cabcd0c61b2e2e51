"""Showing models: everybody sees them, and an owner chooses others from the next turn on."""

from typing import Any

import pytest

from opencrab.domain.discord.community import Person
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.models.routing import Use
from opencrab.domain.value import Language
from opencrab.gateways.discord.text.view_sentences import discord_term
from tests.crash.outside import Reply
from tests.unit.gateways.discord.showing import OWNER, STRANGER, USER, answer, fields, told
from tests.unit.gateways.discord.stage import GUEST, Stage


def ready(stage: Stage) -> None:
    stage.house.provider.routing = stage.house.provider.routing.replaced(
        aliases={"quick": "fake:quick"}
    )
    stage.agent("crab")


@pytest.mark.parametrize("language", list(Language))
def test_everybody_sees_each_use_with_who_chose_it(any_stage: Stage, language: Language) -> None:
    ready(any_stage)
    for person in (OWNER, USER, STRANGER):
        shown = fields(answer(any_stage, "model list", person, language=language))
        assert shown[discord_term(language, "thinking")].startswith("fake:crab\n")
        assert discord_term(language, "by_agent") in shown[discord_term(language, "thinking")]
        assert discord_term(language, "by_default") in shown[discord_term(language, "embedding")]
        assert list(shown)[:-1] == [discord_term(language, use.value) for use in Use]
        assert list(shown.values())[-1] == "**quick** → fake:quick"


def test_the_owner_chooses_a_model_and_gives_it_back(any_stage: Stage) -> None:
    ready(any_stage)
    shown = answer(any_stage, "model set", use="thinking", model=" quick ")
    assert fields(shown)["thinking"].startswith("fake:quick\n")
    assert "next turn" in told(shown)
    shown = answer(any_stage, "model set", use="all", model="fake:other", language=Language.JA)
    assert fields(shown)["会話"].startswith("fake:other\n")
    assert fields(shown)["思考"].startswith("fake:quick\n")
    assert "次のターンから" in told(shown)
    assert fields(answer(any_stage, "model reset", use="thinking"))["thinking"].startswith(
        "fake:other\n"
    )
    assert fields(answer(any_stage, "model reset"))["thinking"].startswith("fake:none\n")


def test_a_turn_that_runs_keeps_its_model(stage: Stage) -> None:
    ready(stage)
    note = ("ws_write", {"path": "a.md", "content": "x"})
    script = (Reply(calls=(note,)), Reply("はい"))
    stage.house.scripts |= {"crab": script, "other": script}
    stage.house.session(stage.house.home.agents.get("crab").agent)

    def change() -> None:
        if stage.house.home.agents.get("crab").agent.version == 1:
            answer(stage, "model set", use="all", model="fake:other")

    stage.house.interrupt(change)
    stage.house.say("書いて")
    stage.works()
    stage.house.say("もう一度", "m2")
    stage.works()
    asked = [request.model for request in stage.house.provider.seen]
    assert asked[:2] == ["crab", "crab"]
    assert set(asked[2:]) == {"other"}


@pytest.mark.parametrize("person", [USER, STRANGER])
@pytest.mark.parametrize("name", ["model set", "model reset"])
def test_nobody_else_may_choose(stage: Stage, name: str, person: Person) -> None:
    ready(stage)
    with pytest.raises(Refused):
        answer(stage, name, person, use="thinking", model="quick")
    assert stage.house.home.agents.get("crab").agent.version == 1


def test_an_agents_own_owner_may_choose(stage: Stage) -> None:
    ready(stage)
    stage.place("crab", owner_ids=(GUEST,))
    answer(stage, "model set", STRANGER, use="thinking", model="quick")


@pytest.mark.parametrize(
    "options",
    [
        {"use": "thinking", "model": "no such thing"},
        {"use": "thinking", "model": "x" * 6_000},
        {"use": "thinking", "model": "  "},
        {"use": "dreaming", "model": "quick"},
        {"use": "\u202e" * 200, "model": "quick"},
    ],
)
def test_what_cannot_be_is_refused_in_words(stage: Stage, options: dict[str, Any]) -> None:
    ready(stage)
    for language in Language:
        with pytest.raises(Invalid) as caught:
            answer(stage, "model set", language=language, **options)
        assert caught.value.cure


def test_what_is_wrong_with_a_model_is_the_owners_to_know(stage: Stage) -> None:
    ready(stage)
    agent = stage.house.home.agents.get("crab").agent
    llm = agent.llm.replaced(private=True)
    stage.house.home.agents.save(agent.replaced(model="local:crab", llm=llm))
    assert "⚠️" in told(answer(stage, "model list"))
    assert "⚠️" not in told(answer(stage, "model list", STRANGER))
