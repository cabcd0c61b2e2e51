"""A client's own tools in both homes: one wait, one result, whatever dies meanwhile."""

import pytest

from opencrab.domain.client_tools import (
    CLIENT_CALLS,
    CLIENT_TOOLS,
    ClientCalls,
    ClientTool,
    ClientTools,
)
from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import Conflict
from opencrab.domain.turn.record import TURN_ACTIONS, CallResult
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.client_tools.results import accept_client_results
from opencrab.engine.erasure.turns import TurnErasure
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.e2e.house import House
from tests.e2e.mortal import die_after

IN_HOMES = DISTINCT_HOMES

TOOL = ClientTool(name="weather", action="client__weather", parameters={"type": "object"})


def furnished(house: House) -> Turn:
    """A turn with two calls of the client's tool, and one of the agent's own between steps."""
    both = (("client__weather", {"place": "潮岬"}), ("client__weather", {"place": "reef🦀"}))
    replies = (Reply(calls=(*both, ("ring_bell", {}))), Reply(text="晴れです"))
    house.session(house.agent("crab", replies))
    said = message("天気は?", "m1", None).replaced(metadata={TURN_ACTIONS: "yes"})
    tools = new_fact("crab", CLIENT_TOOLS, said.turn_in("s", "crab"), ClientTools(tools=(TOOL,)))
    house.home.facts.commit(tools)
    (turn,) = house.say("天気は?", metadata={TURN_ACTIONS: "yes"})
    return turn


def asked(house: House, turn: Turn) -> ClientCalls:
    (stored,) = house.home.facts.page("crab", CLIENT_CALLS, limit=9)
    assert house.turn(turn.id).status is TurnStatus.WAITING
    return stored.read(ClientCalls)


def answer(house: House, turn: Turn, n: int, said: str = "21度🌊") -> ClientCalls:
    results = {0: said, 1: "\x00"}
    return accept_client_results(house.runtime, turn, n, results, by="owner", field="messages")


def ended(house: House, turn: Turn, *, rings: tuple[int, ...] = (1,)) -> None:
    """The turn has ended well: each call has one result, and the bell rang so often."""
    found = house.turn(turn.id)
    assert (found.status, found.taint) == (TurnStatus.COMPLETED, True)
    records = house.home.journal.load(turn.id).records
    results = [each.call_id for each in records if isinstance(each, CallResult)]
    assert len(results) == len(set(results)) == 3
    assert len(house.bell.rings) in rings
    assert house.lines()[-1].text == "晴れです"


def test_it_waits_without_cost_takes_results_once_and_goes_on(house: House) -> None:
    turn = furnished(house)
    house.work()
    waits = asked(house, turn)
    spent = house.turn(turn.id).spent
    house.later(1_800)
    assert asked(house, turn) == waits
    assert house.turn(turn.id).spent == spent
    taken = answer(house, turn, waits.n)
    assert answer(house, turn, waits.n) == taken
    with pytest.raises(Conflict):
        answer(house, turn, waits.n, "other")
    house.work()
    ended(house, turn)
    assert answer(house, turn, waits.n) == taken
    house.later(7_200)
    ended(house, turn)


def test_what_a_client_offered_and_returned_is_forgotten_with_its_turn(house: House) -> None:
    turn = furnished(house)
    house.work()
    answer(house, turn, asked(house, turn).n)
    house.work()
    wish = ErasureRequest(scope=ErasureScope.SESSION, id="s")
    assert TurnErasure(house.runtime, "crab", wish).erase_turn(turn.id)
    for kind in (CLIENT_CALLS, CLIENT_TOOLS):
        assert house.home.facts.page("crab", kind, limit=9) == ()


def test_without_results_it_ends_when_the_time_is_over(house: House) -> None:
    turn = furnished(house)
    house.work()
    waits = asked(house, turn)
    house.later(3_700)
    house.later(60)
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    assert "client__weather" in house.lines()[-1].text
    with pytest.raises(Conflict):
        answer(house, turn, waits.n)
    assert house.bell.rings == []


@pytest.mark.parametrize("dies_in", range(1, 8))
def test_a_death_after_any_write_loses_nothing_and_asks_once(house: House, dies_in: int) -> None:
    turn = furnished(house)
    live = die_after(house, "journal", "commit", dies_in)
    died = live(house.work)
    waits = asked(house, turn)

    def bring_and_work() -> None:
        answer(house, turn, waits.n)
        house.work()

    died |= live(bring_and_work)
    assert died or dies_in > 4
    # If a process has died while its turn waited, the next sweep frees the turn's session.
    house.later(house.runtime.rules.step_lease_seconds)
    # A bell that may have rung is not rung again.
    ended(house, turn, rings=(0, 1))


@pytest.mark.parametrize("method", ["decide", "remove"])
def test_a_death_while_results_are_taken_is_made_good_by_the_sweep(
    house: House, method: str
) -> None:
    turn = furnished(house)
    house.work()
    waits = asked(house, turn)
    live = die_after(house, "journal" if method == "decide" else "due", method, 1)
    assert live(lambda: answer(house, turn, waits.n))
    house.work()
    ended(house, turn)
    assert answer(house, turn, waits.n).results == ("21度🌊", "\x00")
