"""What an ordinary discussion does to the trust of those who took part in it."""

from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.session import Ending
from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.e2e.talking import DONE, WORDS, gathered, session_of

NAMES = ("kai", "nami", "umi")


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(sqlite, tmp_path)


def _trust(house: House, agent_id: str, other: str) -> float:
    clock: FakeClock = house.clock
    stored = house.home.facts.get(agent_id, PEER, other)
    peer = Peer(agent_id=other) if stored is None else stored.read(Peer)
    return remembered_peer_trust(peer, clock.now(), 0.5)


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        ({}, Ending.HOPS),
        ({"max_turns": 5}, Ending.MAX_TURNS),
        ({"budget_micro_usd": 8}, Ending.BUDGET),
    ],
)
def test_a_discussion_that_reaches_a_limit_costs_nobody_trust(
    house: House, fields: dict[str, int], ending: Ending
) -> None:
    gathered(house, *NAMES, says=list(WORDS), **fields)
    house.say("話して")
    for _ in range(9):
        house.later(61)
    assert session_of(house).ended_by is ending
    pairs = [(one, other) for one in NAMES for other in NAMES if one != other]
    assert {_trust(house, *pair) for pair in pairs} == {0.5}


def test_saying_the_same_costs_nobody_trust(house: House) -> None:
    gathered(house, *NAMES, says=["賛成です"] * 20)
    house.say("話して")
    for _ in range(5):
        house.later(61)
    assert session_of(house).ended_by is Ending.NO_NOVELTY
    assert _trust(house, "kai", "nami") == 0.5


def test_whoever_only_declares_that_it_is_done_leaves_the_others_their_turns(house: House) -> None:
    gathered(house, *NAMES, says=["潮", "波", "砂", DONE, "岩", DONE, DONE], hop_limit=2)
    house.say("話して")
    for _ in range(9):
        house.later(61)
    assert (session_of(house).ended_by, session_of(house).hops) == (Ending.DONE, 1)
