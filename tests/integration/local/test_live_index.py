"""A process that is killed while it writes its index: the next one goes on and misses nothing."""

import time
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.search_rows import IndexProgress
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchQuery
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.integration.local.living import AGENT, forked, killed
from tests.lived import Life
from tests.searching import past_of, searching

KILLS = 12
MOMENT_SECONDS = 0.0023
PATIENCE_SECONDS = 30.0


def live_on(folder: Path, round_number: int) -> None:
    """Speak, remember, change, forget and search without end."""
    clock = FakeClock(NOW + timedelta(hours=round_number))
    with sqlite(folder, clock) as home:
        life, search = Life(home, clock), searching(home, clock, folder / "search")
        for number in range(1_000_000):
            life.say(f"crab {round_number} {number} 蟹の話")
            memory_id = life.remember(f"crab memory {round_number} {number} 蟹の記憶")
            search.search(AGENT, SearchQuery("crab"))
            life.reword(memory_id, f"changed memory {round_number} {number}")
            if number % 5 == 4:
                life.mark(refs=(f"memory:{memory_id}",))
                life.remove("memory", memory_id)
                search.apply_erasures(AGENT)
            (folder / "began").touch()


def content_from_stores(home: Home, clock: FakeClock) -> Any:
    with closing(Index(AGENT, None)) as index:
        index.take(list(past_of(home, clock).new_batches(AGENT, IndexProgress())), clock.now())
        return index.content()


@pytest.mark.timeout(120)
def test_a_process_killed_at_any_moment_leaves_an_index_that_goes_on(tmp_path: Path) -> None:
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        Life(home, FakeClock(NOW)).meet("s1", AGENT)
    file = tmp_path / "search" / "copies" / "live" / f"{AGENT}.db"
    for kill in range(KILLS):
        process = forked(partial(live_on, tmp_path, kill))
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (tmp_path / "began").exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(kill * MOMENT_SECONDS)
        killed(process)
        (tmp_path / "began").unlink()
        clock = FakeClock(NOW + timedelta(hours=kill, minutes=59))
        with sqlite(tmp_path, clock) as home:
            made = file.stat().st_ino
            search = searching(home, clock, tmp_path / "search")
            newest = home.journal.lines("s1", limit=1, newest_first=True)[0]
            found = search.search(AGENT, SearchQuery(newest.text, limit=50))
            assert newest.sequence in {each.row.sequence for each in found}
            search.close()
            assert file.stat().st_ino == made, "the index was not built anew"
            with closing(Index(AGENT, file, live=True)) as index:
                assert index.content() == content_from_stores(home, clock)
