"""Experiences that stay: of two that say the same, of opposites, of strangers', of pinned ones."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import Conflict, Unavailable
from opencrab.domain.learning.change import AdjustmentState
from opencrab.domain.memory.memory import EXPERIENCE
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.learning import changes as learned
from opencrab.engine.learning import experiments, undo
from opencrab.engine.learning.nightly import experiences
from opencrab.engine.learning.proposals import follow_learning_proposal
from tests.e2e.experiencing import (
    DAY,
    TWICE,
    TWICE_EN,
    WORDS,
    changes,
    experience,
    found,
    keeps,
    night,
    shown,
    useless,
)
from tests.e2e.forgotten import HANAKO, Life
from tests.e2e.house import House
from tests.e2e.nights import breaking, learner, lived, mind, told

SUPERSEDED, UNDONE = AdjustmentState.SUPERSEDED, AdjustmentState.UNDONE


def test_whoever_follows_all_that_is_proposed_loses_one_of_two_and_never_both(home: House) -> None:
    learner(home)
    stays, goes = (keeps(home, *each) for each in TWICE_EN)
    (merging,) = night(home)
    assert merging.subject == goes
    shown(home, stays)
    assert night(home) == ()
    follow_learning_proposal(home.runtime, "crab", merging.id, "owner")
    home.clock.advance(50 * DAY)
    shown(home, stays)
    assert night(home) == ()
    undo.undo_adjustment(home.runtime, "crab", merging.id, "owner")
    shown(home, stays)
    assert [each.subject for each in night(home)] == [stays]


def test_one_to_which_another_was_left_meanwhile_is_not_retired(home: House) -> None:
    learner(home)
    stays, made = useless(home)
    goes = keeps(home, *WORDS["en"][:2])
    merging = made.replaced(id="0" * 26, subject=goes, after={"remark": "merge", "other": stays})
    learned.store_adjustment(home.runtime.home.facts, "crab", learned.LearningChange(merging))
    follow_learning_proposal(home.runtime, "crab", merging.id, "owner")
    with pytest.raises(Conflict, match="depends on") as refused:
        follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    assert refused.value.cure == f"undo change {merging.id} first"
    assert experience(home, stays).retired_at is None


def _merged(house: House, folder: Path) -> tuple[str, str]:
    """Two that say the same: the one that stays, and the one that was left to it."""
    Life(house, folder)
    stays, goes = (keeps(house, *each) for each in TWICE_EN)
    shown(house, stays, times=1, useful=(stays,))
    (made,) = night(house)
    assert made.subject == goes
    follow_learning_proposal(house.runtime, "crab", made.id, "owner")
    assert found(house, "traveller") == [stays]
    return stays, goes


def test_what_was_left_to_a_forgotten_one_is_found_again_whoever_dies_on_the_way(
    house: House, tmp_path: Path
) -> None:
    stays, goes = _merged(house, tmp_path)
    at = experience(house, stays).at
    wish = ErasureRequest(
        scope=ErasureScope.PERIOD, since=at, until=at + timedelta(milliseconds=500)
    )
    for writes in range(1, 9):
        try:
            broken = breaking(house, "facts", "commit", Unavailable("a crash"), after=writes)
            erase_data(broken, "crab", wish)
            break
        except Unavailable:
            continue
    assert erase_data(house.runtime, "crab", wish).done
    assert [fact.id for fact in house.home.facts.page("crab", EXPERIENCE)] == [goes]
    assert experience(house, goes).retired_at is None
    house.clock.advance(1)
    assert found(house, "traveller") == [goes]
    (over,) = changes(house)
    assert (over.state, over.after) == (SUPERSEDED, {"status": "archived"})


def test_with_a_person_goes_what_was_left_to_what_came_of_them(home: House, tmp_path: Path) -> None:
    stays, _goes = _merged(home, tmp_path)
    of_hers = home.home.facts.get("crab", EXPERIENCE, stays)
    assert of_hers is not None
    hers = experience(home, stays).replaced(person_id=HANAKO)
    home.home.facts.commit(of_hers.with_body(hers))
    assert erase_data(
        home.runtime, "crab", ErasureRequest(scope=ErasureScope.PERSON, id=HANAKO)
    ).done
    assert home.home.facts.page("crab", EXPERIENCE) == ()
    assert (found(home, "traveller"), changes(home)) == ([], [])


def test_a_forgotten_experience_is_no_pin_any_more(home: House) -> None:
    learner(home)
    hers, his = keeps(home, *TWICE[0], person_id="h"), keeps(home, *WORDS["en"][:2])
    for each in (hers, his):
        experiments.pin_learned_subject(home.runtime, "crab", f"experience:{each}")
    assert erase_data(home.runtime, "crab", ErasureRequest(scope=ErasureScope.PERSON, id="h")).done
    assert mind(home).pinned == (f"experience:{his}",)


def test_what_two_peers_said_alike_was_told_by_two(home: House) -> None:
    learner(home)
    for who in ("alice", "bob"):
        keeps(home, *TWICE_EN[0], from_person=who, turn_id=who, tainted=True)
    assert night(home) == ()
    keeps(home, *TWICE_EN[0], from_person="bob", turn_id="b", tainted=True)
    assert len(night(home)) == 1


@pytest.mark.parametrize("pinned", [False, True])
def test_many_that_cannot_go_hold_up_no_other(home: House, *, pinned: bool) -> None:
    learner(home)
    many = [
        keeps(home, f"topic{n} alpha{n}", f"delta{n}", model="" if pinned else "fake:dear")
        for n in range(21)
    ]
    plain = keeps(home, *WORDS["en"][:2])
    for name in many if pinned else ():
        experiments.pin_learned_subject(home.runtime, "crab", f"experience:{name}")
    shown(home, *many, times=4)
    shown(home, plain)
    assert [each.subject for each in night(home)] == [plain]


def test_each_night_reads_the_next_ones_where_they_are_too_many(home: House) -> None:
    learner(home)
    wide = experiences.OLDER
    many = [keeps(home, f"t{n}", f"d{n}", model="fake:dear") for n in range(wide + 5)]
    plain = keeps(home, *WORDS["en"][:2])
    for part in (many[:wide], many[wide:]):
        shown(home, *part, times=4)
    shown(home, plain)
    assert [each.subject for _ in range(3) for each in night(home)] == [plain]


def test_strangers_take_no_place_of_the_agents_own_and_are_compared_themselves(
    home: House,
) -> None:
    learner(home)
    own = [keeps(home, *TWICE_EN[0]) for _ in range(2)]
    theirs: dict[str, Any] = {"tainted": True, "person_id": "stranger"}
    for n in range(experiences.NEWEST):
        keeps(home, f"e{n}", f"l{n}", **theirs)
    twins = [keeps(home, *TWICE_EN[1], **theirs) for _ in range(2)]
    assert {each.subject for each in night(home)} == {own[1], twins[1]}


def test_what_is_found_again_within_thirty_days_is_counted_on(home: House) -> None:
    learner(home)
    often, seldom = keeps(home, *WORDS["en"][:2]), keeps(home, *TWICE_EN[0])
    for days in (24, 24, 0):
        shown(home, often, times=1)
        assert night(home) == () or days == 0
        home.clock.advance(days * DAY)
    assert [each.subject for each in changes(home)] == [often]
    for days in (32, 32, 0):
        shown(home, seldom, times=1)
        assert night(home) == ()
        home.clock.advance(days * DAY)


def test_a_report_tells_no_more_of_one_that_is_retired(home: House) -> None:
    learner(home)
    _, made = useless(home)
    other = keeps(home, *TWICE_EN[0])
    shown(home, other, times=1)
    follow_learning_proposal(home.runtime, "crab", made.id, "owner")
    lived(home, 3, good=True)
    night(home)
    english, japanese = told(home, "2026-01-06"), told(home, "2026-01-06.ja")
    assert "Experiences found by searches in the last 30 days: 1." in english
    assert "never helpful: 0, a junk rate of 0 %" in english
    assert "一度も役立っていない経験: 0 件" in japanese


def test_an_undone_stop_takes_no_pin_away_that_came_later(home: House) -> None:
    learner(home)
    made = experiments.end_experiment(home.runtime, "crab", "memories:search", "owner")
    experiments.unpin_learned_subject(home.runtime, "crab", "memories:search")
    assert learned.find_adjustment(home.home.facts, "crab", made.id).state == SUPERSEDED
    experiments.pin_learned_subject(home.runtime, "crab", "memories:search")
    with pytest.raises(Conflict, match="its state is superseded"):
        undo.undo_adjustment(home.runtime, "crab", made.id, "owner")
    assert mind(home).pinned == ("memories:search",)
    experiments.unpin_learned_subject(home.runtime, "crab", "memories:search")
    home.clock.advance(1)
    again = experiments.end_experiment(home.runtime, "crab", "memories:search", "owner")
    assert undo.undo_adjustment(home.runtime, "crab", again.id, "owner").state == UNDONE
    assert mind(home).pinned == ()
