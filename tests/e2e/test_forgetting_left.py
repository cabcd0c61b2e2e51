"""Who left a conversation lived through it all the same: it can be forgotten and carried away."""

import io
import zipfile
from pathlib import Path

import pytest

from opencrab.adapters.search_rows import IndexProgress, SearchRowReader
from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Sender
from opencrab.domain.erasure.request import FORGOTTEN, ErasureRequest, ErasureScope
from opencrab.domain.errors import NotFound
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.memory.archive.export import ExportSelection, export_memory_archive
from opencrab.engine.memory.reading import session_log_in_agent_memory, session_logs_for_memory
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.errand import RICH
from tests.crash.outside import Reply
from tests.e2e.conftest import Build
from tests.e2e.forgotten import occurrences
from tests.e2e.house import House

IN_HOMES = DISTINCT_HOMES

SAID = "合言葉は琥珀色の貝殻です。"
AGAIN = "amber shells lie under the bridge"
WISHES = (
    ErasureRequest(scope=ErasureScope.PERSON, id="hanako"),
    ErasureRequest(scope=ErasureScope.SESSION, id="s"),
    ErasureRequest(scope=ErasureScope.EVERYTHING),
)
by_scope = pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.scope.value)


@pytest.fixture
def left(build: Build) -> House:
    """A house in which crab heard Hanako with kai, and left."""
    house = build(RICH)
    agents = [house.agent(name, (Reply(f"{SAID} {AGAIN}"),) * 2) for name in ("crab", "kai")]
    house.agent("squid", ())
    house.session(*agents)
    hanako = Sender(id="hanako", name="花子")
    for number, text in enumerate((SAID, AGAIN)):
        house.say(
            text, f"m{number}", sender=hanako, principal_id="hanako", authority=Authority.USER
        )
        house.work()
    house.home.sessions.set_participants("s", ("kai",), house.clock.now())
    return house


def past(house: House) -> SearchRowReader:
    home = house.home
    return SearchRowReader(home.journal, home.sessions, home.facts, home.usage, house.clock)


def read(house: House) -> str:
    with zipfile.ZipFile(
        io.BytesIO(
            export_memory_archive(
                house.runtime.home, house.runtime.clock, "crab", ExportSelection()
            )
        )
    ) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


@by_scope
def test_who_left_forgets_what_they_heard(
    left: House, tmp_path: Path, wish: ErasureRequest
) -> None:
    assert occurrences(left, tmp_path, SAID, AGAIN)
    assert erase_data(left.runtime, "crab", wish).done
    assert occurrences(left, tmp_path, SAID, AGAIN) == []
    assert all(line.is_erased for line in left.home.journal.lines("s"))


@by_scope
def test_who_came_back_forgets_it_too(left: House, tmp_path: Path, wish: ErasureRequest) -> None:
    back = left.home.sessions.set_participants("s", ("kai", "crab"), left.clock.now())
    assert back.all_time_agent_ids == ("kai", "crab")
    assert erase_data(left.runtime, "crab", wish).done
    assert occurrences(left, tmp_path, SAID, AGAIN) == []


def test_who_stayed_tells_who_left_to_forget(left: House) -> None:
    assert erase_data(left.runtime, "kai", WISHES[0]).done
    assert left.home.facts.page("crab", FORGOTTEN)


def test_who_left_carries_away_what_they_heard(left: House) -> None:
    assert SAID in read(left)
    assert AGAIN in read(left)
    (found,), _ = session_logs_for_memory(left.runtime.home, "crab", after=None, limit=9)
    assert found == session_log_in_agent_memory(left.runtime.home, "crab", "s")
    with pytest.raises(NotFound):
        session_log_in_agent_memory(left.runtime.home, "squid", "s")


def test_an_index_of_who_left_knows_what_they_heard(left: House) -> None:
    rows = [
        row.text for batch in past(left).new_batches("crab", IndexProgress()) for row in batch.rows
    ]
    assert SAID in rows
    assert erase_data(left.runtime, "crab", WISHES[0]).done
    batches = list(past(left).new_batches("crab", IndexProgress()))
    assert not [row for batch in batches for row in batch.rows if SAID in row.text]
    marked = [mark for batch in batches for _, mark in batch.marks]
    assert {each.session_id for mark in marked for each in mark.lines} == {"s"}
    assert list(past(left).new_batches("squid", IndexProgress())) == []
