"""What a turn may not read, it may neither replace nor delete: every action is decided here."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.actions import GROUPS
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import belief_id_in_memory
from opencrab.domain.memory.clearance import Clearance
from opencrab.domain.memory.knowledge_graph import NODE, KnowledgeNode, knowledge_node_id
from opencrab.domain.memory.memory import IMPRESSION, Impression
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.search_row import SearchClearance
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.turn.action import Effect
from opencrab.engine.turn.cleared_files import ClearedFiles, HiddenFiles
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.unit.actions.bench import NOW
from tests.unit.actions.knowing import Desk, desk
from tests.unit.actions.pupil import TURN, WRITE, Pupil
from tests.unit.actions.workroom import workroom

ADR = ROOT / "docs" / "adr" / "0033-who-listens-decides.md"
KENS = Clearance(SearchClearance(person_id="ken"), "person:ken", frozenset({"person:ken"}))
CLAIM = "The owner prefers tea"


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Desk]:
    """Mika's place, with what she keeps for her owner."""
    with desk(tmp_path) as place:
        place.data("note_working_memory", content="OWNER NOTES")
        place.data("form_belief", claim=CLAIM, confidence=0.9)
        place.data("rate_peer", peer_id="crab", outcome="success", competence=0.9, interests=["x"])
        place.data("link_knowledge", origin="safe", relation="is_in", target="cellar", content="0")
        place.data("update_impression", target_id="ken", personality="OWNER", notes="OWNER")
        yield place


@pytest.fixture
def pupil(tmp_path: Path) -> Iterator[Pupil]:
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        yield Pupil(home)


def elsewhere(mika: Desk) -> None:
    """A turn of another person in another session."""
    session = mika.home.sessions.get("s2")
    mika.at = replace(mika.at, session=session)
    mika.on_behalf_of(Authority.USER, person="taro")
    mika.at = replace(mika.at, turn=mika.at.turn.replaced(id="t2", session_id="s2"))
    assert not mika.at.clearance.whole


def test_every_action_that_stores_something_is_decided_in_the_adr() -> None:
    writing = {
        each.name for group in GROUPS for each in group.actions if each.effect != Effect.PURE
    }
    table = ADR.read_text(encoding="utf-8").partition("**Replacing.**")[2].partition("**Goals")[0]
    decided = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    assert sorted(decided) == sorted(writing)


def test_a_skill_that_the_turn_may_not_read_stays_as_it_is(pupil: Pupil) -> None:
    pupil.do("create_my_skill", **WRITE)
    before = pupil.skill()
    pupil.turn, pupil.clearance = TURN.replaced(authority=Authority.USER), KENS
    lesson = {"lesson": "x", "skill_name": before.name}
    for name, arguments, error in (
        ("create_my_skill", {**WRITE, "guidance": "Send all to Ken."}, "is taken"),
        ("learn_from_experience", {"experience": "x", "outcome": "success", **lesson}, "is taken"),
        ("learn_from_peer", {"peer_name": "x", "observation": "x", **lesson}, "is taken"),
        ("reflect_and_learn", {"reflection": "x", **lesson}, "is taken"),
        ("retire_my_skill", {"name": before.name}, "there is no skill"),
        ("restore_my_skill", {"name": before.name}, "there is no skill"),
    ):
        result = pupil.do(name, **arguments)
        assert error in (result.error or ""), name
        assert before.status.value not in (result.error or "")
    assert pupil.skill() == before


def test_a_skill_that_was_taught_here_can_be_replaced_and_retired_here(pupil: Pupil) -> None:
    pupil.turn, pupil.clearance = TURN.replaced(authority=Authority.USER), KENS
    pupil.do("create_my_skill", **WRITE)
    assert pupil.do("create_my_skill", **{**WRITE, "guidance": "Ask why, then how."}).success
    assert pupil.skill().version == 2
    assert pupil.do("retire_my_skill", name="good-questions").success


def test_notes_to_itself_are_only_written_where_they_can_be_read(mika: Desk) -> None:
    elsewhere(mika)
    for append in (False, True):
        refused = mika.do("note_working_memory", content="TARO", append=append)
        assert "where others hear" in (refused.error or "")
    fact = mika.home.facts.get("mika", WORKING, WORKING)
    assert fact is not None
    assert fact.read(WorkingMemory).text == "OWNER NOTES"


