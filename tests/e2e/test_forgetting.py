"""Forgetting: after it nothing is left of what was meant, and all of what was not."""

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions import GROUPS, Group, Registry
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.agents.event import HAPPENING
from opencrab.domain.autonomy.schedule import SCHEDULE
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.goals.goal import GOAL
from opencrab.domain.goals.plan import PLAN
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import salient_beliefs_in_memory
from opencrab.domain.memory.knowledge_graph import EDGE, NODE
from opencrab.domain.memory.memory import EXPERIENCE, IMPRESSION, MEMORY, Impression, Memory
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.summary import SUMMARY
from opencrab.domain.memory.working_memory import WORKING
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.erasure.erase import ErasureReport, erase_data, erased_data_lineage
from opencrab.engine.memory.records import memory_count
from opencrab.ports.memory.search import SearchQuery
from opencrab.ports.models.model import ChatMessage
from opencrab.ports.turn.action import ActionContext
from tests.contract.homes import DISTINCT_HOMES, HOMES
from tests.crash.errand import RICH
from tests.crash.outside import Reply
from tests.e2e.conftest import Build
from tests.e2e.forgotten import (
    ENGLISH,
    FILE,
    HANAKO,
    KEPT,
    NAME,
    SAID,
    WORDS,
    Life,
    lived,
    occurrences,
    saving,
    search,
)
from tests.e2e.house import House
from tests.e2e.meddling import Killed, die, meddled, watched
from tests.soak import SOAK

IN_HOMES = DISTINCT_HOMES

PERSON = ErasureRequest(scope=ErasureScope.PERSON, id=HANAKO)


@pytest.fixture
def life(home: House, tmp_path: Path) -> Life:
    """A life at home: what every home does alike."""
    return lived(home, tmp_path)


@pytest.fixture
def anywhere(build: Build, tmp_path: Path) -> Life:
    """The same in each home."""
    house = build(RICH)
    return lived(house, tmp_path, short=hasattr(house.home.blobs, "_bucket"))


def ids(house: House, kind: str, agent_id: str = "crab") -> list[str]:
    return [fact.id for fact in house.home.facts.page(agent_id, kind)]


def memories(house: House) -> list[str]:
    return [f.read(Memory).content for f in house.home.facts.page("crab", MEMORY)]


def texts(house: House, session_id: str = "direct") -> list[str]:
    return [line.text for line in house.home.journal.lines(session_id)]


def finished(house: House, wish: ErasureRequest, agent_id: str = "crab") -> ErasureReport:
    report = erase_data(house.runtime, agent_id, wish)
    assert report.done
    assert report.left == 0
    return report


def prompt(life: Life) -> str:
    """What a model is shown in the next turn."""
    life.say("おはよう", (Reply("おはようございます。"),))
    seen = life.house.provider.seen[-1]
    said = [each.text if isinstance(each, ChatMessage) else each.content for each in seen.turns]
    calls = [str(each.calls) for each in seen.turns if isinstance(each, ChatMessage)]
    return "\n".join((seen.system, *said, *calls))


def test_of_a_forgotten_person_nothing_is_left(anywhere: Life, tmp_path: Path) -> None:
    life, house = anywhere, anywhere.house
    assert len(occurrences(house, tmp_path, *WORDS)) >= len(WORDS)
    report = finished(house, PERSON)
    assert occurrences(house, tmp_path, *WORDS) == []
    shown = prompt(life)
    assert KEPT in shown
    assert not [word for word in WORDS if word in shown]
    for question in (SAID, ENGLISH, NAME):
        found = house.runtime.search.search("crab", SearchQuery(question))
        assert not [each for each in found if any(word in str(each) for word in WORDS)]
    assert report.files == (f"crab:{FILE}",)
    assert occurrences(house, tmp_path, *WORDS) == []


