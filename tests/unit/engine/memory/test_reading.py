"""Recollection: lists end where a page is full, or where nothing of the agent's came for long."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import Principal
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.document import new_fact
from opencrab.domain.errors import NotFound, Refused
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.search_row import EVERYTHING, SearchClearance
from opencrab.engine.memory import reading
from opencrab.engine.memory.curation import MemoryCurator
from opencrab.engine.runtime import Runtime

MANY = 1_150
"""More than one call looks through."""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """Ada, in few sessions of many and with few decisions among many facts."""
    folder: Path = tmp_path_factory.mktemp("recollection")
    clock = SystemClock()
    home, database = open_sqlite_home(
        folder, clock, files=LocalFiles(folder), blobs=LocalBlobs(folder), durable=False
    )
    now = clock.now()
    agent = Agent(id="ada", name="Ada", created_at=now, updated_at=now)
    home.agents.create(
        Profile(agent=agent, soul=Soul(persona_name="Ada"), identity=Identity(name="Ada"))
    )
    for number in range(MANY):
        mine = number in {3, MANY - 1}
        session = Session(
            id=f"s{number:05}",
            participants=(Participant(agent_id="ada" if mine else "bob"),),
            created_by="k1",
            created_at=now,
            updated_at=now,
        )
        home.sessions.create(session)
        memory = Memory(
            id=f"m{number:05}",
            category="decision" if mine else "fact",
            content=f"決めたこと {number}",
            created_at=now,
            updated_at=now,
        )
        home.facts.commit(new_fact("ada", MEMORY, memory.id, memory))
    yield Runtime(
        home, clock, cast("Any", None), cast("Any", None), consequences=CONSEQUENCES, jobs=JOBS
    )
    database.close()


def test_a_long_stretch_of_others_sessions_ends_early_and_goes_on(runtime: Runtime) -> None:
    found, place = reading.session_logs_for_memory(runtime.home, "ada", after=None, limit=5)
    assert [log.session.id for log in found] == ["s00003"]
    assert place is not None
    rest, end = reading.session_logs_for_memory(runtime.home, "ada", after=place, limit=5)
    assert [log.session.id for log in rest] == [f"s{MANY - 1:05}"]
    assert end is None


def test_a_long_stretch_of_other_categories_ends_early_and_goes_on(runtime: Runtime) -> None:
    memories = MemoryCurator(runtime, "ada")
    found, place = memories.page(category="decision", limit=5)
    assert [each.id for each in found] == [f"m{MANY - 1:05}"]
    assert place is not None
    rest, end = memories.page(category="decision", after=place, limit=5)
    assert [each.id for each in rest] == ["m00003"]
    assert end is None


def test_a_session_of_somebody_else_is_like_one_that_never_was(runtime: Runtime) -> None:
    said = list[str]()
    for name in ("s00000", "s99999"):
        with pytest.raises(NotFound) as caught:
            reading.session_in_agent_memory(runtime.home.sessions, "ada", name)
        said.append(caught.value.message.replace(name, "X"))
    assert said[0] == said[1]


def test_who_asks_decides_what_may_be_found() -> None:
    def asking(scope: Scope) -> SearchClearance:
        return reading.memory_search_clearance(Principal(id="k1", name="鍵", scope=scope))

    assert asking(Scope.OWNER) == EVERYTHING
    assert asking(Scope.CHAT) == SearchClearance(person_id="k1")
    with pytest.raises(Refused):
        asking(Scope.READ)
