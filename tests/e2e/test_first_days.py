"""A new installation with two models learns with the settings that ship, and its owner says no."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.document import new_fact
from opencrab.domain.learning.change import (
    ADJUSTMENT,
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    adjustment_id,
    describe_mix,
)
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.models.routing import RoutingBasis, Use
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.task_type import turn_think_context
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.models.exploration import ExploringTurn, basis_with_tried_model
from opencrab.engine.models.router import assign_models_to_turn, models_to_try
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


class Altered:
    """Models of which one has other properties."""

    def __init__(self, models: Any, name: str, **changes: Any) -> None:
        self._models, self._name, self._changes = models, name, changes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)

    def get(self, name: str) -> Any:
        """The model, altered if it is that one."""
        found = self._models.get(name)
        return AlteredModel(found, self._changes) if found.info.name == self._name else found


class AlteredModel:
    """A model with other properties."""

    def __init__(self, model: Any, changes: dict[str, Any]) -> None:
        self._model, self.info = model, replace(model.info, **changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def let_a_night_settle(house: NewInstallation, agent: str, **weights: float) -> None:
    """Store a split for conversations as a night makes it."""
    mix = Mix(purpose=Use.CONVERSATION, task_type="conversation", weights=weights)
    house.clock.advance(1)
    facts, now = house.runtime.home.facts, house.clock.now()
    made = Adjustment(
        id=adjustment_id(now, f"models:{mix.subject}", "daily-1"),
        at=now,
        kind=AdjustmentKind.MODELS,
        subject=mix.subject,
        before={},
        after=describe_mix(mix),
        reason="learned",
        by="daily-1",
        state=AdjustmentState.APPLIED,
    )
    mind = new_fact(agent, MIND, MIND, AgentState(mixes=(mix,))).replaced(version=0)
    facts.commit(mind, new_fact(agent, ADJUSTMENT, made.id, made))


WORDY = Price(input_per_million=2_000_000, output_per_million=16_000_000)
"""A price of answers for which the day's limit reserves no whole one."""


@pytest.mark.parametrize(
    ("changes", "text", "day"),
    [
        ({"max_input_tokens": 4_000}, "蟹 harbour " * 2_000, 1_000_000),
        ({"price": WORDY}, HELLO, 80_000),
    ],
    ids=["too long for it", "too dear for what is left"],
)
def test_the_usual_model_answers_what_a_tried_one_cannot_take(
    town: tuple[NewInstallation, type[Vendor]], changes: dict[str, Any], text: str, day: int
) -> None:
    house, asked = town
    house.furnish(models=Altered(house.runtime.models, "keen:keen", **changes))
    agent = house.agent("Mika", language="en", day_limit_micro_usd=day)
    let_a_night_settle(house, agent, fast=0.001, smart=0.999)
    (turn,) = house.say(house.session(agent), text)
    house.work()
    assert house.got(f"/turns/{turn}")["status"] == "completed"
    assert asked.asked_for == "plain"


def tried(
    house: NewInstallation, agent: str, *, pictures: bool = False, **changes: Any
) -> set[str | None]:
    """The models that fifty turns like the last one would draw."""
    runtime = house.runtime
    (turn_id,) = house.say(house.session(agent), HELLO)
    turn = runtime.home.journal.header(turn_id)
    profile = runtime.home.agents.get(agent)
    line = Line(
        session_id="s",
        group="g",
        kind=LineKind.SPEECH,
        speaker_id="p",
        speaker_name="Hanako",
        authority=Authority.OWNER,
        text="見て",
        data={"images": ["crab.png"]},
        at=house.clock.now(),
    )
    choices = models_to_try(runtime.models, profile.agent, runtime.rules.trials)
    context, found = turn_think_context(HELLO, turn.trigger, acting=False), set[str | None]()
    for number in range(50):
        same = turn.replaced(id=f"{turn.id}{number}", **changes)
        lots = assign_models_to_turn(runtime.models, profile.agent, profile.mind.mixes, same.id)
        work = ExploringTurn(
            runtime, same, profile, runtime.rules.limits, choices, (line,) * pictures
        )
        basis = basis_with_tried_model(work, RoutingBasis(lots=lots), context)
        lot = basis.assignment_for(context.use, context.task_type.value)
        found.add(None if lot is None else runtime.models.get(lot.model).info.name)
    return found


PLAIN, BOTH = {"plain:plain"}, {"plain:plain", "keen:keen"}
UNASKED_WORK = [
    {"trigger": Trigger.HEARTBEAT},
    {"authority": Authority.PUBLIC},
    {"authority": Authority.PEER},
    {"task": "G1-T1"},
]


@pytest.mark.parametrize("changes", UNASKED_WORK)
def test_other_work_uses_what_nights_found_and_tries_nothing(
    town: tuple[NewInstallation, type[Vendor]], changes: dict[str, Any]
) -> None:
    house, _asked = town
    agent = house.agent("Mika", language="en")
    assert tried(house, agent) == BOTH
    assert tried(house, agent, **changes) == {None}
    let_a_night_settle(house, agent, fast=0.7, smart=0.3)
    assert tried(house, agent) == BOTH
    assert tried(house, agent, **changes) == PLAIN
    let_a_night_settle(house, agent, fast=0.3, smart=0.7)
    assert tried(house, agent, **changes) == {"keen:keen"}


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(
    ("changes", "plain", "shown"),
    [({"private": True}, PLAIN, PLAIN), ({"vision": True}, BOTH, PLAIN)],
    ids=["private", "sees pictures"],
)
def test_no_lesser_model_is_tried_in_place_of_one_that_a_turn_needs(
    town: tuple[NewInstallation, type[Vendor]],
    changes: dict[str, Any],
    plain: set[str],
    shown: set[str],
    *,
    settled: bool,
) -> None:
    house, _asked = town
    agent = house.agent("Mika", language="en")
    if settled:
        let_a_night_settle(house, agent, fast=0.5, smart=0.5)
    assert tried(house, agent, pictures=True) == BOTH
    house.furnish(models=Altered(house.runtime.models, "plain:plain", **changes))
    assert tried(house, agent) - {None} <= plain
    assert tried(house, agent, pictures=True) - {None} <= shown


@pytest.mark.parametrize(
    "aim", [{"leave": "recommend", "explore": 0.0}, {"leave": "apply", "explore": 0.3}, {}]
)
@pytest.mark.parametrize("word", ["changes/{}/undo", "experiments/models/unpin"])
def test_taking_a_stop_back_brings_back_what_the_owner_had_chosen(
    town: tuple[NewInstallation, type[Vendor]], aim: dict[str, Any], word: str
) -> None:
    house, _asked = town
    agent = house.agent("ミカ", language="ja")
    before = house.call("PUT", f"/agents/{agent}/llm/config", {"aim": aim}).json()
    made = house.made(f"/agents/{agent}/experiments/models/stop", None)
    assert house.got(f"/agents/{agent}/llm/config")["aim"]["leave"] == "off"
    house.made(f"/agents/{agent}/{word.format(made['id'])}", None)
    now = house.got(f"/agents/{agent}/llm/config")
    assert (now["aim"], now["learning"]) == (before["aim"], before["learning"])
