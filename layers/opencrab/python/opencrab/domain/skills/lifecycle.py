"""Lifecycle: what may become an acquired skill, on whose word it counts, and where it goes."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import datetime

from opencrab.domain.errors import Conflict, Invalid, NoRoom, NotFound, Refused, TooLarge
from opencrab.domain.skills.skill import (
    ACQUIRED_SKILLS,
    BY_EVIDENCE,
    GUIDANCE_BYTES,
    QUARANTINED_SKILLS,
    SKILLS_KEPT,
    AcquiredSkill,
    Effectiveness,
    SkillStatus,
    SourceType,
)
from opencrab.domain.text.plain import clean_text, text_on_one_line
from opencrab.domain.value import Value

NAME_CHARACTERS = 64
DESCRIPTION_CHARACTERS = 1_024
PATTERN_CHARACTERS = 500

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_BETWEEN = re.compile(r"[\s_-]+")


class SkillLesson(Value):
    """The text of a skill, in visible characters and within all limits."""

    name: str
    description: str
    situation_pattern: str
    guidance: str


class SkillTeaching(Value):
    """The source of a skill; `vouched` if this source alone makes the skill trusted."""

    source_type: SourceType
    source_context: str = ""
    taught_by: str
    turn_id: str = ""
    vouched: bool = False


def learned_skill_name(given: str) -> str:
    """Return the name under which a skill is stored: lower case, words joined by hyphens.

    A name that the Agent Skills specification does not allow is replaced by a stable one. Raises
    Invalid for a blank name.
    """
    shown = unicodedata.normalize("NFKC", text_on_one_line(given)).casefold()
    if not shown:
        raise Invalid(
            "the skill has no name", field="name", cure="give it one, like good-questions"
        )
    name = _hyphenate_name(shown)
    return name if _fits(name) else f"skill-{hashlib.sha256(shown.encode()).hexdigest()[:8]}"


def is_learned_skill_named(given: str) -> bool:
    """Check whether a skill keeps its given name, up to case and hyphens."""
    return _fits(_hyphenate_name(unicodedata.normalize("NFKC", text_on_one_line(given)).casefold()))


def skill_lesson(
    given_name: str, description: str, *, situation_pattern: str = "", guidance: str
) -> SkillLesson:
    """Return a skill's text as it is stored; a name that was replaced begins its description.

    Raises Invalid for a blank text and TooLarge for one beyond its limit.
    """
    name, told, guidance = (
        learned_skill_name(given_name),
        text_on_one_line(description),
        clean_text(guidance),
    )
    if told and not is_learned_skill_named(given_name):
        told = f"{text_on_one_line(given_name)}: {told}"
    for field, text in (("description", told), ("guidance", guidance)):
        if not text:
            raise Invalid(f"{field} is blank", field=field, cure="use visible characters")
    size = len(guidance.encode())
    if size > GUIDANCE_BYTES:
        raise TooLarge(
            f"guidance has {size} bytes, at most {GUIDANCE_BYTES} are allowed",
            field="guidance",
            cure="shorten it, or split it into two skills",
        )
    pattern = text_on_one_line(situation_pattern)
    _require_length("description", told, DESCRIPTION_CHARACTERS)
    _require_length("situation_pattern", pattern, PATTERN_CHARACTERS)
    return SkillLesson(name=name, description=told, situation_pattern=pattern, guidance=guidance)


def guidance_naming_actions(
    guidance: str, actions: Iterable[str], is_action: Callable[[str], bool]
) -> str:
    """Return the guidance with the actions that it uses at its end.

    Raises Invalid for an action that does not exist.
    """
    names = tuple(actions)
    unknown = next((name for name in names if not is_action(name)), None)
    if unknown is not None:
        raise Invalid(
            f"there is no action {unknown!r}", field="actions", cure="see the list of actions"
        )
    if not names or not guidance.strip():
        return guidance
    return f"{clean_text(guidance)}\n\nActions: {', '.join(names)}"


def teach_learned_skill(
    stored: AcquiredSkill | None, what: SkillLesson, teaching: SkillTeaching, now: datetime
) -> AcquiredSkill:
    """Return a skill after it was taught, replacing the stored one of that name.

    A skill that is not vouched for waits in quarantine, and never replaces trusted text: that
    raises Refused. All others are candidates, as new text was never measured: `place_learned_skill`
    decides whether there is room for a trial. A skill that was switched off stays off; one that an
    owner archived needs an owner's approval.
    """
    if stored is not None and not stored.tainted and not teaching.vouched:
        raise Refused(
            f"skill {stored.name!r} is {stored.status}; a skill learned from untrusted text "
            "may not change it",
            field="name",
            cure="use another name; the owner decides whether to approve it",
        )
    status = _status(stored, vouched=teaching.vouched)
    fresh = AcquiredSkill(
        **dict(what),
        status=status,
        source_type=teaching.source_type,
        source_context=text_on_one_line(teaching.source_context)[:1_000],
        taught_by=text_on_one_line(teaching.taught_by)[:100],
        turn_id=teaching.turn_id,
        tainted=status is SkillStatus.QUARANTINED,
        worded_at=now,
        created_at=now,
        updated_at=now,
    )
    if stored is None:
        return fresh
    return fresh.replaced(
        version=stored.version + 1,
        usage_count=stored.usage_count,
        last_used_at=stored.last_used_at,
        created_at=stored.created_at,
    )


def learned_skill_of_owner(
    skill: AcquiredSkill, owner: str, *, trial: bool = False
) -> AcquiredSkill:
    """Return a skill that an owner wrote: active, a candidate if it is to be tried first.

    One that is switched off stays so.
    """
    status = SkillStatus.CANDIDATE if trial else SkillStatus.ACTIVE
    if skill.status is SkillStatus.DISABLED:
        status = SkillStatus.DISABLED
    return skill.replaced(status=status, tainted=False, approved_by=owner)


def approve_learned_skill(skill: AcquiredSkill, owner: str, now: datetime) -> AcquiredSkill:
    """Return a quarantined skill as a candidate after an owner approved it.

    Raises Conflict if it is not in quarantine.
    """
    if skill.status is not SkillStatus.QUARANTINED:
        raise _conflict(skill, "no approval is pending", "reload the skill")
    return _set_status(skill, SkillStatus.CANDIDATE, now).replaced(tainted=False, approved_by=owner)


def toggle_learned_skill(
    skill: AcquiredSkill, now: datetime, *, on: bool | None = None
) -> AcquiredSkill:
    """Return a skill switched on without a trial, or off; with `on` None to the opposite.

    Raises Conflict if it is neither live nor disabled.
    """
    if not (skill.status.is_live or skill.status is SkillStatus.DISABLED):
        cure = "approve it" if skill.status is SkillStatus.QUARANTINED else "restore it first"
        raise _conflict(skill, "it cannot be enabled or disabled", cure)
    wanted = skill.status is SkillStatus.DISABLED if on is None else on
    status = SkillStatus.ACTIVE if wanted else SkillStatus.DISABLED
    return skill if status is skill.status and not skill.waits else _set_status(skill, status, now)


def promote_learned_skill(
    skill: AcquiredSkill, now: datetime, effectiveness: Effectiveness | None = None
) -> AcquiredSkill:
    """Return a candidate as an active skill: it helps, or its owner wants it.

    Raises Conflict if the skill is no candidate.
    """
    if skill.status is not SkillStatus.CANDIDATE:
        raise _conflict(skill, "it is not on trial", "reload the skill")
    measured = effectiveness or skill.effectiveness
    return _set_status(skill, SkillStatus.ACTIVE, now).replaced(effectiveness=measured)


def put_skill_on_trial(skill: AcquiredSkill, now: datetime) -> AcquiredSkill:
    """Return a skill that waited for room, or was promoted, as a candidate.

    Raises Conflict if it is neither.
    """
    if not skill.waits and skill.status is not SkillStatus.ACTIVE:
        raise _conflict(skill, "it is neither waiting for a trial nor promoted", "reload the skill")
    return _set_status(skill, SkillStatus.CANDIDATE, now)


def set_learned_skill_aside(skill: AcquiredSkill, now: datetime) -> AcquiredSkill:
    """Return a skill on trial switched off, to wait until there is room again.

    Raises Conflict if it is not on trial.
    """
    if skill.status is not SkillStatus.CANDIDATE:
        raise _conflict(skill, "it is not on trial", "reload the skill")
    return _set_status(skill, SkillStatus.DISABLED, now).replaced(waits=True)


def retire_learned_skill(
    skill: AcquiredSkill,
    now: datetime,
    *,
    owner: str | None = None,
    effectiveness: Effectiveness | None = None,
) -> AcquiredSkill:
    """Return a skill archived; if an owner archived it, only an owner may restore it.

    With BY_EVIDENCE as `owner` it was measured to be useless, and the agent may restore it.
    """
    by_an_owner = owner is not None and owner != BY_EVIDENCE
    if skill.status is SkillStatus.ARCHIVED and (not by_an_owner or _is_owners(skill)):
        return skill
    measured = effectiveness or skill.effectiveness
    gone = _set_status(skill, SkillStatus.ARCHIVED, now)
    return gone.replaced(retired_by=owner, effectiveness=measured)


def restore_learned_skill(
    skill: AcquiredSkill, now: datetime, *, owner: str | None = None
) -> AcquiredSkill:
    """Return an archived skill as a candidate, or in quarantine if it is tainted.

    Its earlier measurement is dropped: otherwise it would be retired for the same reason again.
    Raises Conflict if it is not archived and Refused if an owner archived it.
    """
    if skill.status is not SkillStatus.ARCHIVED:
        raise _conflict(skill, "it is not retired", "reload the skill")
    if owner is None and _is_owners(skill):
        raise Refused(f"skill {skill.name!r} was retired by the owner", cure="ask the owner")
    status = SkillStatus.QUARANTINED if skill.tainted else SkillStatus.CANDIDATE
    found = _set_status(skill, status, now).replaced(retired_by=None, worded_at=now)
    return found.replaced(effectiveness=None)


def require_learned_skill_room(others: Iterable[AcquiredSkill], skill: AcquiredSkill) -> None:
    """Raise NoRoom if the agent's other skills leave no room for one that is added."""
    statuses = [each.status for each in others]
    open_ones = [each for each in statuses if each is not SkillStatus.ARCHIVED]
    waiting = statuses.count(SkillStatus.QUARANTINED)
    if len(open_ones) >= ACQUIRED_SKILLS:
        raise NoRoom(
            f"limit reached: {ACQUIRED_SKILLS} learned skills",
            cure="retire an unused one",
        )
    if skill.status is SkillStatus.QUARANTINED and waiting >= QUARANTINED_SKILLS:
        raise NoRoom(
            f"limit reached: {QUARANTINED_SKILLS} skills waiting for approval",
            cure="wait until the owner has decided on them",
        )
    if len(statuses) >= SKILLS_KEPT:
        raise NoRoom(
            f"limit reached: {SKILLS_KEPT} skills, including retired ones",
            cure="reuse the name of a retired one",
        )


