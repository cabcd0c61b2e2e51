"""Where a skill stands among others: on trial, waiting, and in the agent's state."""

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.skill_trials import (
    INDEXED_BYTES,
    index_learned_skill,
    place_learned_skill,
)
from opencrab.domain.skills.lifecycle import (
    promote_learned_skill,
    put_skill_on_trial,
    toggle_learned_skill,
)
from opencrab.domain.skills.skill import (
    SkillStatus,
)
from tests.unit.domain.skills.taught import FOREIGN, LATER, taught


def test_so_many_are_on_trial_and_the_rest_wait_until_there_is_room() -> None:
    trials, mind = TrialSettings(candidates=2), AgentState()
    skills = [taught().replaced(name=f"s-{n}") for n in range(4)]
    for number, skill in enumerate(skills):
        skills[number] = place_learned_skill(skill, mind, trials)
        mind = index_learned_skill(mind, skills[number])
    assert [skill.waits for skill in skills] == [False, False, True, True]
    assert [skill.status.is_live for skill in skills] == [True, True, False, False]
    assert place_learned_skill(skills[1], mind, trials) is skills[1]
    first = skills[2]
    assert place_learned_skill(put_skill_on_trial(first, LATER), mind, trials).waits
    kept = mind.replaced(pinned=("skill:s-1",))
    assert not place_learned_skill(put_skill_on_trial(first, LATER), kept, trials).waits
    mind = index_learned_skill(mind, promote_learned_skill(skills[0], LATER))
    begun = place_learned_skill(put_skill_on_trial(first, LATER), mind, trials)
    assert (begun.status, begun.waits) == (SkillStatus.CANDIDATE, False)
    assert taught(first).status is SkillStatus.CANDIDATE


def test_what_is_pinned_and_what_nothing_is_withheld_from_is_active() -> None:
    pinned = AgentState(pinned=("skill:good-questions",))
    assert place_learned_skill(taught(), pinned, TrialSettings()).status is SkillStatus.ACTIVE
    assert (
        place_learned_skill(taught(), AgentState(), TrialSettings(skill_percent=0)).status
        is SkillStatus.ACTIVE
    )
    waiting = taught(teaching=FOREIGN)
    assert place_learned_skill(waiting, pinned, TrialSettings(skill_percent=0)) is waiting


def test_a_mind_knows_of_live_skills_only_in_short_and_in_order() -> None:
    long = taught().replaced(name="b", description="あ" * 1_000)
    settled = promote_learned_skill(taught(), LATER).replaced(name="a")
    mind = index_learned_skill(index_learned_skill(AgentState(), long), settled)
    assert [(each.name, each.on_trial) for each in mind.skills] == [("a", False), ("b", True)]
    assert len(mind.skills[1].description.encode()) <= INDEXED_BYTES
    assert index_learned_skill(mind, toggle_learned_skill(long, LATER)).skills == mind.skills[:1]
    assert index_learned_skill(AgentState(), taught(teaching=FOREIGN)) == AgentState()
