"""Search without an index: who sees what, what comes first, and what taints."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.plain_search import LINES, MEMORIES, PlainSearch
from opencrab.domain.authority import Authority
from opencrab.domain.fact import new_fact
from opencrab.domain.line import Audience, LineKind
from opencrab.domain.memory import Memory
from opencrab.ports.search import Found
from tests.unit.actions.knowing import NOW, Desk, desk


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place."""
    with desk(tmp_path) as place:
        yield place


def search(mika: Desk, query: str, limit: int = 10) -> tuple[Found, ...]:
    searching = PlainSearch(mika.home.journal, mika.home.facts)
    return searching.search("mika", query, session_id="s1", limit=limit)


def texts(mika: Desk, query: str, limit: int = 10) -> list[str]:
    return [found.text for found in search(mika, query, limit)]


def remember(mika: Desk, memory_id: str, content: str, *, owner: str = "mika") -> None:
    memory = Memory(id=memory_id, category="fact", content=content, created_at=NOW, updated_at=NOW)
    mika.home.facts.commit(new_fact(owner, "memory", memory_id, memory))


def test_the_best_comes_first_and_of_equals_the_newest(mika: Desk) -> None:
    mika.hear("明日は会議がある")
    mika.hear("会議室の予約を明日までにする")
    mika.hear("会議は楽しい")
    remember(mika, "m1", "会議は嫌い")
    assert texts(mika, "明日 会議室") == [
        "会議室の予約を明日までにする",
        "明日は会議がある",
        "会議は楽しい",
        "会議は嫌い",
    ]
    assert texts(mika, "明日 会議室", 1) == ["会議室の予約を明日までにする"]
    assert texts(mika, "kaigi") == []


def test_thoughts_of_others_deeds_and_other_sessions_are_not_found(mika: Desk) -> None:
    mika.hear("crab one")
    mika.hear("crab two", audience=Audience.AGENTS)
    mika.hear("crab three", audience=Audience.SELF, speaker_id="mika", kind=LineKind.INNER_VOICE)
    mika.hear("crab four", audience=Audience.SELF, speaker_id="ken", kind=LineKind.INNER_VOICE)
    mika.hear("crab five", kind=LineKind.ACTION)
    mika.hear("crab six", session_id="s2")
    remember(mika, "m1", "crab seven", owner="ken")
    found = {each.text: each.kind for each in search(mika, "crab")}
    assert found == {
        "crab one": "speech",
        "crab two": "instruction",
        "crab three": "inner_voice",
    }


@pytest.mark.parametrize(
    ("changes", "taint"),
    [
        ({}, False),
        ({"authority": Authority.USER}, False),
        ({"authority": Authority.PUBLIC}, True),
        ({"speaker_id": "ken", "from_agent": True}, True),
        ({"speaker_id": "mika", "from_agent": True}, False),
        ({"speaker_id": "mika", "from_agent": True, "authority": Authority.PUBLIC}, False),
        ({"speaker_id": "mika", "from_agent": True, "taint": True}, True),
    ],
)
def test_foreign_words_taint(mika: Desk, changes: dict[str, object], *, taint: bool) -> None:
    mika.hear("蟹の話", **changes)
    (found,) = search(mika, "蟹")
    assert (found.taint, found.session_id, found.at) == (taint, "s1", mika.clock.now())


def test_only_the_newest_are_looked_through(mika: Desk) -> None:
    mika.hear("the oldest pearl")
    for _ in range(LINES - 1):
        mika.hear("sand")
    assert texts(mika, "pearl") == ["the oldest pearl"]
    mika.hear("sand")
    assert texts(mika, "pearl") == []
    remember(mika, "a", "a pearl")
    for number in range(MEMORIES - 1):
        remember(mika, f"b{number:03}", "x")
    assert texts(mika, "pearl") == ["a pearl"]
    remember(mika, "c", "x")
    assert texts(mika, "pearl") == []
