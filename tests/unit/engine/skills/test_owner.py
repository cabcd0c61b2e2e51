"""An owner's decisions about skills, beside everybody else who changes them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Identity, Profile
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.agents.soul import Soul
from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Conflict, NotFound, Refused
from opencrab.domain.insight.skill_file import learned_skill_file_text
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.skills.lifecycle import promote_learned_skill, skill_lesson
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SkillStatus
from opencrab.engine.runtime import Runtime
from opencrab.engine.skills.owner import SkillOwner, SkillState
from opencrab.ports.documents import Documents
from tests.contract.homes import sqlite
from tests.unit.actions.bench import NOW, agent

WHAT = skill_lesson("good-questions", "質問のしかた", guidance="「なぜ」と尋ねる。")


class Busy:
    """A store in which something else happens before each of the first commits."""

    def __init__(
        self, facts: Documents, happens: Callable[[Documents], object], times: int
    ) -> None:
        self.get, self.page = facts.get, facts.page
        self._facts, self._happens, self._times = facts, happens, times

    def commit(self, *facts: Document, due: tuple[Any, ...] = ()) -> None:
        if self._times:
            self._times -= 1
            self._happens(self._facts)
        self._facts.commit(*facts, due=due)


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[SkillOwner]:
    """The owner of Mika, who has learned nothing yet."""
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        soul, identity = Soul(persona_name="Mika"), Identity(name="Mika")
        home.agents.create(Profile(agent=agent(), soul=soul, identity=identity))
        runtime = Runtime(
            home, clock, cast(Any, None), Registry(GROUPS), consequences=CONSEQUENCES, jobs=JOBS
        )
        yield SkillOwner(runtime, "mika", "owner")


def busy(keeper: SkillOwner, happens: Callable[[Documents], object], times: int = 1) -> SkillOwner:
    """The same owner in a busy house."""
    home = keeper.runtime.home
    facts = cast(Documents, Busy(home.facts, happens, times))
    return replace(keeper, runtime=replace(keeper.runtime, home=replace(home, facts=facts)))


def with_a_goal(facts: Documents) -> None:
    """A turn takes up a goal, which changes the mind."""
    known = facts.get("mika", MIND, MIND)
    mind = known.read(AgentState) if known else AgentState()
    number = mind.agenda.last_number + 1
    grown = mind.replaced(agenda=Agenda(last_number=number))
    fresh = Document(owner="mika", kind=MIND, id=MIND, body={}, version=0)
    facts.commit((known or fresh).with_body(grown))


def counted(facts: Documents) -> None:
    """A turn used the skill."""
    fact = facts.get("mika", SKILL, "good-questions")
    assert fact is not None
    skill = fact.read(AcquiredSkill)
    facts.commit(fact.with_body(skill.replaced(usage_count=skill.usage_count + 1)))


def mind_of(keeper: SkillOwner) -> AgentState:
    """What Mika's turns know."""
    fact = keeper.runtime.home.facts.get("mika", MIND, MIND)
    assert fact is not None
    return fact.read(AgentState)


def test_a_change_is_made_on_what_is_there_by_then(keeper: SkillOwner) -> None:
    keeper.put(WHAT)
    kept = busy(keeper, counted, 3).toggle("good-questions").skill
    assert isinstance(kept, AcquiredSkill)
    assert (kept.status, kept.usage_count) == (SkillStatus.DISABLED, 3)


def test_nothing_that_others_wrote_into_the_mind_is_lost(keeper: SkillOwner) -> None:
    busy(keeper, with_a_goal, 2).put(WHAT)
    mind = mind_of(keeper)
    assert (mind.agenda.last_number, [each.name for each in mind.skills]) == (
        2,
        ["good-questions"],
    )


def test_who_is_never_alone_is_told_after_five_tries(keeper: SkillOwner) -> None:
    with pytest.raises(Changed):
        busy(keeper, with_a_goal, 99).put(WHAT)
    assert keeper.all() == ()


def test_a_change_that_is_none_writes_nothing(keeper: SkillOwner) -> None:
    keeper.put(WHAT, trial=True)
    versions = [keeper.toggle("good-questions", on=True).skill.version for _ in range(2)]
    assert versions == [2, 2]