def test_what_others_said_and_what_is_known_of_them_stays(life: Life) -> None:
    house = life.house
    finished(house, PERSON)
    said = texts(house)
    assert said[0] == KEPT
    assert "わかりました、太郎さん。" in said
    assert "What did we talk about?" in said
    assert "はい、また明日。" in said
    assert texts(house, "shared")[-3:] != ["", "", ""]
    assert memories(house) == [KEPT]
    assert ids(house, IMPRESSION) == ["taro"]
    assert ids(house, NODE) == ["n2", "n3"]
    assert ids(house, EDGE) == ["n2-n3"]
    assert ids(house, SUMMARY) == ["S000000002", "S000000004"]
    assert (ids(house, GOAL), ids(house, PLAN)) == ([], ["000009.01"])
    assert ids(house, SCHEDULE) == ["his", "place"]
    mind = house.home.facts.get("crab", MIND, MIND)
    assert mind is not None
    assert [each.id for each in mind.read(AgentState).core] == ["c2"]


def test_of_an_inner_life_what_came_of_others_stays(life: Life) -> None:
    house = life.house
    finished(house, PERSON)
    (belief,) = (f.read(Belief) for f in house.home.facts.page("crab", BELIEF))
    assert (belief.claim, belief.evidence) == (KEPT, ("early",))
    peers = {fact.id: fact.read(Peer) for fact in house.home.facts.page("crab", PEER)}
    assert peers["kai"].interests == ("海",)
    assert set(peers) == {"kai", "once"}
    outlook = house.home.facts.get("crab", OUTLOOK, OUTLOOK)
    assert outlook is not None
    assert outlook.read(SalientBeliefs) == salient_beliefs_in_memory((belief,), peers.values())
    assert house.home.facts.get("crab", WORKING, WORKING) is None
    assert ids(house, HAPPENING) == ["e1"]
    signs = house.home.facts.get("crab", VITALS, VITALS)
    assert signs is not None
    known = signs.read(VitalSigns)
    assert (known.unread, known.mention, set(known.spoke)) == (1, None, {"wall:#all"})
    finished(house, ErasureRequest(scope=ErasureScope.SESSION, id="shared"))
    assert ids(house, PEER) == ["kai"]


def test_forgetting_again_finds_nothing_more(life: Life) -> None:
    house = life.house
    first = finished(house, PERSON)
    before = [house.home.journal.lines(name) for name in ("direct", "shared")]
    again = finished(house, PERSON)
    assert (again.lines, again.turns, again.removed) == (0, 0, ())
    assert again.files == first.files
    assert before == [house.home.journal.lines(name) for name in ("direct", "shared")]


def test_a_forgotten_session_leaves_the_others(life: Life) -> None:
    house = life.house
    report = finished(house, ErasureRequest(scope=ErasureScope.SESSION, id="shared"))
    assert report.schedules == ("crab:place",)
    assert ids(house, SCHEDULE) == ["hers", "his", "place"]
    assert set(texts(house, "shared")) == {""}
    assert SAID in texts(house)
    others = [line.text for name in ("direct", "kais") for line in house.home.journal.lines(name)]
    assert not [text for text in others if "moonlit" in text]


def test_a_forgotten_period_leaves_what_was_before_and_after(life: Life) -> None:
    house = life.house
    hers = next(line for line in house.home.journal.lines("direct") if line.text == SAID)
    wish = ErasureRequest(
        scope=ErasureScope.PERIOD, since=hers.at, until=hers.at + timedelta(minutes=2)
    )
    finished(house, wish)
    assert texts(house)[0] == KEPT
    assert SAID not in texts(house)
    assert ENGLISH not in texts(house, "shared")
    assert KEPT in memories(house)
    assert "はい、また明日。" in texts(house)


def test_of_a_forgotten_memory_only_the_conversation_is_left(life: Life) -> None:
    house = life.house
    fact = next(f for f in house.home.facts.page("crab", MEMORY) if SAID in str(f.body))
    finished(house, ErasureRequest(scope=ErasureScope.MEMORY, id=fact.id))
    assert memories(house) == [KEPT]
    assert SAID in texts(house)
    lines = house.home.journal.lines("direct")
    assert not [line for line in lines if fact.id in str(line.data)]
    finished(house, ErasureRequest(scope=ErasureScope.MEMORY, id=fact.id))


