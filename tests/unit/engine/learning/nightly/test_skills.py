"""What a night decides on skills, by all that is known of them."""

from datetime import UTC, date, datetime, timedelta

import pytest

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.change import adjustment_id
from opencrab.domain.learning.evidence import ClosedEvidence, Evidence, TreatedAndControl
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.skill_trials import index_learned_skill
from opencrab.domain.models.routing import Routing
from opencrab.domain.skills.skill import AcquiredSkill, Effectiveness, SkillStatus, SourceType
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.engine.learning.aggregation import split_open_and_closed_evidence
from opencrab.engine.learning.nightly.skills import UNSEEN, decide_skill_trials_nightly
from opencrab.engine.learning.snapshot import EvidenceSnapshot

NOW = datetime(2026, 11, 22, 18, tzinfo=UTC)


def skill(name: str = "calm", **changes: object) -> AcquiredSkill:
    """A skill on trial."""
    known = AcquiredSkill(
        name=name,
        description="how to stay calm",
        guidance="Breathe.",
        source_type=SourceType.EXPERIENCE,
        status=SkillStatus.CANDIDATE,
        created_at=NOW - timedelta(days=2),
        updated_at=NOW - timedelta(days=2),
    )
    return known.replaced(**changes)


def findings(*skills: AcquiredSkill, turns: int = 0, candidates: int = 2) -> EvidenceSnapshot:
    """What is known where so many turns with the first skill went well, and as many without not."""
    mind = AgentState()
    for each in skills:
        mind = index_learned_skill(mind, each)
    well = MomentSums(n=turns, total=float(turns), squares=float(turns))
    known = (
        {f"{skills[0].name}/v:m": TreatedAndControl(given=well, held=MomentSums(n=turns))}
        if turns
        else {}
    )
    day = date(2026, 11, 21)
    return EvidenceSnapshot(
        agent=Agent(id="mika", name="Mika", created_at=NOW, updated_at=NOW),
        mind=mind,
        skills=skills,
        known=split_open_and_closed_evidence(day, ClosedEvidence(), {day: Evidence(skills=known)}),
        tallies=(),
        recent=(),
        at=NOW,
        period="daily-2026-11-21",
        frozen=False,
        trials=TrialSettings(candidates=candidates),
        routing=Routing(default="v:m"),
        choices={},
        day_micro_usd=1_000,
    )


def made(known: EvidenceSnapshot) -> dict[str, str]:
    """What becomes of each skill."""
    return {
        each.adjustment.subject: each.adjustment.after["status"]
        for each in decide_skill_trials_nightly(known)
    }


@pytest.mark.parametrize("turns", [29, 30, 44, 45, 60])
def test_what_an_owner_undid_is_decided_again_once_enough_more_is_known(turns: int) -> None:
    """Also where a verdict on a turn was taken back meanwhile: fewer turns are no news."""
    undone = skill(effectiveness=Effectiveness(points=50, low=30, high=70, turns=60))
    assert made(findings(undone, turns=turns)) == ({"calm": "active"} if turns >= 45 else {})
    assert made(findings(skill(), turns=turns)) == {"calm": "active"}


def test_a_trial_of_which_nobody_hears_makes_room_where_others_wait() -> None:
    silent = skill(updated_at=NOW - UNSEEN - timedelta(days=1))
    waiting = skill("swift", status=SkillStatus.DISABLED, waits=True)
    assert made(findings(silent, waiting, candidates=1)) == {
        "calm": "disabled",
        "swift": "candidate",
    }
    assert made(findings(silent, candidates=1)) == {}
    assert made(findings(skill(), waiting, candidates=1)) == {}
    assert made(findings(silent, waiting, turns=3, candidates=1))["calm"] == "disabled"
    assert made(findings(silent, waiting, turns=15, candidates=1))["calm"] == "active"
    (change, _) = decide_skill_trials_nightly(findings(silent, waiting, candidates=1))
    mind, after = change.apply(index_learned_skill(AgentState(), silent), silent)
    assert (after and after.waits, mind.skills) == (True, ())
    assert change.adjustment.id == adjustment_id(NOW, "daily-2026-11-21", "skill:calm", "disabled")