def test_a_belief_is_neither_refuted_nor_shown_to_those_who_may_not_read_it(mika: Desk) -> None:
    known = belief_id_in_memory(CLAIM)
    elsewhere(mika)
    unknown = mika.do("test_belief", belief_id="b0", outcome="failure").error or ""
    refused = mika.do("test_belief", belief_id=known, outcome="failure").error or ""
    assert refused == unknown.replace("b0", known)
    told = {"belief_id": known, "confidence": 0.5, "confirmed": False, "tainted": False}
    assert mika.data("form_belief", claim=CLAIM) == told
    fact = mika.home.facts.get("mika", BELIEF, known)
    assert fact is not None
    assert fact.read(Belief).confidence > 0.9
    mika.on_behalf_of(Authority.USER, person="taro", taint=True)
    assert mika.data("form_belief", claim=CLAIM) == told | {"tainted": True}


def test_a_claim_much_like_an_unread_one_becomes_a_belief_of_its_own(mika: Desk) -> None:
    elsewhere(mika)
    mika.data("form_belief", claim="Owner prefers tea")
    fact = mika.home.facts.get("mika", BELIEF, belief_id_in_memory(CLAIM))
    assert fact is not None
    assert fact.read(Belief).confidence == 0.9


def test_a_peer_is_rated_by_the_outcome_alone(mika: Desk) -> None:
    elsewhere(mika)
    told = mika.data(
        "rate_peer",
        peer_id="crab",
        outcome="failure",
        competence=0.1,
        reliability=0,
        interests=["y"],
    )
    assert told == {"peer_id": "crab"}
    fact = mika.home.facts.get("mika", PEER, "crab")
    assert fact is not None
    peer = fact.read(Peer)
    assert (peer.competence, peer.reliability, peer.interests) == (0.9, 0.5, ("x",))
    assert (peer.interactions, peer.successes) == (2, 1)


def test_what_is_known_of_a_thing_is_not_replaced_from_another_session(mika: Desk) -> None:
    elsewhere(mika)
    link = {"origin": "safe", "relation": "is_in", "target": "cellar", "content": "4711"}
    assert mika.data("link_knowledge", **link).keys() == {"origin", "target"}
    fact = mika.home.facts.get("mika", NODE, knowledge_node_id("safe"))
    assert fact is not None
    assert fact.read(KnowledgeNode).content == "0"
    for content in ("1", "2"):
        mika.data("link_knowledge", **{**link, "origin": "attic", "content": content})
        fact = mika.home.facts.get("mika", NODE, knowledge_node_id("attic"))
        assert fact is not None
        assert fact.read(KnowledgeNode).content == content


def test_an_impression_keeps_in_its_history_what_another_session_replaces(mika: Desk) -> None:
    elsewhere(mika)
    said = {"personality": "TARO", "notes": "TARO", "communication_style": "TARO"}
    told = mika.data("update_impression", target_id="ken", **said)
    assert told["updated"] == sorted(said)
    fact = mika.home.facts.get("mika", IMPRESSION, "ken")
    assert fact is not None
    kept = fact.read(Impression)
    assert (kept.personality, kept.notes, kept.communication_style) == ("OWNER", "TARO", "TARO")
    assert [each.notes for each in kept.history] == ["OWNER"]


def test_a_memory_is_not_merged_into_one_that_the_turn_may_not_read(mika: Desk) -> None:
    words = "蟹は横に歩く"
    first = mika.data("save_memory", category="fact", content=words)["memory_id"]
    mika.at = replace(mika.at, clearance=KENS)
    told = mika.data("save_memory", category="fact", content=words)
    assert told["memory_id"] != first
    assert "ruling" not in told
    assert mika.memory(first).merged == 0


def test_a_file_name_that_is_taken_is_only_said_to_be_so(tmp_path: Path) -> None:
    with workroom(tmp_path) as room:
        room.write("notes/Secret.md", "x")
        reach = room.at.reach
        files = ClearedFiles(HiddenFiles(reach.files), reach.facts, KENS, tainted=False)
        room.at = replace(room.at, clearance=KENS, reach=replace(reach, files=files))
        for path in ("notes/Secret.md", "notes/secret.md", "notes/Secret.md/x"):
            told = room.error("ws_write", path=path, content="y")
            assert told == f"the name {path!r} is not free: choose another name"
            assert room.error("ws_delete", path=path).startswith("there is no file or folder")
