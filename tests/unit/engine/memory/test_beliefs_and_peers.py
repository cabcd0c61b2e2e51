"""An agent's inner life between two wakings, on the real store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.errors import NotFound
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import (
    belief_id_in_memory,
    belief_with_same_claim,
    salient_beliefs_in_memory,
)
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.engine.memory import beliefs_and_peers, working_memory
from opencrab.engine.runtime import Runtime
from tests.unit.engine.archiving import NOW, installation


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with installation(tmp_path) as runtime:
        yield runtime


def held(claim: str, *, tainted: bool = False) -> Belief:
    return Belief(id=belief_id_in_memory(claim), claim=claim, formed_at=NOW, tainted=tainted)


def test_notes_outlive_only_the_turn_that_wrote_them(runtime: Runtime) -> None:
    facts = runtime.home.facts
    assert working_memory.clear_working_memory_after_turn(facts, "mika", "t1", ()) is None
    noted = WorkingMemory(text="下書き", turn_id="t1", at=NOW)
    facts.commit(new_fact("mika", WORKING, WORKING, noted))
    assert working_memory.clear_working_memory_after_turn(facts, "mika", "t1", ()) is None
    assert working_memory.working_memory(runtime.home, "mika") == noted
    gone = working_memory.clear_working_memory_after_turn(facts, "mika", "t2", ())
    assert gone is not None
    facts.commit(gone)
    assert working_memory.working_memory(runtime.home, "mika") is None
    assert working_memory.clear_working_memory_after_turn(facts, "mika", "t2", ()) is None
    with pytest.raises(NotFound):
        working_memory.working_memory(runtime.home, "nobody")


def test_the_outlook_is_worked_out_anew_from_what_is_held(runtime: Runtime) -> None:
    facts, belief = runtime.home.facts, held("蟹は横に歩く")
    beliefs_and_peers.rebuild_salient_memory_beliefs(runtime.home.facts, "mika")
    assert facts.get("mika", OUTLOOK, OUTLOOK) is None
    facts.commit(new_fact("mika", BELIEF, belief.id, belief))
    for _ in range(2):
        beliefs_and_peers.rebuild_salient_memory_beliefs(runtime.home.facts, "mika")
        stored = facts.get("mika", OUTLOOK, OUTLOOK)
        assert stored is not None
        assert (stored.read(SalientBeliefs), stored.version) == (
            salient_beliefs_in_memory((belief,), ()),
            1,
        )


@pytest.mark.parametrize(
    ("new", "other"),
    [("蟹は横に歩く", "蟹は横に歩きます。"), ("Crabs walk sideways", "The crabs walk sideways!")],
)
def test_of_beliefs_that_say_the_same_the_one_that_is_vouched_for_counts(
    new: str, other: str
) -> None:
    foreign, own, beside = held(new, tainted=True), held(other), held("海は広い")
    assert belief_with_same_claim(held(new), (beside, foreign, own)) == own.id
    assert belief_with_same_claim(held(new), (beside, foreign)) == foreign.id
    assert belief_with_same_claim(held(new), (beside,)) is None
