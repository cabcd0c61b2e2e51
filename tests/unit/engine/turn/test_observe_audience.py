"""Who may read the place where an answer goes, and what is read to know it."""

from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Scope, Source
from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.conversation.message import Channel
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.discord.community import PRESENCE, Community, Presence
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.turn.observe import turn_audience_clearance
from tests.unit.engine.known_world import NOW, World


class Counting:
    """A store whose calls are counted."""

    def __init__(self, target: Any, calls: list[str]) -> None:
        self._target, self._calls = target, calls

    def __getattr__(self, name: str) -> Any:
        self._calls.append(name)
        return getattr(self._target, name)


def opened_by(creator: str) -> Session:
    return Session(
        id="s2",
        participants=(Participant(agent_id="mika"),),
        created_by=creator,
        created_at=NOW,
        updated_at=NOW,
    )


def asked(
    world: World, session: Session, access: SessionAccess | None = None, **changes: Any
) -> tuple[Any, list[str]]:
    """The clearance of a turn in a session, and what was read for it."""
    (turn, *_) = world.say("…")
    calls = list[str]()
    home = world.runtime.home
    stores = {"keys": Counting(home.keys, calls), "facts": Counting(home.facts, calls)}
    runtime = replace(world.runtime, home=replace(home, **stores))
    agent = home.agents.get("mika").agent
    turn = turn.replaced(**changes)
    return turn_audience_clearance(runtime, turn, agent, session, access or SessionAccess()), calls


def test_nothing_more_is_read_in_a_session_that_the_asker_opened(world: World) -> None:
    cleared, calls = asked(world, opened_by("owner"))
    assert (cleared.whole, calls) == (True, [])
    cleared, calls = asked(world, opened_by("yui"), authority=Authority.USER, principal_id="yui")
    assert (cleared.search.person_id, calls) == ("yui", [])


def test_nothing_more_is_read_for_strangers(world: World) -> None:
    cleared, calls = asked(world, opened_by("yui"), authority=Authority.PUBLIC)
    assert (cleared.search.knows_session, calls) == (False, [])


def test_a_session_of_an_owners_other_key_is_the_owners(world: World) -> None:
    _, key = create_api_key(world.runtime, name="second", scope=Scope.OWNER)
    cleared, calls = asked(world, opened_by(key.id))
    assert (cleared.whole, calls) == (True, ["list"])
    world.runtime.home.keys.revoke(key.id, NOW, keep_last_owner=False)
    assert not asked(world, opened_by(key.id))[0].whole


def test_who_created_the_agent_is_an_owner_as_long_as_an_owner_key_is_valid(world: World) -> None:
    _, key = create_api_key(world.runtime, name="second", scope=Scope.OWNER)
    agents = world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(owner=key.id))
    assert asked(world, opened_by(key.id))[0].whole
    world.runtime.home.keys.revoke(key.id, NOW, keep_last_owner=False)
    create_api_key(world.runtime, name="second", scope=Scope.CHAT, principal_id=key.id)
    cleared, calls = asked(world, opened_by(key.id))
    assert (cleared.search.person_id, calls) == (key.id, ["list"])
    one = SessionAccess(members=(key.id,))
    assert asked(world, opened_by("owner"), one)[0].search.person_id == key.id


def test_a_session_of_a_chat_key_is_that_persons(world: World) -> None:
    _, key = create_api_key(world.runtime, name="yui", scope=Scope.CHAT)
    cleared, calls = asked(world, opened_by(key.id))
    assert (cleared.search.person_id, calls) == (key.id, ["list"])


@pytest.mark.parametrize("own", [True, False])
def test_an_owner_on_discord_is_one_by_configuration(world: World, *, own: bool) -> None:
    if own:
        presence = Presence(agent_id="mika", owner_ids=("11",))
        fact = new_fact(INSTALLATION_FACTS, PRESENCE, "mika", presence)
        world.runtime.home.facts.commit(fact)
    else:
        world.runtime = replace(world.runtime, community=Community(owner_ids=("11",)))
    assert asked(world, opened_by("discord-11"))[0].whole
    assert asked(world, opened_by("discord-12"))[0].search.person_id == "discord-12"


def test_members_listen_and_others_make_them_several(world: World) -> None:
    one = SessionAccess(members=("yui",))
    assert asked(world, opened_by("owner"), one)[0].search.person_id == "yui"
    two = SessionAccess(members=("yui", "ken"))
    assert asked(world, opened_by("owner"), two)[0].search.is_member
    group = SessionAccess(others_read=True)
    assert asked(world, opened_by("owner"), group)[0].search.is_member
    assert asked(world, opened_by("yui"), SessionAccess(speaks_freely=True))[0].whole


@pytest.mark.parametrize("authority", [Authority.OWNER, Authority.USER])
def test_a_webhook_tells_a_channel_of_discord_only_what_its_session_says(
    world: World, authority: Authority
) -> None:
    sent: dict[str, Any] = {
        "authority": authority,
        "principal_id": "webhook-ci",
        "source": Source.WEBHOOK,
    }
    channel = Channel(kind="discord", address="42")
    cleared, _ = asked(world, opened_by("webhook-ci"), channel=channel, **sent)
    found = cleared.search
    assert (found.whole, found.person_id, found.session_id) == (False, "", "s2")
    # Where nobody else reads, it may know what it may know for its sender.
    cleared, calls = asked(world, opened_by("webhook-ci"), **sent)
    assert cleared.whole is (authority is Authority.OWNER)
    assert calls == []