def takes_learned_skill_room(stored: AcquiredSkill | None, skill: AcquiredSkill) -> bool:
    """Check whether a change needs room that the stored skill did not take."""
    if skill.status is SkillStatus.ARCHIVED:
        return False
    return stored is None or stored.status is SkillStatus.ARCHIVED


def no_learned_skill_error(name: str) -> NotFound:
    """Build the NotFound error for a skill of this name."""
    return NotFound(
        f"there is no skill {name!r}", field="name", cure="use the name of an existing skill"
    )


def _hyphenate_name(name: str) -> str:
    return _BETWEEN.sub("-", name).strip("-")


def _fits(name: str) -> bool:
    return len(name) <= NAME_CHARACTERS and _NAME.fullmatch(name) is not None


def _status(stored: AcquiredSkill | None, *, vouched: bool) -> SkillStatus:
    if not vouched:
        return SkillStatus.QUARANTINED
    if stored is None:
        return SkillStatus.CANDIDATE
    if stored.status is SkillStatus.ARCHIVED and _is_owners(stored):
        return SkillStatus.QUARANTINED
    is_off = stored.status is SkillStatus.DISABLED and not stored.waits
    return SkillStatus.DISABLED if is_off else SkillStatus.CANDIDATE


def _is_owners(skill: AcquiredSkill) -> bool:
    """Check whether an owner archived the skill, not the agent itself or the evidence."""
    return skill.retired_by is not None and skill.retired_by != BY_EVIDENCE


def _set_status(skill: AcquiredSkill, status: SkillStatus, now: datetime) -> AcquiredSkill:
    version = skill.version + 1
    return skill.replaced(status=status, waits=False, version=version, updated_at=now)


def _conflict(skill: AcquiredSkill, why: str, cure: str) -> Conflict:
    return Conflict(f"skill {skill.name!r} is {skill.status}: {why}", field="status", cure=cure)


def _require_length(field: str, text: str, most: int) -> None:
    if len(text) > most:
        raise TooLarge(
            f"{field} has {len(text)} characters, at most {most} are allowed",
            field=field,
            cure="shorten it",
        )
