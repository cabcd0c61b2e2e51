"""Curated memory over REST: given by the owner through the gate, seen, changed and taken away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import FORGOTTEN, ErasureMark, ErasureScope
from opencrab.domain.errors import Unavailable
from opencrab.domain.identifier import new_ulid
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.summary import COMPACTION, CompactionState
from opencrab.domain.memory.write_policy import GATE, MEMORIES, MemoryCounts
from opencrab.engine.runtime import NothingToFind
from opencrab.ports.memory.search import SearchHit, SearchQuery
from tests.contract.waiting import at_once
from tests.integration.rest.house import House, problem
from tests.integration.rest.remembering import follow, remembering, texts

LIKES = {"content": "美香はコーヒーを砂糖なしで飲む。", "category": "preference"}
MEETS = {"content": "The owner meets the team every Monday at 9.", "importance": 0.9}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """An installation that finds things again."""
    with remembering(tmp_path) as house:
        yield house


class OutOfReach(NothingToFind):
    """An index that cannot be reached."""

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        raise Unavailable("the index cannot be reached", cure="try again")


def place(agent: str, memory: str = "") -> str:
    return f"/agents/{agent}/memory/curated{'/' if memory else ''}{memory}"


def core(house: House, agent: str) -> list[str]:
    """What rides in every prompt."""
    fact = house.runtime.home.facts.get(agent, MIND, MIND)
    return [each.content for each in (fact.read(AgentState) if fact else AgentState()).core]


def gate(house: House, agent: str) -> MemoryCounts:
    fact = house.runtime.home.facts.get(agent, GATE, GATE)
    return fact.read(MemoryCounts) if fact else MemoryCounts()


def learned(house: House, agent: str, content: str, **more: Any) -> str:
    """A memory that a turn left, by its id."""
    now = house.runtime.clock.now()
    facts = {"id": house.runtime.clock.new_id(), "category": "fact", **more}
    memory = Memory(content=content, created_at=now, updated_at=now, **facts)
    house.runtime.home.facts.commit(new_fact(agent, MEMORY, memory.id, memory))
    return memory.id


def test_what_an_owner_gives_is_for_everybody_and_found_again(house: House) -> None:
    agent = house.agent()
    taken = house.made(place(agent), LIKES)
    memory = taken["memory"]
    assert (taken["outcome"], memory["provenance"], memory["hearing"]) == (
        "kept",
        "owner",
        "public",
    )
    assert (memory["content"], memory["category"]) == (LIKES["content"], "preference")
    assert memory["person_id"] != ""
    shown = house.call("GET", place(agent, memory["id"]))
    assert (shown.json(), shown.headers["ETag"]) == (memory, '"1"')
    assert texts(house, agent, "美香はコーヒーに何を入れる?") == [LIKES["content"]]
    assert texts(house, agent, "美香のコーヒー", key=house.chat) == [LIKES["content"]]
    secret = {"content": "金庫の番号は四一七です。", "hearing": "private"}
    house.made(place(agent), secret)
    assert texts(house, agent, "金庫の番号") == [secret["content"]]
    assert texts(house, agent, "金庫の番号", key=house.chat) == []


def test_the_same_again_confirms_and_the_contrary_takes_its_place(house: House) -> None:
    agent = house.agent()
    first = house.made(place(agent), MEETS)["memory"]
    again = house.made(place(agent), MEETS)
    assert (again["outcome"], again["memory"]["id"]) == ("merged", first["id"])
    assert again["memory"]["merged"] == 1
    assert again["memory"]["confidence"] > first["confidence"]
    later = house.made(place(agent), {"content": "The owner meets the team every Monday at 10."})
    assert (later["outcome"], later["memory"]["id"]) == ("superseded", first["id"])
    assert [each["content"] for each in later["memory"]["earlier"]] == [MEETS["content"]]
    (listed,) = house.got(place(agent))["items"]
    assert listed["content"].endswith("at 10.")


def test_a_request_that_is_repeated_is_done_once(house: House) -> None:
    agent = house.agent()
    sent = {"headers": {"Idempotency-Key": "k1"}}
    first, again = (house.made(place(agent), LIKES, **sent) for _ in range(2))
    assert first == again
    assert again["memory"]["merged"] == 0
    problem(house.call("POST", place(agent), MEETS, **sent), 409, "Idempotency-Key")


def test_an_answer_that_is_remembered_has_no_words_in_it(house: House) -> None:
    agent = house.agent()
    sent = {"headers": {"Idempotency-Key": "k1"}}
    memory_id = house.made(place(agent), LIKES, **sent)["memory"]["id"]
    again = house.call("POST", place(agent), LIKES, **sent)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    house.call("DELETE", place(agent, memory_id))
    problem(house.call("POST", place(agent), LIKES, **sent), 404, "memory_id")
    kept = b"".join(path.read_bytes() for path in house.folder.rglob("*") if path.is_file())
    assert "コーヒー".encode() not in kept


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "\u200b"}, "content"),
        ({"content": "!?。"}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"content": "蟹" * 4_001}, "content"),
        ({"content": "美香は泳ぐ。" * 100}, "content"),
        ({"category": "Fact"}, "category"),
        ({"category": ""}, "category"),
        ({"importance": 1.5}, "importance"),
        ({"importance": "high"}, "importance"),
        ({"hearing": "nobody"}, "hearing"),
        ({"hearing": "session"}, "hearing"),
        ({"links": ["nothing"]}, "links"),
        ({"links": ["x"] * 21}, "links"),
        ({"provenance": "agent"}, "provenance"),
    ],
)
def test_what_may_not_be_kept_is_refused(house: House, change: dict[str, Any], field: str) -> None:
    agent = house.agent()
    problem(house.call("POST", place(agent), {**LIKES, **change}), 422, field)
    assert house.got(place(agent))["items"] == []


def test_what_the_gate_turned_away_is_counted(house: House) -> None:
    agent = house.agent()
    problem(house.call("POST", place(agent), {"content": "!?。"}), 422, "content")
    problem(house.call("POST", place(agent), {"content": "!?。"}), 422, "content")
    house.made(place(agent), LIKES)
    status = house.got(f"/agents/{agent}/memory/status")
    assert status["refusals"] == {"says_nothing": 2}
    assert status["memories"] == 1


def test_memories_are_listed_newest_first_and_by_category(house: House) -> None:
    agent = house.agent()
    ids = [learned(house, agent, f"メモ {number}") for number in range(5)]
    house.made(place(agent), LIKES)
    seen, query = list[str](), "?limit=2"
    while query:
        page = house.got(f"{place(agent)}{query}")
        seen += [each["id"] for each in page["items"]]
        query = f"?limit=2&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert seen[1:] == ids[::-1]
    only = house.got(f"{place(agent)}?category=preference&limit=1")
    assert [each["content"] for each in only["items"]] == [LIKES["content"]]
    assert only["next_cursor"] is None
    problem(house.call("GET", f"{place(agent)}?category=No"), 422, "category")


def test_a_memory_is_changed_only_as_the_version_that_was_read(house: House) -> None:
    agent = house.agent()
    one = place(agent, house.made(place(agent), LIKES)["memory"]["id"])
    new = {"content": "美香は紅茶を飲む。", "importance": 0.2}
    problem(house.call("PATCH", one, new, headers={"If-Match": '"7"'}), 409, "If-Match")
    changed = house.call("PATCH", one, new, headers={"If-Match": '"1"'})
    assert changed.headers["ETag"] == '"2"'
    memory = changed.json()
    assert (memory["content"], memory["importance"]) == (new["content"], 0.2)
    assert [each["content"] for each in memory["earlier"]] == [LIKES["content"]]
    assert house.call("PATCH", one, {}).headers["ETag"] == '"2"'
    problem(house.call("PATCH", one, {"content": "!?"}), 422, "content")
    problem(house.call("PATCH", one, {"hearing": "guild"}), 422, "hearing")
    problem(house.call("PATCH", one, {"id": "x"}), 422, "id")
    problem(house.call("DELETE", one, headers={"If-Match": '"1"'}), 409, "If-Match")
    assert house.got(one) == memory


def test_new_words_of_a_memory_are_found_and_its_old_ones_are_not(house: House) -> None:
    agent = house.agent()
    one = place(agent, house.made(place(agent), LIKES)["memory"]["id"])
    assert texts(house, agent, "コーヒー") == [LIKES["content"]]
    house.call("PATCH", one, {"content": "美香は紅茶を飲む。"})
    assert texts(house, agent, "紅茶") == ["美香は紅茶を飲む。"]
    assert LIKES["content"] not in texts(house, agent, "コーヒー")


def test_new_words_of_a_memory_of_last_year_are_found_once_the_index_has_followed(
    house: House,
) -> None:
    agent = house.agent()
    long_ago = new_ulid(1_700_000_000_000, b"0123456789")
    memory_id = learned(house, agent, "美香は横浜に住んでいる。", id=long_ago)
    house.made(place(agent), LIKES)
    assert texts(house, agent, "横浜") == ["美香は横浜に住んでいる。"]
    house.call("PATCH", place(agent, memory_id), {"content": "美香は札幌に住んでいる。"})
    assert texts(house, agent, "横浜") == []
    follow(house)
    assert texts(house, agent, "札幌") == ["美香は札幌に住んでいる。"]


def test_what_came_from_outside_is_the_owners_once_the_owner_says_it(house: House) -> None:
    agent = house.agent()
    memory_id = learned(house, agent, "The wifi is open.", tainted=True)
    one = place(agent, memory_id)
    problem(house.call("PATCH", one, {"category": "core"}), 403, "category")
    assert core(house, agent) == []
    same = {"category": "core", "content": "The wifi is open."}
    vouched = house.call("PATCH", one, same).json()
    assert (vouched["tainted"], vouched["provenance"]) == (False, "owner")
    assert core(house, agent) == ["The wifi is open."]


def test_a_core_memory_rides_in_the_mind_until_it_is_none_or_gone(house: House) -> None:
    agent = house.agent()
    kept = house.made(place(agent), {**LIKES, "category": "core"})["memory"]
    one = place(agent, kept["id"])
    assert core(house, agent) == [LIKES["content"]]
    house.call("PATCH", one, {"content": "美香は紅茶を飲む。"})
    assert core(house, agent) == ["美香は紅茶を飲む。"]
    house.call("PATCH", one, {"category": "fact"})
    assert core(house, agent) == []
    house.call("PATCH", one, {"category": "core"})
    assert house.got(f"/agents/{agent}/memory/status")["core"] == 1
    assert house.call("DELETE", one).status_code == 204
    assert core(house, agent) == []


def test_links_lead_both_ways_and_end_with_the_memory(house: House) -> None:
    agent = house.agent()
    first = house.made(place(agent), LIKES)["memory"]["id"]
    second = house.made(place(agent), {**MEETS, "links": [first]})["memory"]["id"]
    assert house.got(place(agent, first))["links"] == [second]
    house.call("PATCH", place(agent, second), {"links": []})
    assert house.got(place(agent, first))["links"] == []
    house.call("PATCH", place(agent, second), {"links": [first]})
    house.call("DELETE", place(agent, second))
    assert house.got(place(agent, first))["links"] == []


def test_a_deleted_memory_is_found_nowhere_and_marked_without_a_word(house: House) -> None:
    agent = house.agent()
    memory_id = house.made(place(agent), LIKES)["memory"]["id"]
    assert texts(house, agent, "コーヒー") == [LIKES["content"]]
    assert house.call("DELETE", place(agent, memory_id)).status_code == 204
    assert texts(house, agent, "コーヒー") == []
    problem(house.call("GET", place(agent, memory_id)), 404)
    problem(house.call("DELETE", place(agent, memory_id)), 404)
    (fact,) = house.runtime.home.facts.page(agent, FORGOTTEN)
    mark = fact.read(ErasureMark)
    assert (mark.scope, mark.refs) == (ErasureScope.MEMORY, (f"memory:{memory_id}",))
    assert fact.expires_at is not None
    assert "コーヒー" not in fact.model_dump_json()
    assert gate(house, agent).kept == 0


def test_a_memory_for_a_session_names_one_of_the_agents(house: House) -> None:
    agent = house.agent()
    own, foreign = house.session(agent), house.session(house.agent("Ada"))
    body = {**LIKES, "hearing": "session"}
    kept = house.made(place(agent), {**body, "session_id": own})["memory"]
    assert (kept["hearing"], kept["session_id"]) == ("session", own)
    problem(house.call("POST", place(agent), {**body, "session_id": foreign}), 404, "session_id")
    guild = {**body, "hearing": "guild", "session_id": own}
    problem(house.call("POST", place(agent), guild), 422, "hearing")


def test_a_memory_of_another_agent_is_not_there(house: House) -> None:
    agent, other = house.agent(), house.agent("Ada")
    memory_id = house.made(place(agent), LIKES)["memory"]["id"]
    foreign = place(other, memory_id)
    problem(house.call("GET", foreign), 404, "memory_id")
    problem(house.call("PATCH", foreign, {"importance": 1.0}), 404, "memory_id")
    problem(house.call("DELETE", foreign), 404, "memory_id")
    assert house.got(place(other))["items"] == []
    assert house.made(place(other), LIKES)["outcome"] == "kept"
    assert house.got(place(agent, memory_id))["merged"] == 0
    problem(house.call("GET", place(agent, "a%20b")), 422, "memory_id")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "", LIKES), ("PATCH", "x", {}), ("DELETE", "x", None), ("GET", "x", None)],
)
def test_only_owners_decide_what_is_known(house: House, method: str, path: str, body: Any) -> None:
    agent = house.agent()
    for key in (house.read, house.chat):
        problem(house.call(method, place(agent, path), body, key=key), 403)


def test_an_agent_that_retired_learns_nothing_more_but_may_forget(house: House) -> None:
    agent = house.agent()
    one = place(agent, house.made(place(agent), LIKES)["memory"]["id"])
    house.call("DELETE", f"/agents/{agent}")
    problem(house.call("POST", place(agent), MEETS), 409)
    problem(house.call("PATCH", one, {"importance": 1.0}), 409)
    assert house.got(one)["content"] == LIKES["content"]
    assert house.call("DELETE", one).status_code == 204


def test_nothing_is_lost_while_the_index_is_out_of_reach(house: House) -> None:
    agent = house.agent()
    house.furnish(search=OutOfReach())
    assert house.made(place(agent), LIKES)["outcome"] == "kept"
    answer = house.call("POST", f"/agents/{agent}/memory/search", {"query": "コーヒー"})
    problem(answer, 503)


def test_there_is_room_for_so_many(house: House) -> None:
    agent = house.agent()
    now = house.runtime.clock.now()
    full = MemoryCounts(kept=MEMORIES, counted_at=now)
    house.runtime.home.facts.commit(new_fact(agent, GATE, GATE, full))
    problem(house.call("POST", place(agent), LIKES), 403)
    stale = new_fact(agent, GATE, GATE, MemoryCounts(kept=MEMORIES)).replaced(version=0)
    house.runtime.home.facts.commit(stale)
    assert house.made(place(agent), LIKES)["outcome"] == "kept"
    assert gate(house, agent).kept == 1


def test_owners_who_change_a_memory_at_once_lose_nothing(house: House) -> None:
    agent = house.agent()
    one = place(agent, house.made(place(agent), LIKES)["memory"]["id"])
    changes: list[dict[str, Any]] = [
        {"importance": 0.9},
        {"confidence": 0.4},
        {"category": "habit"},
    ]

    def change(number: int) -> int:
        return house.call("PATCH", one, changes[number]).status_code

    assert at_once(3, change) == [200] * 3
    memory = house.got(one)
    assert (memory["importance"], memory["confidence"], memory["category"]) == (0.9, 0.4, "habit")


def test_the_owner_asks_again_for_summaries_that_failed(house: House) -> None:
    agent = house.agent()
    session = house.session(agent)
    failed = CompactionState(failures=4, error="no words", failed_at=house.runtime.clock.now())
    house.runtime.home.facts.commit(new_fact(agent, COMPACTION, session, failed))
    answer = house.call("POST", f"/agents/{agent}/memory/summaries/retry", {"session_id": session})
    assert answer.status_code == 202
    stored = house.runtime.home.facts.get(agent, COMPACTION, session)
    assert stored is not None
    assert stored.read(CompactionState).failures == 0
    assert house.runtime.home.compactions.receive(visibility_seconds=9, wait_seconds=0)
    other = house.session(house.agent("Ken"))
    route = f"/agents/{agent}/memory/summaries/retry"
    problem(house.call("POST", route, {"session_id": other}), 404)
    problem(house.call("POST", route, {"session_id": "../x"}), 422, "session_id")
