"""Beliefs and peers that are exported and taken in, and what of a stranger's counts."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.errors import TooLarge
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import (
    BELIEFS,
    belief_id_in_memory,
    salient_beliefs_in_memory,
)
from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.memory.write_policy import TAINTED_CONFIDENCE
from opencrab.engine.memory.archive.export import ExportSelection, export_memory_archive
from opencrab.engine.memory.archive.restore import restore_memory_archive
from opencrab.engine.runtime import Runtime
from tests.unit.engine.archiving import NOW, installation, zipped

CLAIM = "蟹は横に歩く"
HELD = Belief(
    id=belief_id_in_memory(CLAIM),
    claim=CLAIM,
    confidence=0.9,
    confirmed=8,
    formed_at=NOW,
    tested_at=NOW,
    session_id="s1",
    turn_id="t1",
)
KEN = Peer(
    agent_id="ken",
    competence=0.9,
    interests=("海",),
    interactions=9,
    successes=9,
    last_at=NOW,
    last_session="s1",
)


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with installation(tmp_path) as runtime:
        facts = runtime.home.facts
        facts.commit(new_fact("mika", BELIEF, HELD.id, HELD), new_fact("mika", PEER, "ken", KEN))
        facts.commit(new_fact("mika", WORKING, WORKING, WorkingMemory(text="下書き", at=NOW)))
        yield runtime


def belief(runtime: Runtime, agent_id: str) -> Belief:
    (fact,) = runtime.home.facts.page(agent_id, BELIEF)
    return fact.read(Belief)


def peer(runtime: Runtime, agent_id: str) -> Peer:
    (fact,) = runtime.home.facts.page(agent_id, PEER)
    return fact.read(Peer)


def outlook(runtime: Runtime, agent_id: str) -> SalientBeliefs:
    fact = runtime.home.facts.get(agent_id, OUTLOOK, OUTLOOK)
    assert fact is not None
    return fact.read(SalientBeliefs)


def test_what_an_agent_believes_comes_back_as_it_was(runtime: Runtime) -> None:
    content = export_memory_archive(runtime.home, runtime.clock, "mika", ExportSelection())
    assert "下書き".encode() not in content
    for kind in (BELIEF, PEER):
        for fact in runtime.home.facts.page("mika", kind):
            runtime.home.facts.commit(fact.removed())
    assert restore_memory_archive(
        runtime.home, runtime.clock, "mika", content, trusted=True
    ).taken == {
        "belief": 1,
        "peer": 1,
    }
    assert (belief(runtime, "mika"), peer(runtime, "mika")) == (HELD, KEN)
    assert outlook(runtime, "mika") == salient_beliefs_in_memory((HELD,), (KEN,))
    again = restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    assert (again.taken, again.known) == ({}, {"belief": 1, "peer": 1})


def test_of_a_strangers_beliefs_and_trust_nothing_counts_until_they_are_trusted(
    runtime: Runtime,
) -> None:
    content = export_memory_archive(runtime.home, runtime.clock, "mika", ExportSelection())
    restore_memory_archive(runtime.home, runtime.clock, "ken", content, trusted=False)
    held, met = belief(runtime, "ken"), peer(runtime, "ken")
    assert (held.claim, held.tainted, held.confidence) == (CLAIM, True, TAINTED_CONFIDENCE)
    assert (held.confirmed, held.session_id, held.turn_id) == (0, "", "")
    assert (met.tainted, met.interests, met.competence) == (True, ("海",), 0.5)
    assert remembered_peer_trust(met, NOW, 0.5) == 0.5
    assert outlook(runtime, "ken").beliefs[0].tainted
    assert restore_memory_archive(
        runtime.home, runtime.clock, "ken", content, trusted=True
    ).taken == {
        "belief": 1,
        "peer": 1,
    }
    held, met = belief(runtime, "ken"), peer(runtime, "ken")
    assert (held.confidence, held.confirmed, held.tainted) == (0.9, 8, False)
    assert (met.interactions, met.last_session) == (9, "")
    assert not outlook(runtime, "ken").beliefs[0].tainted


def test_a_belief_has_the_id_of_its_claim_whatever_an_archive_says(runtime: Runtime) -> None:
    other = HELD.replaced(id="../../x", confidence=0.1)
    report = restore_memory_archive(
        runtime.home, runtime.clock, "mika", zipped(belief=other.model_dump_json()), trusted=True
    )
    assert (report.taken, report.other) == ({}, {"belief": 1})
    assert belief(runtime, "mika") == HELD


def test_no_archive_brings_more_beliefs_than_may_be_kept(runtime: Runtime) -> None:
    rows = "\n".join(
        HELD.replaced(claim=f"x{n}y", formed_at=NOW + timedelta(seconds=n)).model_dump_json()
        for n in range(BELIEFS)
    )
    with pytest.raises(TooLarge, match=f"1 of kind belief are stored, {BELIEFS} more are in the"):
        restore_memory_archive(
            runtime.home, runtime.clock, "mika", zipped(belief=rows), trusted=True
        )
    assert belief(runtime, "mika") == HELD