def test_after_everything_the_agent_is_there_and_knows_nothing(life: Life, tmp_path: Path) -> None:
    house = life.house
    life.say("I like tea.", (Reply("kept by nobody"),), session_id="kais")
    report = finished(house, ErasureRequest(scope=ErasureScope.EVERYTHING))
    assert occurrences(house, tmp_path, *WORDS, KEPT) == []
    known = (MEMORY, EXPERIENCE, IMPRESSION, NODE, EDGE, SUMMARY, GOAL)
    for kind in (*known, BELIEF, PEER, WORKING, HAPPENING, PLAN, SCHEDULE):
        assert ids(house, kind) == []
    assert "I like tea." in texts(house, "kais")
    assert house.home.agents.get("crab").agent.id == "crab"
    assert report.files == (f"crab:{FILE}",)
    assert house.runtime.search.search("crab", SearchQuery(KEPT)) == ()
    assert "おはよう" in prompt(life)


def test_little_time_only_takes_more_calls(life: Life, tmp_path: Path) -> None:
    """Sessions are looked through one by one: what is repeated elsewhere is found later."""
    house, left = life.house, list[int]()
    life.say("何と言っていた?", (Reply(f"She said: {ENGLISH}. {NAME}さんです。"),))
    report = erase_data(house.runtime, "crab", PERSON, seconds=0)
    while not report.done and len(left) < 50:
        left.append(report.left)
        report = erase_data(house.runtime, "crab", PERSON, seconds=0)
    assert report.done
    assert len(left) > 5
    assert min(left) > 0
    assert occurrences(house, tmp_path, *WORDS) == []
    assert report.files == (f"crab:{FILE}",)
    assert ids(house, "trail") == []


@pytest.mark.parametrize(("write", "words"), [(1, SAID), (12, SAID), (12, ENGLISH)])
def test_what_is_repeated_meanwhile_is_found_too(
    life: Life, tmp_path: Path, write: int, words: str
) -> None:
    house = life.house
    script = (saving(f"{words}."), Reply(f"こうでした。{words}。"))
    report = erase_data(
        meddled(house, write, lambda: life.say("何の話?", script)), "crab", PERSON, seconds=500
    )
    assert report.done
    assert occurrences(house, tmp_path, *WORDS) == []


@pytest.mark.parametrize("write", [1, 12])
def test_what_begins_meanwhile_is_waited_for(life: Life, tmp_path: Path, write: int) -> None:
    house = life.house
    with pytest.raises(Conflict, match="have not ended"):
        erase_data(meddled(house, write, lambda: admitted(life)), "crab", PERSON, seconds=500)
    house.scripts["crab"] = (Reply(f"{SAID}。{ENGLISH}."),)
    house.work()
    finished(house, PERSON)
    assert occurrences(house, tmp_path, *WORDS) == []


@pytest.mark.parametrize("greeting", ["今日もよろしくお願いします。", "How can I help you today?"])
def test_what_the_agent_used_to_say_is_nobodys_secret(life: Life, greeting: str) -> None:
    house = life.house
    life.say("一", (Reply(greeting),))
    life.say(greeting, (Reply(greeting),), HANAKO)
    life.say("二", (Reply(greeting), Reply("x")))
    finished(house, PERSON)
    assert texts(house).count(greeting) == 2


def test_the_name_of_somebody_else_too_takes_nothing_of_theirs(life: Life) -> None:
    house, tea = life.house, "Every morning taro drinks green tea"
    life.say(tea, (saving(tea), Reply("OK, taro.")))
    fact = house.home.facts.get("crab", IMPRESSION, HANAKO)
    assert fact is not None
    named = fact.read(Impression).replaced(target_name="taro")
    house.home.facts.commit(fact.with_body(named))
    finished(house, PERSON)
    assert memories(house) == [KEPT, tea]
    assert "OK, taro." in texts(house)


def test_the_count_of_memories_goes_down_with_them(life: Life) -> None:
    house = life.house
    assert memory_count(house.runtime.home.facts, "crab").kept == len(memories(house)) == 2
    finished(house, PERSON)
    assert memory_count(house.runtime.home.facts, "crab").kept == len(memories(house)) == 1


def test_what_runs_or_waits_is_to_be_stopped_first(life: Life) -> None:
    house = life.house
    life.house.scripts["crab"] = (Reply("x"),)
    waiting = admitted(life)
    with pytest.raises(Conflict, match=waiting):
        erase_data(house.runtime, "crab", PERSON)
    assert SAID in texts(house)
    house.work()
    assert house.turn(waiting).status is TurnStatus.COMPLETED
    finished(house, PERSON)


