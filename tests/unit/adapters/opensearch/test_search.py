"""Search over a collection: the tail, shards and the moments when things go wrong."""

from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.opensearch.connection import ATTEMPTS
from opencrab.adapters.opensearch.recent_rows import MOST_TAIL
from opencrab.adapters.opensearch.search import OpenSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.message import Audience
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.domain.memory.search_row import SearchClearance
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchQuery
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.lived import Life
from tests.opensearch.fake import FakeCollection
from tests.opensearch.search import INDEX, SETTLED_SECONDS, STAGE, client_of
from tests.searching import past_of


class Ground:
    """A home that is lived in, a collection, and a search over both."""

    def __init__(self, home: Home, clock: FakeClock, shards: int = 1) -> None:
        self.home, self.clock = home, clock
        self.life = Life(home, clock)
        self.life.meet("s1", "hana")
        self.collection = FakeCollection(clock, shards=shards)
        self.search = self.opened()

    def opened(self) -> OpenSearch:
        client = client_of(self.collection, self.clock)
        return OpenSearch(client, STAGE, past_of(self.home, self.clock), self.clock)

    def follow(self) -> None:
        assert self.home.feed is not None
        self.search.index_entries(self.home.feed.read(after=0, limit=10_000))

    def settle(self) -> None:
        self.follow()
        self.clock.advance(SETTLED_SECONDS)

    def find(self, text: str, **filters: object) -> list[str]:
        query = SearchQuery(text, SearchClearance(whole=True, session_id="s1"), **filters)  # type: ignore[arg-type]
        return [each.row.text for each in self.search.search("hana", query)]


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        yield Ground(home, clock)


def test_what_is_written_is_found_at_every_moment_of_its_way_into_the_index(
    ground: Ground,
) -> None:
    ground.life.say("最初の蟹 the first crab")
    ground.settle()
    ground.life.say("次の蟹 another crab")
    ground.follow()
    for _ in range(30):
        assert sorted(ground.find("蟹 crab")) == ["最初の蟹 the first crab", "次の蟹 another crab"]
        ground.clock.advance(5)


def test_a_search_reads_from_the_stores_only_what_the_index_does_not_show(ground: Ground) -> None:
    for number in range(20):
        ground.life.say(f"crab {number}")
    ground.settle()
    ground.life.say("the newest crab")
    seen: list[str] = []
    journal = ground.home.journal
    read = type(journal).lines

    def lines(session_id: str, *, after: int = 0, limit: int = 100) -> object:
        found = read(journal, session_id, after=after, limit=limit)
        seen.extend(line.text for line in found)
        return found

    journal.lines = lines  # type: ignore[assignment,method-assign]
    assert len(ground.find("crab", limit=50)) == 21
    assert seen == ["the newest crab"]


def test_a_hit_of_the_tail_lends_to_its_neighbour_in_the_index(ground: Ground) -> None:
    ground.life.say("蟹はどこにいますか")
    ground.settle()
    ground.life.say("市場です")
    found = ground.search.search(
        "hana", SearchQuery("蟹はどこ", SearchClearance(whole=True, session_id="s1"))
    )
    assert [each.row.text for each in found] == ["蟹はどこにいますか", "市場です"]
    assert found[1].why == ("neighbour",)
    assert found[1].excerpt == "太郎: 蟹はどこにいますか\n太郎: 市場です"


def test_lines_that_nobody_spoke_lie_between_neighbours_and_part_nobody(ground: Ground) -> None:
    ground.life.say("crab question")
    for _ in range(3):
        ground.life.say("a thought", speaker_id="hana", audience=Audience.SELF)
    ground.life.say("the answer")
    for _ in range(2):
        assert ground.find("crab") == ["crab question", "the answer"]
        ground.settle()


def test_how_the_index_is_cut_into_shards_decides_no_more_than_the_order(tmp_path: Path) -> None:
    texts = [
        f"{'crab ' * (at % 4)}{'sea ' * (at % 3)}蟹{'の話' * (at % 5)} {at}" for at in range(40)
    ]
    fresh, indexed = [], []
    for shards in (1, 4):
        clock = FakeClock(NOW)
        folder = tmp_path / str(shards)
        folder.mkdir()
        with sqlite(folder, clock) as home:
            ground = Ground(home, clock, shards)
            for text in texts:
                ground.life.say(text)
            fresh.append(ground.find("crab sea 蟹の話", limit=40))
            ground.settle()
            indexed.append(ground.find("crab sea 蟹の話", limit=40))
    assert fresh[0] == fresh[1]
    assert sorted(fresh[0]) == sorted(indexed[0]) == sorted(indexed[1]) == sorted(texts)
    for found in (*fresh, *indexed):
        assert "crab" in found[0]
        assert "sea" in found[0]


def test_new_rows_stand_among_those_of_the_index_by_how_much_they_have_of_a_question(
    ground: Ground,
) -> None:
    ground.life.say("a crab in the harbour at night")
    for number in range(8):
        ground.life.say(f"something else {number}")
    ground.life.say("a crab")
    ground.settle()
    for number in range(8):
        ground.life.say(f"another thing {number}")
    ground.life.say("a crab by night")
    found = ground.find("crab in the harbour by night", limit=20)
    said = [text for text in found if "crab" in text]
    assert said == ["a crab in the harbour at night", "a crab by night", "a crab"]


