"""A place outside has one session at a time, whoever opens it, and however often."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.conversation.session import PARTICIPANTS, Hearing, Mode, Session, SessionStatus
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.identifier import stable_id
from opencrab.engine.conversation.channel_bindings import (
    SessionOpening,
    conversation_bound_to_channel,
    leave_channel_conversation,
    open_conversation_of_channel,
)
from opencrab.engine.runtime import Runtime
from tests.contract.example import NOW, profile, session
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Bell, Provider, registry

PLACE = "discord.42"


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runtime]:
    """An installation with three agents, in each home."""
    clock = FakeClock(NOW)
    with request.param(tmp_path, clock) as home:
        for name in ("hana", "ume", "kiku"):
            home.agents.create(profile(name, name))
        yield Runtime(
            home=home,
            clock=clock,
            models=Provider({}),
            actions=registry(Bell()),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )


def opening(*agent_ids: str, **more: Any) -> SessionOpening:
    return SessionOpening(agent_ids=agent_ids or ("hana",), opened_by="taro", **more)


def ended(runtime: Runtime, session_id: str) -> bool:
    return runtime.home.sessions.get(session_id).status is SessionStatus.ENDED


def started_by(key: str) -> str:
    return stable_id("place", PLACE, "started", key)


def test_the_first_who_come_open_the_session(runtime: Runtime) -> None:
    assert conversation_bound_to_channel(runtime.home, PLACE) is None
    wanted = opening("hana", theme="朝の会", hearing=Hearing.GUILD, guild_id="7")
    made = open_conversation_of_channel(runtime, PLACE, wanted)
    assert conversation_bound_to_channel(runtime.home, PLACE) == made
    assert (made.agent_ids, made.mode, made.created_by) == (("hana",), Mode.DIRECT, "taro")
    assert (made.theme, made.hearing, made.guild_id) == ("朝の会", Hearing.GUILD, "7")


def test_those_who_come_later_join_it(runtime: Runtime) -> None:
    first = open_conversation_of_channel(runtime, PLACE, opening("hana"))
    second = open_conversation_of_channel(runtime, PLACE, opening("ume", "hana"))
    assert second.id == first.id
    assert (second.agent_ids, second.mode) == (("hana", "ume"), Mode.AUTONOMOUS)


def test_each_place_has_a_session_of_its_own(runtime: Runtime) -> None:
    assert (
        open_conversation_of_channel(runtime, PLACE, opening()).id
        != open_conversation_of_channel(runtime, "discord.43", opening()).id
    )


def test_a_session_that_has_ended_is_followed_by_another(runtime: Runtime) -> None:
    first = open_conversation_of_channel(runtime, PLACE, opening())
    runtime.home.sessions.end(first.id, NOW)
    assert conversation_bound_to_channel(runtime.home, PLACE) is None
    second = open_conversation_of_channel(runtime, PLACE, opening())
    assert second.id != first.id
    assert conversation_bound_to_channel(runtime.home, PLACE) == second


def test_a_new_one_ends_the_one_before(runtime: Runtime) -> None:
    first = open_conversation_of_channel(runtime, PLACE, opening())
    second = open_conversation_of_channel(runtime, PLACE, opening("ume"), key="k1")
    assert ended(runtime, first.id)
    assert conversation_bound_to_channel(runtime.home, PLACE) == second
    assert second.agent_ids == ("ume",)


def test_the_same_key_is_the_same_session(runtime: Runtime) -> None:
    first = open_conversation_of_channel(runtime, PLACE, opening(), key="k1")
    assert open_conversation_of_channel(runtime, PLACE, opening(), key="k1") == first
    assert open_conversation_of_channel(runtime, PLACE, opening(), key="k2").id != first.id


def test_an_old_key_brings_no_session_back(runtime: Runtime) -> None:
    first = open_conversation_of_channel(runtime, PLACE, opening(), key="k1")
    second = open_conversation_of_channel(runtime, PLACE, opening(), key="k2")
    assert (
        open_conversation_of_channel(runtime, PLACE, opening(), key="k1").status
        is SessionStatus.ENDED
    )
    assert conversation_bound_to_channel(runtime.home, PLACE) == second
    assert ended(runtime, first.id)


def test_a_start_that_died_before_the_place_knew_of_it_goes_on(runtime: Runtime) -> None:
    before = open_conversation_of_channel(runtime, PLACE, opening())
    runtime.home.sessions.create(session(started_by("k1"), "hana", theme=""))
    after = open_conversation_of_channel(runtime, PLACE, opening(), key="k1")
    assert conversation_bound_to_channel(runtime.home, PLACE) == after
    assert after.id == started_by("k1")
    assert ended(runtime, before.id)


def test_a_start_that_died_after_it_ended_the_one_before_goes_on(runtime: Runtime) -> None:
    before = open_conversation_of_channel(runtime, PLACE, opening())
    runtime.home.sessions.create(session(started_by("k1"), "hana", theme=""))
    runtime.home.sessions.end(before.id, NOW)
    assert open_conversation_of_channel(runtime, PLACE, opening(), key="k1").id == started_by("k1")
    assert conversation_bound_to_channel(runtime.home, PLACE) is not None


def test_two_who_open_it_at_once_for_others_are_together_in_it(runtime: Runtime) -> None:
    first = stable_id("place", PLACE, "0")
    runtime.home.sessions.create(session(first, "ume", theme="前の話"))
    made = open_conversation_of_channel(runtime, PLACE, opening("hana"))
    assert (made.id, made.agent_ids) == (first, ("ume", "hana"))


def test_an_opening_that_died_and_was_ended_is_followed_by_another(runtime: Runtime) -> None:
    first = stable_id("place", PLACE, "0")
    runtime.home.sessions.create(session(first, "hana", theme=""))
    runtime.home.sessions.end(first, NOW)
    made = open_conversation_of_channel(runtime, PLACE, opening())
    assert made.status is SessionStatus.ACTIVE
    assert conversation_bound_to_channel(runtime.home, PLACE) == made


def test_unknown_and_retired_agents_open_nothing(runtime: Runtime) -> None:
    with pytest.raises(NotFound):
        open_conversation_of_channel(runtime, PLACE, opening("nobody"))
    agent = runtime.home.agents.get("ume").agent
    runtime.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    with pytest.raises(Conflict, match="retired"):
        open_conversation_of_channel(runtime, PLACE, opening("hana", "ume"))
    assert conversation_bound_to_channel(runtime.home, PLACE) is None


def test_there_are_only_so_many_places(runtime: Runtime) -> None:
    names = [f"a{number}" for number in range(PARTICIPANTS)]
    for name in names:
        runtime.home.agents.create(profile(name, name))
    full = open_conversation_of_channel(runtime, PLACE, opening(*names))
    with pytest.raises(Conflict, match="at most 20"):
        open_conversation_of_channel(runtime, PLACE, opening("hana"))
    assert conversation_bound_to_channel(runtime.home, PLACE) == full


def test_who_leaves_is_missed_and_the_last_one_ends_it(runtime: Runtime) -> None:
    made = open_conversation_of_channel(runtime, PLACE, opening("hana", "ume"))
    assert leave_channel_conversation(runtime.home, runtime.clock, PLACE, "hana").agent_ids == (
        "ume",
    )
    with pytest.raises(NotFound):
        leave_channel_conversation(runtime.home, runtime.clock, PLACE, "hana")
    assert (
        leave_channel_conversation(runtime.home, runtime.clock, PLACE, "ume").status
        is SessionStatus.ENDED
    )
    assert ended(runtime, made.id)
    with pytest.raises(NotFound):
        leave_channel_conversation(runtime.home, runtime.clock, PLACE, "ume")


def test_who_comes_back_is_in_the_same_session(runtime: Runtime) -> None:
    made = open_conversation_of_channel(runtime, PLACE, opening("hana", "ume"))
    leave_channel_conversation(runtime.home, runtime.clock, PLACE, "hana")
    back: Session = open_conversation_of_channel(runtime, PLACE, opening("hana"))
    assert (back.id, back.agent_ids) == (made.id, ("ume", "hana"))


def test_the_place_of_somebody_who_left_is_only_for_them(runtime: Runtime) -> None:
    names = [f"a{number}" for number in range(PARTICIPANTS)]
    for name in names:
        runtime.home.agents.create(profile(name, name))
    open_conversation_of_channel(runtime, PLACE, opening(*names))
    leave_channel_conversation(runtime.home, runtime.clock, PLACE, "a0")
    with pytest.raises(Conflict, match="at most 20"):
        open_conversation_of_channel(runtime, PLACE, opening("hana"))
    assert open_conversation_of_channel(runtime, PLACE, opening("a0")).agent_ids == (
        *names[1:],
        "a0",
    )


def test_who_is_heard_by_fewer_joins_nothing_wider(runtime: Runtime) -> None:
    wide = open_conversation_of_channel(
        runtime, PLACE, opening("hana", theme="朝の会", hearing=Hearing.PUBLIC)
    )
    narrow = SessionOpening(agent_ids=("ume",), opened_by="jiro", hearing=Hearing.PRIVATE)
    closer = open_conversation_of_channel(runtime, PLACE, narrow)
    assert ended(runtime, wide.id)
    assert conversation_bound_to_channel(runtime.home, PLACE) == closer
    assert (closer.hearing, closer.agent_ids) == (Hearing.PRIVATE, ("hana", "ume"))
    assert (closer.created_by, closer.theme) == ("taro", "")


def test_who_is_in_a_session_already_is_not_heard_more_widely_either(runtime: Runtime) -> None:
    wide = open_conversation_of_channel(runtime, PLACE, opening("hana", hearing=Hearing.GUILD))
    closer = open_conversation_of_channel(runtime, PLACE, opening("hana"))
    assert ended(runtime, wide.id)
    assert (closer.hearing, closer.agent_ids) == (Hearing.SESSION, ("hana",))
    assert open_conversation_of_channel(runtime, PLACE, opening("hana")) == closer


def test_who_is_heard_by_more_joins_what_is_narrower(runtime: Runtime) -> None:
    narrow = open_conversation_of_channel(runtime, PLACE, opening("hana", hearing=Hearing.PRIVATE))
    joined = open_conversation_of_channel(runtime, PLACE, opening("ume", hearing=Hearing.PUBLIC))
    assert (joined.id, joined.hearing) == (narrow.id, Hearing.PRIVATE)


def test_who_opens_it_at_once_for_more_people_is_not_joined(runtime: Runtime) -> None:
    first = stable_id("place", PLACE, "0")
    made = session(first, "ume", theme="").replaced(hearing=Hearing.PUBLIC)
    runtime.home.sessions.create(made)
    closer = open_conversation_of_channel(runtime, PLACE, opening("hana", hearing=Hearing.PRIVATE))
    assert (closer.hearing, closer.agent_ids) == (Hearing.PRIVATE, ("ume", "hana"))
    assert ended(runtime, first)


def test_no_more_take_part_in_the_narrower_one_than_fit(runtime: Runtime) -> None:
    names = [f"a{number}" for number in range(PARTICIPANTS)]
    for name in names:
        runtime.home.agents.create(profile(name, name))
    full = open_conversation_of_channel(runtime, PLACE, opening(*names, hearing=Hearing.PUBLIC))
    with pytest.raises(Conflict, match="at most 20"):
        open_conversation_of_channel(runtime, PLACE, opening("hana"))
    assert conversation_bound_to_channel(runtime.home, PLACE) == full
