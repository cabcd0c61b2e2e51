"""Archives over REST: what an agent remembers goes out as a zip and comes back, once."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.engine.memory.archive.file import ARCHIVE_BYTES
from opencrab.gateways.rest.http.page import JSON_LINES, NEXT
from tests.integration.rest.house import House, problem
from tests.integration.rest.remembering import remembering, texts

LIKES = {"content": "美香はコーヒーを砂糖なしで飲む。", "category": "preference"}
MEETS = {"content": "The owner meets the team every Monday at 9."}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """An installation that finds things again."""
    with remembering(tmp_path) as house:
        yield house


def place(agent: str, part: str) -> str:
    return f"/agents/{agent}/memory/{part}"


def exported(house: House, agent: str, query: str = "") -> bytes:
    """An agent's archive."""
    answer = house.raw("GET", f"{place(agent, 'export')}{query}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/zip"
    return answer.content


def test_another_agent_takes_an_archive_in_and_finds_it_but_counts_it_as_foreign(
    house: House,
) -> None:
    mika, ken = house.agent(), house.agent("Ken")
    for given in (LIKES, MEETS):
        house.made(f"{place(mika, 'curated')}", given)
    content = exported(house, mika)
    answer = house.raw("POST", place(ken, "import"), content).json()
    assert answer == {"taken": {"memory": 2}, "known": {}, "other": {}, "forgotten": {}}
    assert texts(house, ken, "コーヒーは砂糖を入れて飲む？")[0] == LIKES["content"]
    kept = house.got(place(ken, "curated"))["items"]
    assert {(each["tainted"], each["hearing"]) for each in kept} == {(True, "private")}
    again = house.raw("POST", place(ken, "import"), content).json()
    assert again == {"taken": {}, "known": {"memory": 2}, "other": {}, "forgotten": {}}


def test_an_export_can_be_read_by_people_and_leave_out_what_was_said(house: House) -> None:
    mika = house.agent()
    session = house.session(mika)
    house.say(session, "来月、京都に引っ越します。")
    with zipfile.ZipFile(io.BytesIO(exported(house, mika))) as archive:
        assert "京都" in archive.read(f"sessions/{session}.md").decode()
    with zipfile.ZipFile(io.BytesIO(exported(house, mika, "?sessions=false"))) as archive:
        assert not [name for name in archive.namelist() if "session" in name]


def test_an_export_in_parts_is_json_lines_and_goes_on_where_it_ended(house: House) -> None:
    mika = house.agent()
    for given in (LIKES, MEETS):
        house.made(f"{place(mika, 'curated')}", given)
    session = house.session(mika)
    house.say(session, "来月、京都に引っ越します。")
    headers = {"Accept": JSON_LINES}
    first = house.raw("GET", place(mika, "export"), headers=headers)
    assert first.headers["Content-Type"].startswith(JSON_LINES)
    rows = [json.loads(row) for row in first.text.splitlines()]
    kinds = [row["kind"] for row in rows]
    assert kinds[:2] == ["memory", "memory"]
    assert "session" in kinds
    assert rows[-1]["kind"] == "line"
    cursor = first.headers[NEXT]
    end = house.raw("GET", f"{place(mika, 'export')}?after={cursor}")
    assert (end.text, end.headers[NEXT]) == ("", cursor)
    house.say(session, "Kyoto it is.")
    more = house.raw("GET", f"{place(mika, 'export')}?after={cursor}")
    assert json.loads(more.text.splitlines()[0])["value"]["text"] == "Kyoto it is."
    problem(house.raw("GET", f"{place(mika, 'export')}?after=nonsense"), 422, "after")
    key, _ = house.key(Scope.READ)
    problem(house.raw("GET", place(mika, "export"), headers=headers, key=key), 403)


def test_only_the_owner_takes_memory_away_or_brings_it(house: House) -> None:
    mika = house.agent()
    for scope in (Scope.CHAT, Scope.READ):
        key, _ = house.key(scope)
        problem(house.raw("GET", place(mika, "export"), key=key), 403)
        problem(house.raw("POST", place(mika, "import"), b"PK", key=key), 403)


def test_what_is_no_archive_is_told_so_and_what_is_too_large_is_not_read(house: House) -> None:
    mika = house.agent()
    problem(house.raw("POST", place(mika, "import"), b""), 422, "archive")
    problem(house.raw("POST", place(mika, "import"), "冗談".encode()), 422, "archive")
    problem(house.raw("POST", place(mika, "import"), b"x" * (ARCHIVE_BYTES + 1)), 413)
    problem(house.raw("POST", place("nobody", "import"), exported(house, mika)), 404)
    problem(house.raw("GET", f"{place(mika, 'export')}?since=yesterday"), 422, "since")
