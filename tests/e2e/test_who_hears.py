"""No request contains what somebody who reads the answer may not know: who listens decides."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.conversation.message import Channel
from opencrab.domain.value import Language
from opencrab.engine.agents.agent_session import agents_own_session
from opencrab.ports.models.model import ChatRequest
from tests.contract.homes import ENGINE_HOMES, OpenHome
from tests.crash.outside import Reply
from tests.e2e.house import START
from tests.e2e.listening import (
    ASKERS,
    DIRECT,
    EVERYBODY,
    NOBODYS,
    OWNER,
    PLACES,
    SECRETS,
    SERVER,
    STRANGER,
    YUI,
    Listening,
    found_in,
    may_reach,
    wire,
)

ALONE, YUIS = PLACES[0], PLACES[1]
BY_NAME = {place.name: place for place in PLACES}


@pytest.fixture(params=ENGINE_HOMES, ids=lambda opens: opens.__name__)
def rooms(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Listening]:
    with closing(Listening(request.param, tmp_path, Language.EN)) as made:
        yield made


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("opens", ENGINE_HOMES, ids=lambda opens: opens.__name__)
def test_no_secret_reaches_a_request_whose_audience_may_not_know_it(
    opens: OpenHome, language: Language, tmp_path: Path
) -> None:
    with closing(Listening(opens, tmp_path, language)) as made:
        leaks = list[tuple[str, str, str]]()
        for place in PLACES:
            for who in ASKERS:
                # Whoever asks reads the answer, too, and on a server belongs to it.
                heard = place.listeners | (set() if place.name == "server" else {who})
                leaks += leaked((place.name, who), made.ask(place, who), heard)
            leaks += leaked((place.name, "schedule"), made.schedule(place), place.listeners)
        for channel, heard in ((SERVER, BY_NAME["server"].listeners), (NOBODYS, EVERYBODY)):
            leaks += leaked((channel.address, "beat"), made.beat(channel), heard)
    assert leaks == []


def leaked(
    where: tuple[str, str], requests: list[ChatRequest], heard: frozenset[str]
) -> list[tuple[str, str, str]]:
    """Secrets that reached a model although one of these people may not know them."""
    assert requests
    return [(*where, each) for each in found_in(requests) if not may_reach(heard)(each)]


def test_an_owner_alone_is_told_everything(rooms: Listening) -> None:
    asked = set(SECRETS) - {"canary-goal", "canary-belief", "canary-note-to-self", "canary-event"}
    assert found_in(rooms.ask(ALONE, OWNER)) >= asked
    assert found_in(rooms.ask(BY_NAME["direct"], OWNER)) >= asked - {"canary-thought-before"}


def test_an_owner_in_another_keys_session_is_told_what_that_person_may_know(
    rooms: Listening,
) -> None:
    found = found_in(rooms.ask(YUIS, OWNER))
    assert found == {
        "canary-core-public",
        "canary-memory-theirs",
        "canary-memory-public",
        "canary-speech-theirs",
        "canary-public-file",
        "canary-skill-theirs",
        "canary-skill-approved",
    }
    assert found_in(rooms.ask(YUIS, YUI)) == found


def test_a_server_hears_what_the_server_may_know(rooms: Listening) -> None:
    found = found_in(rooms.ask(BY_NAME["server"], OWNER))
    assert {"canary-core-guild", "canary-memory-guild", "canary-core-public"} <= found
    assert all(map(may_reach(BY_NAME["server"].listeners), found))


def test_a_heartbeat_without_a_channel_sees_everything_and_one_to_a_channel_what_it_may(
    rooms: Listening,
) -> None:
    inner = {"canary-goal", "canary-belief", "canary-note-to-self", "canary-event"}
    assert found_in(rooms.beat(None)) >= inner
    # Notes to itself are gone after a waking that left them alone.
    assert found_in(rooms.beat(DIRECT)) >= inner - {"canary-note-to-self"}
    requests = rooms.beat(SERVER)
    assert not found_in(requests) & inner
    assert "goal.completed" in wire(requests)


def test_a_waking_that_others_hear_leaves_notes_that_it_was_not_shown(rooms: Listening) -> None:
    rooms.beat(SERVER)
    rooms.schedule(BY_NAME["server"])
    assert "canary-note-to-self" in found_in(rooms.beat(None))


@pytest.mark.parametrize("channel", [SERVER, NOBODYS, DIRECT], ids=["server", "nobodys", "direct"])
@pytest.mark.parametrize("name", ["alone", "yuis", "invited", "server"])
def test_a_schedule_that_speaks_to_a_channel_is_heard_there_and_in_its_session(
    rooms: Listening, name: str, channel: Channel
) -> None:
    there = {NOBODYS: EVERYBODY, SERVER: BY_NAME["server"].listeners, DIRECT: frozenset({OWNER})}
    requests = rooms.schedule(BY_NAME[name], channel)
    assert leaked((name, "schedule"), requests, BY_NAME[name].listeners | there[channel]) == []


def test_an_own_session_that_is_shared_is_heard_by_its_members_whatever_the_channel(
    rooms: Listening,
) -> None:
    rooms.grant(agents_own_session("crab", START).id, SessionAccess(members=(YUI,)))
    for channel in (None, DIRECT, SERVER):
        heard = {OWNER, YUI} | (BY_NAME["server"].listeners if channel is SERVER else set())
        assert leaked(("own", "beat"), rooms.beat(channel), frozenset(heard)) == []


def test_speaking_freely_in_a_session_is_not_speaking_freely_in_a_channel(
    rooms: Listening,
) -> None:
    rooms.grant("yuis", SessionAccess(speaks_freely=True))
    requests = rooms.schedule(YUIS, SERVER)
    assert leaked(("yuis", "schedule"), requests, BY_NAME["server"].listeners) == []
    rooms.grant("server", SessionAccess(speaks_freely=True))
    assert "canary-memory-private" in found_in(rooms.schedule(YUIS, SERVER))


@pytest.mark.parametrize(("place", "who"), [("yuis", YUI), ("square", STRANGER)])
def test_a_skill_learned_alone_with_the_owner_is_not_told_to_others(
    rooms: Listening, place: str, who: str
) -> None:
    lesson = {
        "experience": "The owner told me of the divorce",
        "outcome": "success",
        "lesson": "canary-lesson: never mention Bob",
        "skill_name": "letters-to-bob",
        "situation_pattern": "know|letter",
        "guidance": "canary-guidance: they divorce on 3 May",
    }
    scripts = rooms.house.scripts
    scripts["crab"] = (Reply(calls=(("learn_from_experience", lesson),)), Reply(text="ok"))
    rooms.ask(ALONE, OWNER)
    scripts["crab"] = (
        Reply(calls=(("use_skill", {"name": "letters-to-bob"}),)),
        Reply(text="done"),
    )
    told = wire([request for _ in range(4) for request in rooms.ask(BY_NAME[place], who)])
    assert "canary-guidance" not in told
    assert "canary-lesson" not in told
    heard = wire([request for _ in range(4) for request in rooms.ask(ALONE, OWNER)])
    assert "canary-guidance" in heard


def test_a_skill_that_a_user_taught_is_told_to_that_user(rooms: Listening) -> None:
    skill = {
        "name": "tea",
        "description": "canary-tea",
        "situation_pattern": "know",
        "guidance": "canary-tea: no sugar",
    }
    scripts = rooms.house.scripts
    scripts["crab"] = (Reply(calls=(("create_my_skill", skill),)), Reply(text="ok"))
    rooms.ask(YUIS, YUI)
    scripts["crab"] = (Reply(calls=(("use_skill", {"name": "tea"}),)), Reply(text="done"))
    own = [request for _ in range(4) for request in rooms.ask(YUIS, YUI)]
    assert "canary-tea: no sugar" in wire(own)
    others = [request for _ in range(4) for request in rooms.ask(BY_NAME["one-guest"], OWNER)]
    assert "canary-tea" not in wire(others)


def test_an_owner_who_wants_more_says_so_for_one_session(rooms: Listening) -> None:
    assert "canary-memory-private" not in found_in(rooms.ask(YUIS, OWNER))
    rooms.grant("yuis", SessionAccess(speaks_freely=True))
    assert "canary-memory-private" in found_in(rooms.ask(YUIS, OWNER))
    assert "canary-memory-private" not in found_in(rooms.ask(YUIS, YUI))
    rooms.grant("yuis", SessionAccess())
    # What was found while it spoke freely does not stay in the history of the others.
    assert "canary-memory-private" not in found_in(rooms.ask(YUIS, OWNER))
    assert "canary-memory-private" not in found_in(rooms.ask(YUIS, STRANGER))


def test_a_users_turn_deletes_no_published_file(rooms: Listening) -> None:
    house = rooms.house
    deletes = ("ws_delete", {"path": "public/open.md"})
    house.scripts["crab"] = (Reply(calls=(deletes,)), Reply(text="done"))
    rooms.ask(YUIS, YUI)
    assert house.home.files.info("crab", "public/open.md") is not None
