"""Showing money: an owner sees what was spent, and freezes one agent or everything."""

import pytest

from opencrab.domain.discord.community import Person
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.usage.ledger import Period
from opencrab.domain.value import Language
from tests.unit.gateways.discord.showing import (
    HOSTILE,
    OWNER,
    STRANGER,
    USER,
    answer,
    fields,
    told,
)
from tests.unit.gateways.discord.stage import GUEST, Stage

LONG = "蟹" * 100


def spent(stage: Stage) -> None:
    """Two agents who have answered once each."""
    stage.house.session(stage.agent("crab"), stage.agent("shrimp"))
    stage.house.say("いくら?")
    stage.works()


def test_the_owner_sees_the_whole_installation(any_stage: Stage) -> None:
    spent(any_stage)
    cost = any_stage.house.provider.bill.total
    shown = answer(any_stage, "costs")
    found = fields(shown)
    assert found["Cost"] == f"${cost / 1_000_000:.6f}".rstrip("0")
    assert found["Model calls"] == "2"
    assert found["By model"].count("fake:") == 2
    assert set(found["By agent"].split("\n")) >= {
        line for line in found["By agent"].split("\n") if line.startswith(("crab", "shrimp"))
    }
    assert "$5.00" in found["Today's budgets (UTC)"]


def test_one_agent_is_shown_with_its_own_budgets(stage: Stage) -> None:
    spent(stage)
    shown = answer(stage, "costs", language=Language.JA, agent="crab", period="last_day")
    found = fields(shown)
    assert found["モデルの呼び出し"] == "1"
    assert "エージェント別" not in found
    rows = found["今日の予算(UTC)"].split("\n")
    assert [row.split()[0] for row in rows] == ["全体", "エージェント", "ハートビート"]
    assert "crab" in shown["embeds"][0]["title"]
    assert "直近24時間" in shown["embeds"][0]["title"]


def test_what_lies_before_the_period_is_not_counted(stage: Stage) -> None:
    spent(stage)
    stage.house.clock.advance(3_601)
    assert fields(answer(stage, "costs", period="last_hour"))["Cost"] == "$0.00"
    assert fields(answer(stage, "costs", period="all"))["Model calls"] == "2"
    with pytest.raises(Invalid, match="no period"):
        answer(stage, "costs", period="forever")
    for period in Period:
        for language in Language:
            answer(stage, "costs", period=period.value, language=language)


def test_many_agents_with_long_names_fit(stage: Stage) -> None:
    stage.house.session(*(stage.agent(f"a{number}") for number in range(20)))
    stage.house.say("いくら?")
    stage.works()
    for number in range(20):
        agent = stage.house.home.agents.get(f"a{number}").agent
        name = HOSTILE[:100] if number % 2 else LONG
        stage.house.home.agents.save(agent.replaced(name=name))
    shown = fields(answer(stage, "costs", language=Language.JA))
    assert "… +" in shown["エージェント別"]


def test_an_installation_without_agents_has_cost_nothing(stage: Stage) -> None:
    assert fields(answer(stage, "costs"))["Cost"] == "$0.00"


@pytest.mark.parametrize("person", [USER, STRANGER])
@pytest.mark.parametrize("name", ["costs", "freeze", "unfreeze"])
@pytest.mark.parametrize("options", [{}, {"agent": "crab"}])
def test_nobody_else_may(stage: Stage, name: str, person: Person, options: dict[str, str]) -> None:
    stage.agent("crab")
    with pytest.raises(Refused):
        answer(stage, name, person, **options)
    assert stage.house.home.switches.all_frozen() == ()


def test_an_agents_own_owner_has_a_say_in_that_agent_only(stage: Stage) -> None:
    stage.agent("crab")
    stage.agent("shrimp")
    stage.place("crab", owner_ids=(GUEST,))
    answer(stage, "costs", STRANGER, agent="crab")
    answer(stage, "freeze", STRANGER, agent="crab")
    assert stage.house.home.switches.all_frozen() == ("crab",)
    for options in ({}, {"agent": "shrimp"}):
        with pytest.raises(Refused):
            answer(stage, "freeze", STRANGER, **options)


def test_one_agent_is_frozen_and_works_again(any_stage: Stage) -> None:
    any_stage.agent("crab")
    switches = any_stage.house.home.switches
    assert "crab is frozen" in told(answer(any_stage, "freeze", agent="crab"))
    assert switches.all_frozen() == ("crab",)
    assert "解除" in told(answer(any_stage, "unfreeze", agent="crab", language=Language.JA))
    assert switches.all_frozen() == ()


def test_everything_is_frozen_and_what_stays_so_is_told(stage: Stage) -> None:
    stage.agent("crab")
    assert "すべてのエージェントを凍結" in told(answer(stage, "freeze", language=Language.JA))
    assert stage.house.home.switches.is_frozen(INSTALLATION)
    answer(stage, "freeze", agent="crab")
    assert "All agents are still frozen" in told(answer(stage, "unfreeze", agent="crab"))
    answer(stage, "freeze", agent="crab")
    assert "crab" in told(answer(stage, "unfreeze"))
    assert not stage.house.home.switches.is_frozen(INSTALLATION)


def test_an_unknown_agent_is_never_taken_for_everything(stage: Stage) -> None:
    stage.agent("crab")
    for name in ("nobody", "all"):
        with pytest.raises(NotFound):
            answer(stage, "freeze", OWNER, agent=name)
    assert stage.house.home.switches.all_frozen() == ()
