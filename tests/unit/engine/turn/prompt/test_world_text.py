"""What a bound agent is told of its world, in both languages, and who is not told."""

from datetime import timedelta

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.memory.clearance import NOTHING_WITHHELD, Clearance
from opencrab.domain.memory.search_row import SearchClearance
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.value import Language
from opencrab.domain.world.binding import WorldBinding
from opencrab.domain.world.standing import DoubtKind, WorldDoubt, WorldStanding, WorldTrust
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.prompt.world_text import SILENT, prompt_world_text, read_prompt_world
from opencrab.engine.turn.prompt_cache import KnownWorld
from opencrab.engine.world.binding import bind_to_world, receive_world_message, world_of_agent
from tests.crash.outside import Reply
from tests.e2e.house import START, House
from tests.world.reference import ReferenceWorld

pytest_plugins = ["tests.unit.engine.kingdom"]


@pytest.fixture
def world(house: House, kingdom: ReferenceWorld) -> WorldBinding:
    house.agent("crab", (Reply(text="はい"),), Language.JA)
    bound = kingdom.admit(bind_to_world(house.runtime, "crab", kingdom.binding(balance=30)))
    receive_world_message(house.runtime, kingdom.allocation(bound, 4, cycle=7))
    return world_of_agent(house.home, "crab").replaced(reputation=0.5)


def test_role_name_units_money_prices_and_policy_are_told(world: WorldBinding) -> None:
    standing = WorldStanding(
        prices={"MSG_POST": 1, "TRANSFER": 0}, trust=WorldTrust(daily_limit=40), heard_at=START
    )
    known = KnownWorld(world, standing, pays=True)
    english, japanese = (prompt_world_text(known, language, START) for language in ("en", "ja"))  # type: ignore[arg-type]
    for told in (english, japanese):
        assert not told.tainted
        for part in ("kingdom", "EXPLORER", world.key_id, "7", "30", "0.50", "MSG_POST 1", "40"):
            assert part in told, part
    assert "Sending needs no approval up to 40 a day; 40 left today." in english
    assert "予算の残り 4" in japanese
    assert len(english.splitlines()) == len(japanese.splitlines()) == 6


def test_what_the_world_got_wrong_and_its_silence_are_told(world: WorldBinding) -> None:
    doubt = WorldDoubt(kind=DoubtKind.ACCOUNT, told=99, expected=55, at=START)
    standing = WorldStanding(trust=WorldTrust(daily_limit=40), doubt=doubt, heard_at=START)
    late = START + SILENT + timedelta(minutes=1)
    told = prompt_world_text(KnownWorld(world, standing, pays=False), Language.JA, late)
    assert "55 のはずですが 99" in told
    assert "2026-01-05 09:00 UTC" in told
    assert "オーナーの承認が必要" in told
    prices = standing.replaced(doubt=doubt.replaced(kind=DoubtKind.PRICES))
    told = prompt_world_text(KnownWorld(world, prices, pays=False), Language.EN, late)
    assert "change its prices within a cycle" in told
    fresh = KnownWorld(world.replaced(units=None), WorldStanding(), pays=True)
    assert "budget units yet" in prompt_world_text(fresh, Language.EN, late)
    assert prompt_world_text(None, Language.EN, START) == ""


def test_only_the_owner_and_the_agent_itself_are_told(
    house: House, kingdom: ReferenceWorld, world: WorldBinding
) -> None:
    agent = house.home.agents.get("crab").agent
    house.session(agent)
    (turn,) = house.say("残高は?")
    others = Clearance(SearchClearance(whole=False))
    for authority, clearance, seen in (
        (Authority.OWNER, NOTHING_WITHHELD, True),
        (Authority.SELF, NOTHING_WITHHELD, True),
        (Authority.OWNER, others, False),
        (Authority.USER, NOTHING_WITHHELD, False),
        (Authority.PEER, NOTHING_WITHHELD, False),
        (Authority.PUBLIC, NOTHING_WITHHELD, False),
    ):
        asked = turn.replaced(authority=authority)
        found = read_prompt_world(house.home.facts, asked, agent, clearance)
        assert (found is not None) == seen, authority
    unbound = agent.replaced(world=None)
    assert read_prompt_world(house.home.facts, turn, unbound, NOTHING_WITHHELD) is None


def test_it_stands_in_the_prompt_of_a_chat(
    house: House, kingdom: ReferenceWorld, world: WorldBinding
) -> None:
    house.session(house.home.agents.get("crab").agent)
    (turn,) = house.say("残高は?")
    journal = house.home.journal
    work = load_turn_work(house.runtime, turn, Transcript.of(journal.load(turn.id).records))
    assert work.prompt.world is not None
    assert not work.prompt.world.pays
