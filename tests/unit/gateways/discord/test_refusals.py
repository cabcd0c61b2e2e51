"""What people are refused: all in Japanese, without an English sentence, for any agent's name."""

import re
from typing import Any

import pytest

from opencrab.domain.errors import Conflict, NotFound, OpenCrabError, Refused
from opencrab.domain.value import Language
from opencrab.gateways.discord.text.sentences import discord_problem_text
from opencrab.gateways.discord.views.view_commands import ANSWERS
from tests.unit.gateways.discord.showing import OWNER, USER, asked
from tests.unit.gateways.discord.stage import Stage

NAME = "さくら"
OWNER_ONLY = {"memory forget", "model set", "model reset", "costs", "freeze", "unfreeze"}
OPTIONS = {"query": "蟹", "memory": "m1", "model": "fake:m"}

_ENGLISH = re.compile(r"\b[A-Za-z]{2,} [a-z]{2,}\b")


def named_agent(stage: Stage) -> None:
    """Make an agent whose name is Japanese."""
    agent = stage.agent("crab")
    stage.house.home.agents.save(agent.replaced(name=NAME))


def problem(error: OpenCrabError) -> str:
    """What somebody whose Discord is Japanese reads, checked for English."""
    told = discord_problem_text(error, Language.JA)
    assert not _ENGLISH.search(told), told
    return told


def refusal(stage: Stage, command: str, **options: Any) -> str | None:
    """The refusal of a command that a known user sends; None if it is carried out."""
    given = asked(stage, command, USER, language=Language.JA, **OPTIONS, **options)
    try:
        ANSWERS[command](given)
    except Refused as error:
        return problem(error)
    return None


def test_the_commands_for_owners_only_are_refused_in_japanese(stage: Stage) -> None:
    named_agent(stage)
    told = {each: refusal(stage, each, agent=NAME) for each in ANSWERS}
    assert {command for command, refused in told.items() if refused} == OWNER_ONLY
    for refused in filter(None, told.values()):
        assert f"{NAME} のオーナーだけ" in refused
        assert "追加してもらって" in refused


@pytest.mark.parametrize("command", ["costs", "freeze", "unfreeze"])
def test_what_concerns_all_agents_is_for_who_runs_the_bot(stage: Stage, command: str) -> None:
    assert "OpenCrab のオーナー" in str(refusal(stage, command))


@pytest.mark.parametrize(
    ("command", "options", "says"),
    [
        ("model set", {"model": "もでる 一"}, "モデルの名前として正しくありません"),
        ("memory forget", {"memory": "m404", "confirm": True}, "記憶 m404 はありません"),
    ],
)
def test_an_owner_reads_in_japanese_what_cannot_be_done(
    stage: Stage, command: str, options: dict[str, Any], says: str
) -> None:
    named_agent(stage)
    with pytest.raises(OpenCrabError) as raised:
        ANSWERS[command](asked(stage, command, OWNER, language=Language.JA, agent=NAME, **options))
    assert says in problem(raised.value)


def test_a_japanese_name_does_not_pass_for_a_japanese_message() -> None:
    assert (
        problem(Conflict(f"agent {NAME!r} has retired"))
        == f"⚠️ エージェント {NAME} は引退しています。"
    )
    assert "というタスクはありません" in problem(NotFound(f"agent {NAME!r} has no goal 'G1'"))