def test_what_an_owner_switches_on_is_on_for_good_until_he_takes_it_back(
    keeper: SkillOwner,
) -> None:
    def standing(kept: SkillState) -> tuple[SkillStatus, bool, tuple[str, ...]]:
        assert isinstance(kept.skill, AcquiredSkill)
        return kept.skill.status, kept.on, mind_of(keeper).pinned

    pins = ("skill:good-questions",)
    assert standing(keeper.put(WHAT, trial=True)) == (SkillStatus.CANDIDATE, True, ())
    settled = SkillStatus.ACTIVE, True, pins
    assert standing(keeper.toggle("good-questions", on=True)) == settled
    assert standing(keeper.put(WHAT)) == settled
    assert standing(keeper.toggle("good-questions")) == (SkillStatus.DISABLED, False, ())
    assert standing(keeper.toggle("good-questions")) == settled
    assert standing(keeper.retire("good-questions")) == (SkillStatus.ARCHIVED, False, ())
    assert standing(keeper.restore("good-questions")) == (SkillStatus.CANDIDATE, True, ())


def test_an_active_skill_that_is_switched_on_once_more_is_pinned(keeper: SkillOwner) -> None:
    keeper.put(WHAT, trial=True)
    fact = keeper.runtime.home.facts.get("mika", SKILL, "good-questions")
    assert fact is not None
    active = promote_learned_skill(fact.read(AcquiredSkill), NOW)
    keeper.runtime.home.facts.commit(fact.with_body(active))
    assert keeper.toggle("good-questions", on=True).skill == active
    assert mind_of(keeper).pinned == ("skill:good-questions",)


def test_an_owners_skill_is_used_at_once_and_tried_only_if_the_owner_says_so(
    keeper: SkillOwner,
) -> None:
    for trial, status in ((False, SkillStatus.ACTIVE), (True, SkillStatus.CANDIDATE)):
        kept = keeper.put(WHAT, trial=trial)
        assert isinstance(kept.skill, AcquiredSkill)
        assert kept.skill.status is status
        (indexed,) = mind_of(keeper).skills
        assert indexed.on_trial is trial


def test_owners_who_fill_the_trials_at_once_fill_them_once(keeper: SkillOwner) -> None:
    few = replace(
        keeper.runtime, rules=replace(keeper.runtime.rules, trials=TrialSettings(candidates=1))
    )
    keeper = replace(keeper, runtime=few)
    other = WHAT.replaced(name="other")
    kept = busy(keeper, lambda _facts: keeper.put(other, trial=True)).put(WHAT, trial=True).skill
    assert isinstance(kept, AcquiredSkill)
    assert (kept.status, kept.waits) == (SkillStatus.DISABLED, True)
    assert [(each.name, each.on_trial) for each in mind_of(keeper).skills] == [("other", True)]
    assert keeper.toggle("good-questions", on=True).on


def test_what_an_owner_wrote_over_another_version_is_refused(keeper: SkillOwner) -> None:
    keeper.put(WHAT, version=0)
    with pytest.raises(Conflict, match="version 1 now"):
        keeper.put(WHAT, version=0)
    assert keeper.put(WHAT, version=1).skill.version == 2


def test_a_name_that_is_taken_and_one_that_is_unknown_are_refused(keeper: SkillOwner) -> None:
    with pytest.raises(Refused, match="'send-speech' is the name"):
        keeper.put(skill_lesson("send_speech", "d", guidance="g"))
    for change in (keeper.toggle, keeper.approve, keeper.retire, keeper.restore, keeper.get):
        with pytest.raises(NotFound, match="no skill 'nothing'"):
            change("nothing")


@pytest.mark.parametrize("given", ["good-questions", "効果的な質問"])
def test_what_an_owner_writes_is_in_the_skills_file(keeper: SkillOwner, given: str) -> None:
    files = keeper.runtime.home.files
    first = skill_lesson(given, "質問のしかた", guidance="「なぜ」と尋ねる。")
    keeper.put(first)
    path = f"skills/{given}/SKILL.md"
    assert files.read("mika", path)[1].decode() == learned_skill_file_text(first)
    renamed = skill_lesson(first.name, "Asking well", guidance="Ask why.")
    keeper.put(renamed)
    (info,) = files.list("mika")
    assert info.path == f"skills/{first.name}/SKILL.md"
    assert files.read("mika", info.path)[1].decode() == learned_skill_file_text(renamed)
    assert info.clean


def test_a_skill_counts_where_its_file_cannot_be_written(
    keeper: SkillOwner, caplog: pytest.LogCaptureFixture
) -> None:
    keeper.runtime.home.files.write("mika", "skills/good-questions", b"in the way")
    assert keeper.put(WHAT).on
    assert "stored without its file" in caplog.text
