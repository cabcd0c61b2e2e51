"""An owner's view of an agent's standard and acquired skills, and the changes to them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from opencrab.domain.agents.agent_state import MIND, AgentState, is_skill_in_agent_state
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Conflict, NotFound, OpenCrabError, Refused
from opencrab.domain.insight.skill_file import learned_skill_file_path, learned_skill_file_text
from opencrab.domain.learning.change import (
    AdjustmentKind,
    LearnedSubject,
    with_learned_pin,
    without_learned_pin,
)
from opencrab.domain.learning.signals import SkillHoldouts, withheld_percent
from opencrab.domain.learning.skill_trials import index_learned_skill, place_learned_skill
from opencrab.domain.skills.lifecycle import (
    SkillLesson,
    SkillTeaching,
    approve_learned_skill,
    learned_skill_of_owner,
    no_learned_skill_error,
    require_learned_skill_room,
    restore_learned_skill,
    retire_learned_skill,
    takes_learned_skill_room,
    teach_learned_skill,
    toggle_learned_skill,
)
from opencrab.domain.skills.skill import (
    SKILL,
    SKILLS_KEPT,
    AcquiredSkill,
    SourceType,
    StandardSkill,
)
from opencrab.engine.retry import retry_after_changes
from opencrab.engine.runtime import Runtime
from opencrab.ports.skills import load_skill_holdouts

log = logging.getLogger(__name__)


Changing = TypeVar("Changing", AcquiredSkill, AgentState)
Change = Callable[[AcquiredSkill | None], AcquiredSkill]
Pinning = Callable[[AcquiredSkill], bool]
"""Returns whether a skill, as it is after a change, is pinned against evidence."""


@dataclass(frozen=True)
class SkillState:
    """A skill of an agent; `on` is true if it is enabled, or live for an acquired one."""

    skill: StandardSkill | AcquiredSkill
    on: bool


@dataclass(frozen=True)
class SkillOwner:
    """An owner's access to one agent's skills.

    After a conflict a change is repeated on what is stored; a retired agent cannot be changed.
    """

    runtime: Runtime
    agent_id: str
    owner: str = ""

    @cached_property
    def _holdouts(self) -> SkillHoldouts | None:
        return load_skill_holdouts(self.runtime.home.facts, self.agent_id)

    def withheld_percent(self, name: str) -> int:
        """Return the percentage of fitting turns from which a skill on trial is withheld."""
        return withheld_percent(self._holdouts, name, self.runtime.rules.trials.skill_percent)

    def all(self) -> tuple[SkillState, ...]:
        """Return every skill: standard ones first, then acquired ones, each kind by name."""
        mind = self._mind()[1]
        standard = tuple(self._standing(each, mind) for each in self.runtime.skills.all())
        learned_ones = (skill for _, skill in self._page() if not self._is_shipped(skill.name))
        return (*standard, *map(_acquired_skill_entry, learned_ones))

    def get(self, name: str) -> SkillState:
        """Return one skill; raise NotFound."""
        mind = self._mind()[1]
        standard = self.runtime.skills.find(name)
        if standard is not None:
            return self._standing(standard, mind)
        found = self._stored(name)
        if found is None:
            raise no_learned_skill_error(name)
        return _acquired_skill_entry(found[1])

    def put(
        self,
        what: SkillLesson,
        *,
        trial: bool = False,
        version: int | None = None,
        only_new: bool = False,
    ) -> SkillState:
        """Create or replace a skill; it needs no approval, since an owner wrote it.

        With `trial` it is withheld from a share of the turns that it fits, to measure its effect.
        """
        self._require_free(what.name)

        def write(stored: AcquiredSkill | None) -> AcquiredSkill:
            if stored is not None and only_new:
                raise Conflict(
                    f"there is a skill {what.name!r}", field="name", cure="replace it with PUT"
                )
            teaching = SkillTeaching(
                source_type=SourceType.FEEDBACK, taught_by=self.owner, vouched=True
            )
            skill = teach_learned_skill(stored, what, teaching, self.runtime.clock.now())
            return learned_skill_of_owner(skill, self.owner, trial=trial)

        before = self._stored(what.name)
        put = self._change(what.name, write, version)
        self._write_file(what, before[1] if before else None)
        return put

    def retire(self, name: str) -> SkillState:
        """Archive a skill; only an owner can restore it."""
        self._require_acquired(name, "it can only be switched off")
        now = self.runtime.clock.now()
        return self._change(
            name,
            lambda stored: retire_learned_skill(
                _require_skill(stored, name), now, owner=self.owner
            ),
            pin=lambda _skill: False,
        )

    def restore(self, name: str) -> SkillState:
        """Restore an archived skill on trial, or into quarantine if nobody approved it."""
        self._require_acquired(name, "it cannot be retired")
        now = self.runtime.clock.now()
        return self._change(
            name,
            lambda stored: restore_learned_skill(
                _require_skill(stored, name), now, owner=self.owner
            ),
        )

    def approve(self, name: str, *, version: int | None = None) -> SkillState:
        """Approve a quarantined skill at this version."""
        self._require_acquired(name, "it needs no approval")
        now = self.runtime.clock.now()
        return self._change(
            name,
            lambda stored: approve_learned_skill(_require_skill(stored, name), self.owner, now),
            version,
        )

    def toggle(self, name: str, *, on: bool | None = None) -> SkillState:
        """Switch a skill on or off, or over if `on` is None; one switched on is pinned, untried."""
        standard = self.runtime.skills.find(name)
        if standard is not None:
            return self._switch(standard, on)
        now = self.runtime.clock.now()
        return self._change(
            name,
            lambda stored: toggle_learned_skill(_require_skill(stored, name), now, on=on),
            pin=lambda skill: skill.status.is_live,
        )

    def _change(
        self, name: str, change: Change, version: int | None = None, *, pin: Pinning | None = None
    ) -> SkillState:
        """Change an acquired skill together with the agent state that lists it."""
        self._require_living()

        def changed() -> tuple[AcquiredSkill, list[Document]]:
            found = self._stored(name)
            stored = found[1] if found else None
            _require_version(name, stored, version)
            skill = change(stored)
            known, mind = self._mind()
            after = mind if pin is None else _set_skill_pin(mind, name, pinned=pin(skill))
            if skill == stored:
                return skill, self._minding(known, mind, after)
            skill = place_learned_skill(skill, after, self.runtime.rules.trials)
            if takes_learned_skill_room(stored, skill):
                others = (each for _, each in self._page() if each.name != name)
                require_learned_skill_room(others, skill)
            fact = found[0].with_body(skill) if found else self._new(SKILL, name, skill)
            return skill, [fact, *self._minding(known, mind, index_learned_skill(after, skill))]

        return _acquired_skill_entry(self._committed(changed))

    def _write_file(self, what: SkillLesson, before: AcquiredSkill | None) -> None:
        """Write the file of a skill; the skill counts, also where its file cannot be written."""
        path, files = learned_skill_file_path(what), self.runtime.home.files
        try:
            files.write(self.agent_id, path, learned_skill_file_text(what).encode(), clean=True)
            if before is not None and (old := learned_skill_file_path(before)) != path:
                files.delete(self.agent_id, old)
        except NotFound:
            pass
        except OpenCrabError as error:
            log.warning(
                "a skill was stored without its file: agent_id=%s, path=%s, error=%s",
                self.agent_id,
                path,
                error.message,
            )

    def _switch(self, standard: StandardSkill, on: bool | None) -> SkillState:  # noqa: FBT001 - three-valued
        self._require_living()

        def changed() -> tuple[AgentState, list[Document]]:
            known, mind = self._mind()
            is_on = is_skill_in_agent_state(standard, mind, self._has_files)
            after = _set_skill_enabled(mind, standard, on=not is_on if on is None else on)
            return after, self._minding(known, mind, after)

        return self._standing(standard, self._committed(changed))

    def _standing(self, skill: StandardSkill, mind: AgentState) -> SkillState:
        return SkillState(skill, is_skill_in_agent_state(skill, mind, self._has_files))

    def _has_files(self, folder: str) -> bool:
        return self.runtime.home.files.has_files(self.agent_id, folder)

    def _committed(self, change: Callable[[], tuple[Changing, list[Document]]]) -> Changing:
        """Commit a change and return its result; recompute it after a conflict."""
        return retry_after_changes(lambda: self._written(*change()))

    def _written(self, outcome: Changing, facts: list[Document]) -> Changing:
        if facts:
            self.runtime.home.facts.commit(*facts)
        return outcome

    def _minding(
        self, known: Document | None, mind: AgentState, after: AgentState
    ) -> list[Document]:
        if after == mind:
            return []
        return [known.with_body(after) if known else self._new(MIND, MIND, after)]

    def _new(self, kind: str, fact_id: str, value: AcquiredSkill | AgentState) -> Document:
        return new_fact(self.agent_id, kind, fact_id, value)

    def _mind(self) -> tuple[Document | None, AgentState]:
        fact = self.runtime.home.facts.get(self.agent_id, MIND, MIND)
        return fact, fact.read(AgentState) if fact else AgentState()

    def _stored(self, name: str) -> tuple[Document, AcquiredSkill] | None:
        fact = self.runtime.home.facts.get(self.agent_id, SKILL, name)
        return None if fact is None else (fact, fact.read(AcquiredSkill))

    def _page(self) -> list[tuple[Document, AcquiredSkill]]:
        page = self.runtime.home.facts.page(self.agent_id, SKILL, limit=SKILLS_KEPT + 1)
        return [(fact, fact.read(AcquiredSkill)) for fact in page]

    def _is_shipped(self, name: str) -> bool:
        return self.runtime.skills.find(name) is not None

    def _require_living(self) -> None:
        if not self.runtime.home.agents.get(self.agent_id).agent.answers:
            raise Conflict(
                f"agent {self.agent_id!r} has retired and cannot be changed",
                cure="create a new agent",
            )

    def _require_free(self, name: str) -> None:
        taken = self.runtime.actions.find(name.replace("-", "_")) is not None
        if taken or self._is_shipped(name):
            raise Refused(
                f"{name!r} is the name of an action or a standard skill",
                field="name",
                cure="choose another name",
            )

    def _require_acquired(self, name: str, why: str) -> None:
        if self._is_shipped(name):
            raise Refused(f"{name!r} is a standard skill: {why}", field="name")


def _acquired_skill_entry(skill: AcquiredSkill) -> SkillState:
    return SkillState(skill, skill.status.is_live)


def _set_skill_pin(mind: AgentState, name: str, *, pinned: bool) -> AgentState:
    subject = LearnedSubject(kind=AdjustmentKind.SKILL, name=name)
    return with_learned_pin(mind, subject) if pinned else without_learned_pin(mind, subject)


def _require_skill(stored: AcquiredSkill | None, name: str) -> AcquiredSkill:
    if stored is None:
        raise no_learned_skill_error(name)
    return stored


def _require_version(name: str, stored: AcquiredSkill | None, version: int | None) -> None:
    now = stored.version if stored else 0
    if version is not None and version != now:
        raise Conflict(
            f"skill {name!r} is at version {now} now",
            field="If-Match",
            cure="load it again and repeat the change",
        )


def _set_skill_enabled(mind: AgentState, skill: StandardSkill, *, on: bool) -> AgentState:
    """Return the agent state with a standard skill on or off; defaults are not stored."""
    disabled = {name for name in mind.disabled if name != skill.name}
    enabled = {name for name in mind.enabled if name != skill.name}
    if on and not skill.by_default:
        enabled.add(skill.name)
    if not on and (skill.by_default or skill.folder):
        disabled.add(skill.name)
    return mind.replaced(disabled=tuple(sorted(disabled)), enabled=tuple(sorted(enabled)))
