"""Knowledge seeds: files, memories and addresses are read once, and failures are told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.errors import Conflict, Refused
from opencrab.domain.memory.memory import MEMORY_CHARACTERS, Memory
from opencrab.engine.learning.knowledge_seeds import (
    CATEGORY,
    PARTS,
    read_knowledge_seeds_for_learning,
)
from opencrab.engine.memory.curation import MemoryCurator, NewMemory
from opencrab.engine.world.binding import bind_to_world
from opencrab.engine.world_outbox import stored_world
from opencrab.ports.web import WebPage
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld

PAGE = "https://example.org/market"


class Pages:
    """The web, of one page; `down` says that it cannot be read now."""

    def __init__(self) -> None:
        self.read = 0
        self.down = False

    def prefix(self, url: str) -> str | None:
        return url

    def fetch(self, url: str) -> WebPage:
        if self.down:
            raise Refused("not allowed")
        self.read += 1
        return WebPage(url=url, title="市場", text="市場は朝に開く。")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(sqlite, tmp_path)
    for name in ("crab", "sage"):
        made.agent(name, (Reply(text="…"),))
    kingdom = ReferenceWorld(made.clock)
    made.runtime = replace(made.runtime, world=kingdom.link(tmp_path / "secrets"), web=Pages())
    yield made
    made.close()


def bind(house: House, *sources: str) -> list[tuple[int, bool]]:
    """Bind the agent; the number of memories of each seed, and whether there was a problem."""
    assert house.runtime.world is not None
    kingdom = house.runtime.world.transport
    assert isinstance(kingdom, ReferenceWorld)
    bind_to_world(house.runtime, "crab", kingdom.binding(seed_sources=sources))
    found = read_knowledge_seeds_for_learning(house.runtime, "crab")
    assert [each.source for each in found] == list(sources)
    return [(each.memories, bool(each.problem)) for each in found]


def memories(house: House) -> list[Memory]:
    found, _ = MemoryCurator(house.runtime, "crab").page(category=CATEGORY, limit=100)
    return sorted(found, key=lambda each: each.id)


def write(house: House, path: str, content: bytes) -> None:
    house.home.files.write("crab", path, content)


def test_all_kinds_are_read_and_foreign_words_stay_foreign(house: House) -> None:
    write(house, "notes/law.md", "通貨は増えない。\n\nThe treasury pays.".encode())
    wise = MemoryCurator(house.runtime, "sage", owner="owner").add(
        NewMemory(content="部品は安いときに買う。")
    )
    memory = f"memory:sage/{wise.kept.memory.id}"
    assert bind(house, "file:notes/law.md", memory, PAGE) == [(1, False)] * 3
    told = {each.content: each.tainted for each in memories(house)}
    assert told == {
        "通貨は増えない。\n\nThe treasury pays.": False,
        "部品は安いときに買う。": False,
        "市場は朝に開く。": True,
    }


def test_what_was_read_is_not_read_again_and_what_failed_is(house: House) -> None:
    web = house.runtime.web
    assert isinstance(web, Pages)
    web.down = True
    write(house, "notes/law.md", "通貨は増えない。".encode())
    assert bind(house, "file:notes/law.md", PAGE) == [(1, False), (0, True)]
    web.down = False
    for _ in range(2):
        assert bind(house, "file:notes/law.md", PAGE) == [(1, False), (1, False)]
    assert (web.read, len(memories(house))) == (1, 2)


def test_what_is_private_missing_or_no_text_is_said_and_hinders_nothing(house: House) -> None:
    secret = NewMemory(content="合言葉は海。", hearing=Hearing.PRIVATE)
    kept = MemoryCurator(house.runtime, "sage", owner="owner").add(secret).kept.memory.id
    write(house, "notes/picture.bin", b"\xff\xfe\x00")
    write(house, "notes/empty.md", b" \n\n ")
    bad = [
        f"memory:sage/{kept}",
        "memory:sage/nothing",
        "memory:nobody/x",
        "file:notes/none.md",
        "file:../secret",
        "file:notes/picture.bin",
        "file:notes/empty.md",
    ]
    assert bind(house, *bad) == [(0, True)] * len(bad)
    assert memories(house) == []


def test_a_long_file_becomes_several_memories_but_not_without_end(house: House) -> None:
    words = [f"第{number}条: " + "海と市場。" * 900 for number in range(60)]
    write(house, "notes/long.md", "\n\n".join(words).encode())
    assert bind(house, "file:notes/long.md") == [(PARTS, False)]
    assert all(len(each.content) <= MEMORY_CHARACTERS for each in memories(house))


def test_the_release_before_reads_the_binding_of_an_agent_that_is_given_seeds(house: House) -> None:
    """It knows no seed sources, and refuses fields that it does not know."""
    bind(house, "file:notes/law.md")
    stored = stored_world(house.home.facts, "crab")
    assert stored is not None
    assert stored.body is not None
    assert set(stored.body["genome"]) <= {
        "role",
        "drives",
        "knowledge_seeds",
        "parent",
        "spawned_at",
    }
    with pytest.raises(Conflict):
        bind(house, "file:notes/other.md")


def test_of_a_file_only_its_owner_and_the_agent_hear_unless_it_is_published(house: House) -> None:
    for path, words in (
        ("notes/diary.md", "昨日は休んだ。"),
        ("public/law.md", "通貨は増えない。"),
    ):
        write(house, path, words.encode())
    assert bind(house, "file:notes/diary.md", "file:public/law.md", PAGE) == [(1, False)] * 3
    assert {each.content: each.hearing for each in memories(house)} == {
        "昨日は休んだ。": Hearing.PRIVATE,
        "通貨は増えない。": Hearing.PUBLIC,
        "市場は朝に開く。": Hearing.PUBLIC,
    }
