"""Skills on trial as their agent meets them: tried, resting, waiting for room, and back again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import new_fact
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.learning.signals import SkillHoldouts
from opencrab.domain.skills.lifecycle import retire_learned_skill
from opencrab.domain.skills.skill import BY_EVIDENCE, SKILL, Effectiveness, SkillStatus
from opencrab.domain.statistics.hash_bucket import hash_fraction
from opencrab.domain.value import Language
from tests.contract.homes import sqlite
from tests.unit.actions.bench import NOW
from tests.unit.actions.pupil import TURN, WRITE, Pupil, told

FIRST_SHARE = SkillHoldouts(at=NOW).share("good-questions", "conversation", on_trial=True)
"""The share of turns from which a skill is withheld before its first night."""

HELD, GIVEN = (
    TURN.replaced(
        id=next(
            turn_id
            for turn_id in (f"t{n}" for n in range(100))
            if (hash_fraction("skill", turn_id, "good-questions") < FIRST_SHARE) is withheld
        )
    )
    for withheld in (True, False)
)
"""Turns of the owner in which the coin withholds good-questions, and in which it does not."""


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Pupil]:
    """Mika, who has learned nothing yet."""
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        yield Pupil(home)


def status(pupil: Pupil, action: str, name: str) -> object:
    """Where a skill stands after an action, as its agent is told."""
    return told(pupil.do(action, **(WRITE if "create" in action else {}) | {"name": name}))[
        "status"
    ]


@pytest.mark.parametrize(
    ("language", "words"), [(Language.EN, "it is on trial"), (Language.JA, "試用中です")]
)
def test_the_agent_is_told_that_what_it_learned_is_tried(
    mika: Pupil, language: Language, words: str
) -> None:
    mika.language = language
    assert words in str(mika.do("create_my_skill", **WRITE).data)
    mika.trials = TrialSettings(skill_percent=0)
    settled = mika.do("create_my_skill", **{**WRITE, "name": "another"})
    assert told(settled) == {"skill_name": "another", "version": 1, "status": "active"}


def test_a_skill_on_trial_is_read_but_in_turns_in_which_it_rests(mika: Pupil) -> None:
    mika.do("create_my_skill", **WRITE)
    mika.turn = GIVEN
    assert mika.run("use_skill", name="good-questions").success
    mika.turn = HELD
    for language, words in (
        (Language.EN, "is withheld in this turn"),
        (Language.JA, "このターンでは"),
    ):
        mika.language = language
        rests = mika.run("use_skill", name="Good Questions")
        assert (rests.success, rests.side_effects) == (False, ())
        assert words in str(rests.error)
    mika.trials = TrialSettings(skill_percent=0)
    assert mika.run("use_skill", name="good-questions").success


def test_what_the_owner_pinned_never_rests_and_stays_as_its_agent_rewords_it(mika: Pupil) -> None:
    mika.home.facts.commit(
        new_fact("mika", MIND, MIND, AgentState(pinned=("skill:good-questions",)))
    )
    mika.turn = HELD
    assert status(mika, "create_my_skill", "good-questions") == "active"
    assert mika.run("use_skill", name="good-questions").success
    assert status(mika, "retire_my_skill", "good-questions") == "archived"
    assert status(mika, "restore_my_skill", "good-questions") == "active"


@pytest.mark.parametrize("authority", [Authority.USER, Authority.SELF, Authority.PUBLIC])
def test_nobody_but_the_owner_gives_other_words_to_what_is_pinned(
    mika: Pupil, authority: Authority
) -> None:
    mika.home.facts.commit(
        new_fact("mika", MIND, MIND, AgentState(pinned=("skill:good-questions",)))
    )
    lived = {"experience": "x", "outcome": "success", "lesson": "y"}
    others = TURN.replaced(authority=authority)
    mika.turn = others
    assert "is pinned" in str(mika.do("create_my_skill", **WRITE).error)
    mika.turn = TURN
    mika.do("create_my_skill", **WRITE)
    known = mika.skill()
    mika.turn = others
    for field in ("description", "situation_pattern", "guidance"):
        assert not mika.do("create_my_skill", **WRITE | {field: "another"}).success
    assert not mika.do("learn_from_experience", **lived, skill_name="good-questions").success
    assert mika.skill() == known
    mika.turn = TURN
    mika.do("create_my_skill", **WRITE | {"guidance": "another"})
    assert (mika.skill().guidance, mika.skill().status) == ("another", SkillStatus.ACTIVE)


def test_beyond_the_places_on_trial_a_skill_is_learned_and_waits(mika: Pupil) -> None:
    mika.trials = TrialSettings(candidates=2)
    for number in range(2):
        assert status(mika, "create_my_skill", f"s-{number}") == "candidate"
    lived = {"experience": "x", "outcome": "success", "lesson": "y", "skill_name": "s-2"}
    for language, words in ((Language.EN, "waits for a free trial slot"), (Language.JA, "空きを")):
        mika.language = language
        third = mika.do("learn_from_experience", **lived)
        assert told(third)["status"] == "disabled"
        assert words in str(third.data)
    assert (mika.skill("s-2").waits, mika.skill("s-2").version) == (True, 2)
    assert len(mika.experiences()) == 2
    assert mika.live() == ["s-0", "s-1"]
    assert not mika.run("use_skill", name="s-2").success
    assert status(mika, "create_my_skill", "s-0") == "candidate"
    mika.do("retire_my_skill", name="s-0")
    assert status(mika, "create_my_skill", "s-2") == "candidate"
    assert (mika.skill("s-2").waits, mika.live()) == (False, ["s-1", "s-2"])
    assert status(mika, "restore_my_skill", "s-0") == "disabled"
    assert mika.skill("s-0").waits


def test_what_the_evidence_retired_the_agent_may_try_again(mika: Pupil) -> None:
    mika.do("create_my_skill", **WRITE)
    fact = mika.home.facts.get("mika", SKILL, "good-questions")
    assert fact is not None
    measured = Effectiveness(points=-9, low=-15, high=-3, turns=80)
    gone = retire_learned_skill(mika.skill(), NOW, owner=BY_EVIDENCE, effectiveness=measured)
    mika.home.facts.commit(fact.with_body(gone))
    assert status(mika, "restore_my_skill", "good-questions") == "candidate"
    assert (mika.skill().status, mika.skill().effectiveness) == (SkillStatus.CANDIDATE, None)
