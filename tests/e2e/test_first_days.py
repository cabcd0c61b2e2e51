"""A new installation with two models learns with the settings that ship, and its owner says no."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from tests.bench.first_days import PRICES, NewInstallation, Vendor, vendor

HELLO = "Hello, tell me something nice."


@pytest.fixture(params=["cheaper"])
def town(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[NewInstallation, Any]]:
    with vendor() as (url, asked):
        house = NewInstallation(tmp_path, url, PRICES[request.param])
        yield house, asked
        house.close()


def talk(
    house: NewInstallation, asked: type[Vendor], agent: str, turns: int, likes: str = "keen"
) -> list[str]:
    """The models that answered so many messages; people like one of them."""
    session, found = house.session(agent), list[str]()
    for number in range(turns):
        (turn,) = house.say(session, f"{HELLO} {number}")
        house.work()
        found.append(asked.asked_for)
        house.made(f"/turns/{turn}/feedback", {"thumbs": "up" if found[-1] == likes else "down"})
        house.clock.advance(600)
    return found


def test_an_agent_tries_the_other_model_and_keeps_the_one_that_people_like(
    town: tuple[NewInstallation, type[Vendor]],
) -> None:
    house, asked = town
    agent = house.agent("Mika", language="en")
    days = []
    for _ in range(6):
        days.append(talk(house, asked, agent, 20))
        house.sleep()
    assert 0 < days[0].count("keen") <= 8, "a fifth of the first day, at random"
    assert days[-1].count("keen") >= 15
    told = [fact.read(TurnSignals) for fact in house.runtime.home.facts.page(agent, SIGNALS)]
    shares = {each.served[0].model: each.served[0].probability for each in told[:20]}
    assert shares == pytest.approx({"plain:plain": 0.8, "keen:keen": 0.2})

    shown = house.got(f"/agents/{agent}/experiments")
    tried = next(each for each in shown["items"] if each["subject"] == "models")
    turns = {each["name"]: each["turns"] for each in tried["models"]}
    assert turns["keen:keen"] == sum(day.count("keen") for day in days)
    assert (tried["state"], shown["explore"]) == ("running", 0.2)
    made = house.got(f"/agents/{agent}/changes")["items"]
    assert all(each["state"] != "proposed" for each in made)


def test_one_word_of_the_owner_ends_it_and_another_lets_it_go_on(
    town: tuple[NewInstallation, type[Vendor]],
) -> None:
    house, asked = town
    agent = house.agent("ミカ", language="ja")
    for _ in range(5):
        talk(house, asked, agent, 15)
        house.sleep()
    assert "keen" in talk(house, asked, agent, 10)
    made = house.made(f"/agents/{agent}/experiments/models/stop", None)
    assert (made["experiment"], made["after"]) == ("models", {"leave": "off"})
    assert set(talk(house, asked, agent, 20)) == {"plain"}
    house.sleep()
    shown = house.got(f"/agents/{agent}/experiments")
    assert "models" in shown["pinned"]
    assert shown["items"][0]["state"] == "pinned"
    house.made(f"/agents/{agent}/changes/{made['id']}/undo", None)
    assert "models" not in house.got(f"/agents/{agent}/experiments")["pinned"]
    assert "keen" in talk(house, asked, agent, 20)
    again = house.call("POST", f"/agents/{agent}/experiments/models/stop")
    assert again.status_code == 200
    twice = house.call("POST", f"/agents/{agent}/experiments/models/stop")
    assert twice.status_code == 409
    freed = house.made(f"/agents/{agent}/experiments/models/unpin", None)
    assert freed == {"subject": "models", "pinned": False}
    assert not house.got(f"/agents/{agent}/llm/config")["aim"]["chosen"]


@pytest.mark.parametrize("town", ["dearer"], indirect=True)
def test_a_dearer_model_costs_no_more_than_the_settings_say(
    town: tuple[NewInstallation, type[Vendor]],
) -> None:
    house, asked = town
    agent = house.agent("Mika", language="en", day_limit_micro_usd=200_000)
    for _ in range(5):
        found = talk(house, asked, agent, 30)
        today = house.clock.now().date().isoformat()
        tallies = house.runtime.home.tallies.between(agent, today, today)
        spent = sum(each.counts["cost"] for each in tallies)
        usual = len(found) * spent / (found.count("plain") + 4 * found.count("keen"))
        assert spent - usual <= 0.1 * 200_000
        assert "plain" in found
        house.sleep()


def test_a_model_that_fails_is_not_tried_again_that_day(
    town: tuple[NewInstallation, type[Vendor]],
) -> None:
    house, asked = town
    asked.failing = frozenset({"keen"})
    agent = house.agent("Mika", language="en")
    talk(house, asked, agent, 30, likes="plain")
    today = house.clock.now().date().isoformat()
    tallies = house.runtime.home.tallies.between(agent, today, today)
    calls = [each.counts["calls"] for each in tallies if each.cell.name == "keen:keen"]
    assert sum(calls) <= 1
    told = house.runtime.home.facts.page(agent, SIGNALS)
    assert all(fact.read(TurnSignals).spoke for fact in told), "the fallback answered"


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "plain:plain"},
        {"models": {"conversation": "plain:plain"}},
        {"aim": {"leave": "recommend"}},
        {"self_selection": False},
    ],
)
def test_nothing_is_tried_where_somebody_chose(
    town: tuple[NewInstallation, type[Vendor]], changes: dict[str, Any]
) -> None:
    house, asked = town
    agent = house.agent("Mika", language="en")
    assert house.call("PUT", f"/agents/{agent}/llm/config", changes).status_code == 200
    for _ in range(2):
        assert set(talk(house, asked, agent, 20)) == {"plain"}
        house.sleep()


def test_one_model_alone_is_no_experiment(tmp_path: Path) -> None:
    with vendor() as (url, asked):
        house = NewInstallation(tmp_path, url, PRICES["same"], one=True)
        agent = house.agent("Mika", language="en")
        assert set(talk(house, asked, agent, 10)) == {"plain"}
        subjects = [each["subject"] for each in house.got(f"/agents/{agent}/experiments")["items"]]
        assert "models" not in subjects
        house.close()