def test_of_many_terms_the_rarest_find_their_row_too(ground: Ground) -> None:
    common = " ".join(f"common{number}" for number in range(40))
    for _ in range(5):
        ground.life.say(common)
    ground.life.say("rare")
    ground.settle()
    assert "rare" in ground.find(f"{common} rare")
    ground.life.say("rarest")
    assert "rarest" in ground.find(f"{common} rarest")


def test_of_a_long_tail_the_newest_rows_are_found(ground: Ground) -> None:
    for number in range(MOST_TAIL + 20):
        ground.life.say(f"crab {number}")
    assert ground.find(f"{MOST_TAIL + 19}")[0] == f"crab {MOST_TAIL + 19}"


def test_what_a_mark_names_is_gone_from_the_index_even_when_nobody_asked_to_forget(
    ground: Ground,
) -> None:
    ground.life.say("secret crab")
    memory = ground.life.remember("secret memory")
    ground.settle()
    assert len(ground.collection.sources(INDEX)) > 2
    ground.life.mark(("s1", 1, 1), refs=(f"memory:{memory}",))
    ground.follow()
    rows = [each for each in ground.collection.sources(INDEX).values() if each["doc"] == "row"]
    assert rows == []


def test_what_is_forgotten_while_it_is_indexed_does_not_stay(ground: Ground) -> None:
    ground.life.say("secret crab")
    past = past_of(ground.home, ground.clock)
    read = past.new_batches

    def new_batches(*asked: object) -> Iterator[object]:
        yield from read(*asked)  # type: ignore[arg-type]
        ground.life.mark(("s1", 1, 1))

    past.new_batches = new_batches  # type: ignore[assignment,method-assign]
    client = client_of(ground.collection, ground.clock)
    OpenSearch(client, STAGE, past, ground.clock).catch_up("hana")
    assert "secret" not in str(ground.collection.sources(INDEX))


def test_an_index_from_before_everything_was_forgotten_goes_once(ground: Ground) -> None:
    ground.life.say("old crab")
    ground.settle()
    ground.life.mark(everything=True)
    ground.clock.advance(1)
    ground.search.apply_erasures("hana")
    assert ground.collection.sources(INDEX) == {}
    ground.life.say("new crab")
    ground.settle()
    ground.follow()
    drops = [method for method, _ in ground.collection.asked if method == "DELETE"]
    assert len(drops) == 1
    assert ground.find("crab") == ["new crab"]


def test_an_index_that_somebody_else_made_begins_anew(ground: Ground) -> None:
    client = client_of(ground.collection, ground.clock)
    client.create(INDEX, {"mappings": {"properties": {"terms": {"type": "text"}}}})
    ground.life.say("crab")
    ground.settle()
    assert ground.find("crab") == ["crab"]
    assert "steps" in str(ground.collection.sources(INDEX))


def test_an_index_that_was_left_alone_for_months_begins_anew(ground: Ground) -> None:
    ground.life.say("crab")
    ground.settle()
    ground.clock.advance(timedelta(days=61).total_seconds())
    ground.follow()
    assert ("DELETE", f"/{INDEX}") in ground.collection.asked


def test_a_refused_document_is_told_and_read_again(ground: Ground) -> None:
    ground.life.say("good crab")
    ground.life.say("bad crab")
    ground.collection.item_faults["line:s1:2"] = deque([400])
    with pytest.raises(Unavailable, match="line:s1:2"):
        ground.follow()
    assert "seen:s1" not in ground.collection.sources(INDEX)
    assert ground.find("crab", limit=5) == ["bad crab", "good crab"]
    ground.settle()
    assert set(ground.collection.sources(INDEX)) == {"line:s1:1", "line:s1:2", "seen:s1", "seen:"}


def test_one_agent_that_cannot_be_indexed_does_not_stop_the_others(ground: Ground) -> None:
    ground.life.meet("s2", "ken")
    ground.life.say("crab of hana")
    ground.life.say("crab of ken", "s2")
    ground.collection.item_faults["line:s1:1"] = deque([400] * 9)
    with pytest.raises(Unavailable):
        ground.follow()
    assert "line:s2:1" in ground.collection.sources("opencrab-test-ken")


def test_a_collection_that_stays_silent_is_said(ground: Ground) -> None:
    ground.life.say("crab")
    ground.collection.faults.extend([503] * ATTEMPTS)
    with pytest.raises(Unavailable):
        ground.find("crab")


@pytest.mark.parametrize("agent_id", ["", "../x", "a*", "ken,hana", "蟹", "\ud800", "_all?"])
def test_no_other_index_can_be_named(ground: Ground, agent_id: str) -> None:
    with pytest.raises(Invalid):
        ground.search.search(agent_id, SearchQuery("crab"))
    assert ground.collection.asked == []


def test_a_search_asks_three_times(ground: Ground) -> None:
    ground.life.say("crab")
    ground.settle()
    before = len(ground.collection.asked)
    ground.find("crab")
    assert len(ground.collection.asked) - before <= 4
