"""Which skills the coin withholds: its share over many turns, each on its own, always the same."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.learning.signals import (
    UNTRIED,
    SkillHoldouts,
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


def draw(mind: AgentState, turn_id: str, percent: int, kind: str = "code") -> frozenset[str]:
    """The skills that are withheld from a turn by what a night made of them."""
    known = SkillHoldouts(
        at=datetime(2026, 11, 22, tzinfo=UTC),
        shares={name: {"": 0.9, "code": 0.5} for name in ("one", "other", "pinned")},
        only={"settled": ("code",)},
    )
    return draw_learned_skill_holdouts(mind, known, turn_id, kind, percent)


@pytest.mark.parametrize("percent", [0, 30, 90])
def test_each_rests_on_its_own_in_its_share_of_turns(percent: int) -> None:
    rests = [draw(MIND, f"turn-{n}", percent) for n in range(TURNS)]
    share = min(percent / 100, 0.5)
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
        assert draw(alone, turn_id, 30) == draw(MIND, turn_id, 30) & {"one"}
        assert draw(MIND, turn_id, 30) <= draw(MIND, turn_id, 60)


def test_other_types_of_task_have_their_own_share_and_a_skill_kept_for_one_rests_in_them() -> None:
    rests = [draw(MIND, f"turn-{n}", 100, "creative") for n in range(TURNS)]
    assert all("settled" in each and "pinned" not in each for each in rests)
    assert 0.87 < sum("one" in each for each in rests) / TURNS < 0.93
    assert draw(MIND, "turn-1", 0, "creative") == frozenset()


def test_before_its_first_night_a_skill_is_seldom_withheld() -> None:
    rests = [
        draw_learned_skill_holdouts(MIND, None, f"turn-{n}", "code", 100) for n in range(TURNS)
    ]
    assert abs(sum("one" in each for each in rests) / TURNS - UNTRIED) < 0.02
    assert not any("settled" in each for each in rests)
