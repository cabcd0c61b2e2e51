"""What an agent is on Discord is kept, replaced, listed and dropped, in every home."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.discord.community import Presence, Spot
from opencrab.domain.errors import NotFound
from opencrab.engine.discord.presence import (
    discord_presence,
    discord_presences,
    remove_agent_discord_presence,
    set_agent_discord_presence,
)
from tests.contract.homes import DISTINCT_HOMES
from tests.e2e.house import House

CHANNEL, TARO = "645027906669510667", "53908232506183680"


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    opened = House(request.param, tmp_path)
    yield opened
    opened.close()


def test_it_is_kept_whole_and_replaced_whole(house: House) -> None:
    house.agent("crab", ())
    assert discord_presence(house.runtime.home.facts, "crab") is None
    whole = Presence(
        agent_id="crab",
        spots=(Spot(channel_id=CHANNEL, writes=False, hearing=Hearing.GUILD),),
        owner_ids=(TARO,),
        token_secret="蟹の鍵",
    )
    assert set_agent_discord_presence(house.runtime.home, whole) == whole
    assert discord_presence(house.runtime.home.facts, "crab") == whole
    bare = Presence(agent_id="crab")
    set_agent_discord_presence(house.runtime.home, bare)
    assert discord_presence(house.runtime.home.facts, "crab") == bare


def test_it_is_dropped_and_dropping_nothing_is_no_error(house: House) -> None:
    house.agent("crab", ())
    remove_agent_discord_presence(house.runtime.home, "crab")
    set_agent_discord_presence(house.runtime.home, Presence(agent_id="crab"))
    for _ in range(2):
        remove_agent_discord_presence(house.runtime.home, "crab")
        assert discord_presence(house.runtime.home.facts, "crab") is None
    set_agent_discord_presence(house.runtime.home, Presence(agent_id="crab"))
    assert discord_presence(house.runtime.home.facts, "crab") is not None


def test_all_are_listed_in_order_however_many_there_are(house: House) -> None:
    names = [f"a{n:03d}" for n in range(102)]
    assert discord_presences(house.runtime.home.facts) == ()
    for name in reversed(names):
        house.agent(name, ())
        set_agent_discord_presence(house.runtime.home, Presence(agent_id=name))
    assert [each.agent_id for each in discord_presences(house.runtime.home.facts)] == names


def test_nobody_has_none(house: House) -> None:
    with pytest.raises(NotFound):
        set_agent_discord_presence(house.runtime.home, Presence(agent_id="nobody"))
    with pytest.raises(NotFound):
        remove_agent_discord_presence(house.runtime.home, "nobody")
    assert discord_presence(house.runtime.home.facts, "nobody") is None
