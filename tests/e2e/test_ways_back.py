"""Ways back: each change of a mix or skill is undone down to the first, and loses nothing."""

from typing import Any

import pytest

from opencrab.domain.errors import Conflict
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentKind,
    AdjustmentState,
    LearnedSubject,
    adjustment_id,
    describe_mix,
    mix_of,
)
from opencrab.domain.skills.skill import SkillStatus
from opencrab.engine.learning import changes, experiments, undo
from opencrab.engine.learning.changes import LearningChange
from opencrab.engine.learning.nightly.models import apply_mix
from opencrab.engine.learning.nightly.run import review_agent_now
from opencrab.engine.learning.proposals import follow_learning_proposal
from opencrab.ports.workspace.files import ABSENT
from tests.e2e.house import House
from tests.e2e.nights import APPLY, CHAT, learner, learnt, lived, mind, skill, told

SUBJECT = LearnedSubject(kind=AdjustmentKind.MODELS, name=CHAT)
BOTH, CHEAP, DEAR = {"cheap": 0.6, "dear": 0.4}, {"cheap": 1.0}, {"dear": 1.0}


def test_every_mix_is_undone_down_to_the_first_past_proposals(home: House) -> None:
    learner(home, **APPLY)
    first = _made(home, BOTH)
    wish = _made(home, BOTH, proposed=True)
    second = _made(home, CHEAP)
    assert _states(home) == ["applied", "superseded", "superseded"]
    assert undo.undo_adjustment(home.runtime, "crab", second.id, "owner").state == "undone"
    again = changes.find_adjustment(home.home.facts, "crab", first.id)
    assert again == first
    assert changes.find_adjustment(home.home.facts, "crab", wish.id).ended_by == second.id
    assert mind(home).mixes[0].weights == BOTH
    assert undo.undo_adjustment(home.runtime, "crab", second.id, "owner").state == "undone"
    undo.undo_adjustment(home.runtime, "crab", first.id, "owner")
    assert (mind(home).mixes, _states(home)) == ((), ["undone", "superseded", "undone"])


def test_what_is_stopped_twice_keeps_its_way_back(home: House) -> None:
    learner(home, **APPLY)
    _made(home, BOTH)
    one = experiments.end_experiment(home.runtime, "crab", SUBJECT.text, "owner")
    home.clock.advance(1)
    with pytest.raises(Conflict, match="'cheap' is already the only model"):
        experiments.end_experiment(home.runtime, "crab", SUBJECT.text, "owner")
    undo.undo_adjustment(home.runtime, "crab", one.id, "owner")
    assert (mind(home).mixes[0].weights, mind(home).pinned) == (BOTH, ())


@pytest.mark.parametrize("freed", [False, True])
def test_a_stop_that_is_undone_sets_no_pin_and_takes_none_that_was_there(
    home: House, *, freed: bool
) -> None:
    learner(home, **APPLY)
    _made(home, BOTH)
    experiments.pin_learned_subject(home.runtime, "crab", SUBJECT.text)
    one = experiments.end_experiment(home.runtime, "crab", SUBJECT.text, "owner")
    if freed:
        experiments.unpin_learned_subject(home.runtime, "crab", SUBJECT.text)
    undo.undo_adjustment(home.runtime, "crab", one.id, "owner")
    assert mind(home).mixes[0].weights == BOTH
    assert mind(home).pinned == (() if freed else (SUBJECT.text,))


def test_a_promotion_is_undone_only_where_the_skill_can_be_on_trial(home: House) -> None:
    learner(home)
    learnt(home, "good")
    one = experiments.end_experiment(home.runtime, "crab", "skill:good", "owner")
    experiments.pin_learned_subject(home.runtime, "crab", "skill:good")
    with pytest.raises(Conflict, match="remains active: it is pinned") as refused:
        undo.undo_adjustment(home.runtime, "crab", one.id, "owner")
    assert "unpin" in (refused.value.cure or "")
    assert skill(home, "good").status is SkillStatus.ACTIVE
    assert changes.find_adjustment(home.home.facts, "crab", one.id).state == "applied"
    experiments.unpin_learned_subject(home.runtime, "crab", "skill:good")
    undo.undo_adjustment(home.runtime, "crab", one.id, "owner")
    assert skill(home, "good").status is SkillStatus.CANDIDATE


def test_a_slower_night_ends_nothing_that_its_owner_has_followed_meanwhile(home: House) -> None:
    learner(home)
    first = _made(home, CHEAP, proposed=True)
    slower = _change(home, DEAR, proposed=True)
    follow_learning_proposal(home.runtime, "crab", first.id, "owner")
    with pytest.raises(Conflict, match="is already applied"):
        changes.store_adjustment(home.runtime.home.facts, "crab", slower)
    assert _states(home) == ["applied"]
    newer = _made(home, DEAR, proposed=True)
    slower = _change(home, BOTH, proposed=True)
    newest = _made(home, BOTH, proposed=True)
    changes.store_adjustment(home.runtime.home.facts, "crab", slower)
    assert changes.find_adjustment(home.home.facts, "crab", newer.id).ended_by == newest.id


def test_a_report_lies_beside_what_somebody_else_wrote_and_says_so(home: House) -> None:
    learner(home)
    lived(home, 3, good=True)
    path = "reports/learning/2026-01-05"
    files = home.home.files
    files.write("crab", f"{path}.md", b"my own notes", condition=ABSENT, clean=True)
    home.clock.advance(86_400)
    looked = review_agent_now(home.runtime, "crab", "daily")
    assert (looked.report, looked.problem) == ((f"{path}.night.md", f"{path}.ja.md"), "")
    assert told(home, "2026-01-05") == "my own notes"
    assert f"`{path}.md` is not a learning report" in told(home, "2026-01-05.night")
    assert "is not a report" not in told(home, "2026-01-05.ja")


def _change(home: House, weights: dict[str, float], **more: Any) -> LearningChange:
    """A mix that a night made, or proposed, of what it has read by now."""
    home.clock.advance(1)
    now, before = home.clock.now(), describe_mix(mix_of(mind(home), CHAT))
    state = AdjustmentState.PROPOSED if more.pop("proposed", False) else AdjustmentState.APPLIED
    made = Adjustment(
        id=adjustment_id(now, "night"),
        at=now,
        kind=SUBJECT.kind,
        subject=CHAT,
        before=before,
        after={"weights": weights},
        evidence=more.pop("evidence", {"models": {name: f"fake:{name}" for name in weights}}),
        reason="learned",
        by="night",
        state=state,
    )
    ends = changes.open_adjustments_of(
        changes.page_of_adjustments(home.home.facts, "crab"), SUBJECT
    )
    if state is AdjustmentState.PROPOSED:
        return LearningChange(made, ends=tuple(each for each in ends if each.state is state))
    return LearningChange(made, apply_mix(CHAT, before, made.after), ends)


def _made(home: House, weights: dict[str, float], **more: Any) -> Adjustment:
    return changes.store_adjustment(home.runtime.home.facts, "crab", _change(home, weights, **more))


def _states(home: House) -> list[str]:
    """Where all changes stand, the newest first."""
    return [each.state.value for each in changes.page_of_adjustments(home.home.facts, "crab")]