def test_lineage_tells_what_would_go_and_changes_nothing(life: Life) -> None:
    house = life.house
    before = house.home.journal.lines("direct")
    told = erased_data_lineage(house.runtime, "crab", PERSON)
    assert f"crab/{IMPRESSION}:{HANAKO}" in told.kept
    assert f"crab/{SUMMARY}:S3" in told.kept
    assert told.files == (f"crab:{FILE}",)
    assert told.repeated >= 1
    assert house.home.journal.lines("direct") == before
    assert ids(house, "forgotten") == []


@pytest.mark.parametrize(
    "wish",
    [
        ErasureRequest(scope=ErasureScope.SESSION, id="kais"),
        ErasureRequest(scope=ErasureScope.MEMORY, id="nothing"),
    ],
)
def test_what_the_agent_never_had_cannot_be_forgotten(life: Life, wish: ErasureRequest) -> None:
    with pytest.raises(NotFound):
        erase_data(life.house.runtime, "crab", wish)


def copied(whole: Path, folder: Path) -> House:
    shutil.copytree(whole, folder, ignore=shutil.ignore_patterns("indexes", "*.lock"))
    house = House(HOMES[0], folder, RICH)
    search(house, folder)
    house.clock.advance(10_000)
    return house


def ending(house: House) -> Any:
    kept = [
        ids(house, kind)
        for kind in (IMPRESSION, NODE, EDGE, SUMMARY, GOAL, PLAN, SCHEDULE, BELIEF, "trail")
    ]
    return kept, [house.home.journal.lines(name) for name in ("direct", "shared")]


def test_whoever_is_killed_anywhere_is_finished_by_the_next(tmp_path: Path) -> None:
    first = House(HOMES[0], tmp_path / "0", RICH)
    lived(first, tmp_path / "0")
    first.close()
    house, writes = copied(tmp_path / "0", tmp_path / "whole"), list[None]()
    erase_data(watched(house, lambda: writes.append(None)), "crab", PERSON)
    end = ending(house)
    house.close()
    assert len(writes) > 20
    for write in range(1, len(writes) + 1, 1 if SOAK else len(writes) // 6):
        folder = tmp_path / str(write)
        house = copied(tmp_path / "0", folder)
        with pytest.raises(Killed):
            erase_data(meddled(house, write, die), "crab", PERSON)
        report = erase_data(house.runtime, "crab", PERSON)
        assert report.done
        assert report.files == (f"crab:{FILE}",)
        assert occurrences(house, folder, *WORDS) == [], f"after write {write}"
        assert ending(house) == end, f"after write {write}"
        house.close()
        shutil.rmtree(folder)


def admitted(life: Life) -> str:
    """A message of Hanako that nobody has answered yet."""
    work, life.house.work = life.house.work, lambda: None  # type: ignore[method-assign]
    try:
        return life.say("もう一つ", (Reply("はい"),), HANAKO)[0].id
    finally:
        life.house.work = work  # type: ignore[method-assign]


@pytest.mark.parametrize("words", [SAID, ENGLISH])
def test_files_in_which_results_were_kept_go_with_their_turns(
    life: Life, tmp_path: Path, words: str
) -> None:
    house = life.house
    group = Group("looking")

    @group.action(impact=Impact.READ, effect=Effect.PURE, sentences=("Look", "見る"), ja="見る。")
    def look(arguments: Value, context: ActionContext) -> ActionResult:
        """Look at more than can be shown."""
        return ActionResult.ok(seen=words * 1_000)

    house.runtime = replace(house.runtime, actions=Registry((*GROUPS, group)))
    (turn,) = life.say("見て", (Reply(calls=(("look", {}),)), Reply("はい。")), HANAKO)
    kept = [each.path for each in house.home.files.list("crab", "data/results")]
    assert len(kept) == 1
    assert turn.id in kept[0]
    report = finished(house, PERSON)
    assert house.home.files.list("crab", "data/results") == ()
    assert not [each for each in report.files if "data/results" in each]
    assert occurrences(house, tmp_path, *WORDS) == []
