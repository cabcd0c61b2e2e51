"""What a spilled result looks like as a file, and that it is read again in pages."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.record import ActionCall, CallResult
from opencrab.domain.value import Language
from opencrab.engine.turn.call import ReadyCall, check_turn_call
from opencrab.engine.turn.large_result import (
    LONGEST_LINE,
    pageable_turn_result,
    spill_large_turn_result,
)
from opencrab.ports.turn.action import PAGED_BYTES, RESULT_BYTES
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.unit.engine.known_world import World

WORDS = {"ja": "海の話をしましょう。", "en": "Let us talk about the sea. "}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_many_short_parts_are_a_file_of_json(words: str) -> None:
    data = {"rows": [words] * 500, "count": 500}
    suffix, content = pageable_turn_result(data)
    assert (suffix, json.loads(content)) == ("json", data)


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("between", ["", "\n"], ids=["one line", "many"])
def test_a_long_text_is_a_file_of_lines_that_fit_a_page(words: str, between: str) -> None:
    suffix, content = pageable_turn_result({"content": between.join([words] * 3_000)})
    assert suffix == "txt"
    assert max(map(len, content.splitlines())) <= LONGEST_LINE
    assert content.replace("\n", "").count(words.strip()) == 3_000


def data_of(house: House, number: int) -> dict[str, Any]:
    (turn,) = house.say("読んで")
    house.work()
    results = [
        record
        for record in house.home.journal.load(turn.id).records
        if isinstance(record, CallResult)
    ]
    return results[number].result.data or {}


def test_a_spilled_file_is_read_page_by_page(tmp_path: Path) -> None:
    house = House(sqlite, tmp_path)
    notes = "\n".join(f"{n}行目: {WORDS['ja']}" for n in range(2_000))
    suffix, content = pageable_turn_result({"content": notes})
    house.home.files.write("crab", f"data/results/t-c1.{suffix}", content.encode(), clean=True)
    pages = [
        Reply(calls=(("ws_read", {"path": "data/results/t-c1.txt", "offset": 1 + 200 * n}),))
        for n in range(3)
    ]
    house.session(house.agent("crab", (*pages, Reply("ok")), Language.JA))
    first = data_of(house, 0)
    assert first["has_more"]
    assert "0行目" in first["content"]
    house.close()


@pytest.mark.parametrize("name", ["ws_read", "ws_list", "read_note", "search_my_history"])
def test_what_pages_by_itself_is_not_spilled_again(name: str) -> None:
    action = Registry(GROUPS).find(name)
    assert action is not None
    assert action.result_bytes == PAGED_BYTES > RESULT_BYTES


@pytest.mark.parametrize("name", ["search_my_history", "browse_history"])
def test_what_tells_of_the_past_never_becomes_a_file(name: str) -> None:
    action = Registry(GROUPS).find(name)
    assert action is not None
    assert not action.spills
    assert action.result_bytes == PAGED_BYTES


@pytest.mark.parametrize(
    ("turn", "result", "clean"),
    [(False, False, True), (True, False, False), (False, True, False), (True, True, False)],
)
def test_a_file_of_a_result_is_clean_only_if_no_foreign_words_were_read(
    world: World, *, turn: bool, result: bool, clean: bool
) -> None:
    work = world.begun("探して")
    work.turn = work.turn.replaced(taint=turn)
    ready = check_turn_call(work, ActionCall(id="c1", name="ws_list", arguments={}))
    assert isinstance(ready, ReadyCall)
    found = ActionResult.ok(found=[WORDS["ja"]] * RESULT_BYTES).replaced(taint=result)
    shown = spill_large_turn_result(work, ready, found).data or {}
    stored = world.runtime.home.files.info(work.turn.agent_id, shown["path"])
    assert stored is not None
    assert stored.clean is clean
