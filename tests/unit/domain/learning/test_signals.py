"""Which skills the coin withholds: its share over many turns, each on its own, always the same."""

import pytest

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.signals import (
    draw_learned_skill_holdouts,
    learned_skills_on_trial,
)
from opencrab.domain.skills.skill import IndexedSkill

TURNS = 4_000
MIND = AgentState(
    skills=tuple(
        IndexedSkill(name=name, description=name, on_trial=name != "settled")
        for name in ("one", "other", "pinned", "settled")
    ),
    pinned=("skill:pinned", "models:chat/code"),
)


def test_what_is_on_trial_and_not_pinned_may_be_withheld() -> None:
    assert learned_skills_on_trial(MIND) == {"one", "other"}


@pytest.mark.parametrize("percent", [0, 30, 90])
def test_each_rests_on_its_own_in_its_share_of_turns(percent: int) -> None:
    rests = [draw_learned_skill_holdouts(MIND, f"turn-{n}", percent) for n in range(TURNS)]
    share = percent / 100
    # Five standard deviations of a share over so many turns.
    slack = 5 * (share * (1 - share) / TURNS) ** 0.5
    for name in ("one", "other"):
        assert abs(sum(name in each for each in rests) / TURNS - share) <= slack
    both = sum(each == {"one", "other"} for each in rests) / TURNS
    assert abs(both - share**2) <= slack
    assert set().union(*rests) <= {"one", "other"}


def test_the_same_turn_always_finds_the_same_whatever_else_is_on_trial() -> None:
    alone = AgentState(skills=MIND.skills[:1])
    for number in range(50):
        turn_id = f"turn-{number}"
        assert draw_learned_skill_holdouts(alone, turn_id, 30) == draw_learned_skill_holdouts(
            MIND, turn_id, 30
        ) & {"one"}
        assert draw_learned_skill_holdouts(MIND, turn_id, 30) <= draw_learned_skill_holdouts(
            MIND, turn_id, 60
        )
