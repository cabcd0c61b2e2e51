"""Learning from experience, from peers and from reflection, and the skills made of lessons.

A skill is on trial at once only if the turn may vouch for it; else it is quarantined until an owner
approves it.
"""

import hashlib
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.actions.skills.file import note_of_skill_file, skill_file_condition
from opencrab.actions.skills.text import skill_not_created_note, skill_withheld_error
from opencrab.actions.skills.writes import (
    move_skill,
    own_skill,
    readable_skill,
    require_skill_authority,
    store_skill,
)
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent_state import is_skill_in_agent_state
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, NoRoom, Refused, TooLarge
from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.signals import draw_learned_skill_holdouts
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.skills.lifecycle import (
    SkillLesson,
    SkillTeaching,
    guidance_naming_actions,
    learned_skill_name,
    no_learned_skill_error,
    restore_learned_skill,
    retire_learned_skill,
    skill_lesson,
)
from opencrab.domain.skills.skill import SourceType
from opencrab.domain.text.plain import clean_text, text_on_one_line
from opencrab.domain.turn.action import ActionResult, Effect, SkillUsed
from opencrab.domain.value import Text, Value
from opencrab.ports.skills import load_skill_holdouts
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext

ARGUMENT_BYTES = 20 * 1024
_SENTENCE = 2_000
_PERSON = 100
_MODEL = 200

group = Group("learning")


class LearnFromExperience(Value):
    experience: Text = Field(description="What happened")
    outcome: Literal["success", "failure", "partial"]
    lesson: Text
    skill_name: Text = Field("", description="To make a skill of it")
    situation_pattern: Text = Field("", description="When the skill fits: words or a|b")
    guidance: Text = Field("", description="What to do then")


class LearnFromPeer(Value):
    peer_name: Text
    observation: Text = Field(description="What the peer did well")
    lesson: Text = Field(description="In your own words")
    skill_name: Text = ""
    situation_pattern: Text = ""
    guidance: Text = ""


class ReflectAndLearn(Value):
    reflection: Text = Field(description="What you see, looking back")
    lesson: Text
    model: Text = Field("", description="If it is about one")
    skill_name: Text = ""
    situation_pattern: Text = ""
    guidance: Text = ""


class CreateMySkill(Value):
    name: Text
    description: Text = Field(description="What it is for and when to use it")
    situation_pattern: Text = Field(description="When it fits: words or a|b")
    guidance: Text = Field(description="What to do, in Markdown")
    actions: tuple[str, ...] = Field((), max_length=20, description="Actions that it uses")


class RetireMySkill(Value):
    name: Text
    reason: Text = ""


class RestoreMySkill(Value):
    name: Text


class UseSkill(Value):
    name: Text


def _skill_of_lesson(
    arguments: LearnFromExperience | LearnFromPeer | ReflectAndLearn,
) -> SkillLesson:
    """Return the skill that a lesson makes of itself; raises Invalid and TooLarge."""
    lesson = _sentence("lesson", arguments.lesson)
    return skill_lesson(
        arguments.skill_name,
        lesson,
        situation_pattern=arguments.situation_pattern,
        guidance=arguments.guidance if arguments.guidance.strip() else lesson,
    )


def _skill_as_made(arguments: CreateMySkill, context: ActionContext) -> SkillLesson:
    """Return the skill that a call makes; raises Invalid and TooLarge."""
    return skill_lesson(
        arguments.name,
        arguments.description,
        situation_pattern=arguments.situation_pattern,
        guidance=guidance_naming_actions(
            arguments.guidance,
            arguments.actions,
            lambda name: context.actions.find(name) is not None,
        ),
    )


def _file_of_lesson(
    arguments: LearnFromExperience | LearnFromPeer | ReflectAndLearn, context: ActionContext
) -> dict[str, Any]:
    if not arguments.skill_name.strip():
        return {}
    return skill_file_condition(_skill_of_lesson(arguments), context)


def _file_as_made(arguments: CreateMySkill, context: ActionContext) -> dict[str, Any]:
    return skill_file_condition(_skill_as_made(arguments, context), context)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    prepare=_file_of_lesson,
    sentences=("Learn from experience: {lesson}", "経験から学ぶ: {lesson}"),
    ja="成功や失敗から学んだことを残します。skill_name を付けるとスキルになります。",
    argument_bytes=ARGUMENT_BYTES,
)
def learn_from_experience(arguments: LearnFromExperience, context: ActionContext) -> ActionResult:
    """Keep what a success or failure taught you; with `skill_name` as a skill."""
    outcome = Outcome(arguments.outcome)
    lived = _experience(context, arguments.experience, arguments.lesson, outcome)
    return _store_experience(arguments, lived, context, SourceType.EXPERIENCE)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    prepare=_file_of_lesson,
    sentences=("Learn from {peer_name}: {lesson}", "{peer_name}から学ぶ: {lesson}"),
    ja="他のエージェントのよいやり方を残します。スキルはオーナーの承認後に使えます。",
    for_peers=True,
    argument_bytes=ARGUMENT_BYTES,
)
def learn_from_peer(arguments: LearnFromPeer, context: ActionContext) -> ActionResult:
    """Keep what another agent does well; a skill of it waits for the owner's approval."""
    peer = text_on_one_line(arguments.peer_name)[:_PERSON]
    lived = _experience(
        context, arguments.observation, arguments.lesson, Outcome.SUCCESS, person=peer
    )
    return _store_experience(arguments, lived, context, SourceType.PEER)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    prepare=_file_of_lesson,
    sentences=("Reflect: {lesson}", "振り返って学ぶ: {lesson}"),
    ja="過去を振り返って気づいたことを残します。skill_name を付けるとスキルになります。",
    argument_bytes=ARGUMENT_BYTES,
)
def reflect_and_learn(arguments: ReflectAndLearn, context: ActionContext) -> ActionResult:
    """Keep what you see when you look back; with `skill_name` as a skill."""
    lived = _experience(context, arguments.reflection, arguments.lesson, Outcome.PARTIAL)
    lived = lived.replaced(model=text_on_one_line(arguments.model)[:_MODEL])
    return _store_experience(arguments, lived, context, SourceType.REFLECTION)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    prepare=_file_as_made,
    sentences=("Make a skill: {name}", "スキル「{name}」を作る"),
    ja="学んだやり方をスキルにします。同じ名前のスキルは置き換わります。",
    argument_bytes=ARGUMENT_BYTES,
)
def create_my_skill(arguments: CreateMySkill, context: ActionContext) -> ActionResult:
    """Make a skill of something you know how to do, or replace your skill of that name."""
    what = _skill_as_made(arguments, context)
    return store_skill(what, context, _teaching(context, SourceType.REFLECTION), arguments.name)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Retire the skill {name}", "スキル「{name}」を使うのをやめる"),
    ja="役に立たない自作スキルをやめます。restore_my_skill で戻せます。",
)
def retire_my_skill(arguments: RetireMySkill, context: ActionContext) -> ActionResult:
    """Retire a skill that you learned; restore_my_skill brings it back."""
    fact, skill = own_skill(arguments.name, context)
    require_skill_authority(context)
    return move_skill(fact, skill, retire_learned_skill(skill, context.clock.now()), context)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Restore the skill {name}", "スキル「{name}」を再び使う"),
    ja="やめた自作スキルを戻します。",
)
def restore_my_skill(arguments: RestoreMySkill, context: ActionContext) -> ActionResult:
    """Bring back a skill that you retired."""
    fact, skill = own_skill(arguments.name, context)
    require_skill_authority(context)
    return move_skill(fact, skill, restore_learned_skill(skill, context.clock.now()), context)


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Read the skill {name}", "スキル「{name}」を読む"),
    ja="スキルの本文を読みます。",
    result_bytes=PAGED_BYTES,
)
def use_skill(arguments: UseSkill, context: ActionContext) -> ActionResult:
    """Read the text of one of your skills."""
    name = learned_skill_name(arguments.name)
    standard = context.reach.skills.find(name)
    if standard is not None:
        if not is_skill_in_agent_state(
            standard, context.mind, lambda folder: _has_files(context, folder)
        ):
            raise no_learned_skill_error(name)
        text = standard.text(context.agent.language)
        return ActionResult.ok(SkillUsed(name=name), name=name, text=text)
    skill = readable_skill(name, context)
    if skill is None:
        raise no_learned_skill_error(name)
    if name in draw_learned_skill_holdouts(
        context.mind,
        load_skill_holdouts(context.reach.facts, context.agent.id),
        context.turn.id,
        context.task_type,
        context.trials.skill_percent,
    ):
        why, cure = skill_withheld_error(name, context.agent.language)
        raise Refused(why, field="name", cure=cure)
    differs = note_of_skill_file(skill, context)
    result = ActionResult.ok(SkillUsed(name=name), name=name, text=skill.guidance, **differs)
    return result.replaced(taint=skill.tainted)


def _experience(
    context: ActionContext, happened: str, taught: str, outcome: Outcome, *, person: str = ""
) -> Experience:
    now = context.clock.now()
    return Experience(
        id=_place_in_time(now, context.key),
        experience=_sentence("experience", happened),
        outcome=outcome,
        lesson=_sentence("lesson", taught),
        about_turn=context.turn.id,
        from_person=person,
        tainted=context.turn.taint or bool(person) or not may_vouch_for_learned_skill(context.turn),
        turn_id=context.turn.id,
        session_id=context.session.id,
        person_id=context.turn.principal_id,
        at=now,
    )


def _store_experience(
    arguments: LearnFromExperience | LearnFromPeer | ReflectAndLearn,
    lived: Experience,
    context: ActionContext,
    source: SourceType,
) -> ActionResult:
    """Return a result that stores an experience, and a skill if it is named and has room."""
    fact = new_fact(context.agent.id, EXPERIENCE, lived.id, lived)
    if not arguments.skill_name.strip():
        if arguments.guidance.strip():
            raise Invalid(
                "guidance needs a skill_name", field="skill_name", cure="give skill_name too"
            )
        return ActionResult.ok(experience_id=lived.id).keeping(fact)
    what, teaching = _skill_of_lesson(arguments), _teaching(context, source, about=lived)
    try:
        result = store_skill(what, context, teaching, arguments.skill_name)
    except NoRoom as full:
        why = f"{full.message}: {full.cure}"
        note = skill_not_created_note(why, context.agent.language)
        return ActionResult.ok(experience_id=lived.id, note=note).keeping(fact)
    data = {"experience_id": lived.id, **(result.data or {})}
    return result.replaced(data=data).keeping(fact)


def _teaching(
    context: ActionContext, source: SourceType, *, about: Experience | None = None
) -> SkillTeaching:
    turn = context.turn
    return SkillTeaching(
        source_type=source,
        source_context=about.experience if about else "",
        taught_by=(about.from_person if about else "") or turn.principal_id,
        turn_id=turn.id,
        vouched=may_vouch_for_learned_skill(turn) and source is not SourceType.PEER,
    )


def _sentence(field: str, text: str) -> str:
    shown = clean_text(text)
    if not shown:
        raise Invalid(f"{field} is blank", field=field, cure="write text")
    if len(shown) > _SENTENCE:
        raise TooLarge(
            f"{field} has {len(shown)} characters, at most {_SENTENCE} are allowed",
            field=field,
            cure="say it shorter",
        )
    return shown


def _place_in_time(now: datetime, key: str) -> str:
    """Return a ULID derived from the time and the call's key: sortable, and equal on a retry."""
    return new_ulid(int(now.timestamp() * 1_000), hashlib.sha256(key.encode()).digest())


def _has_files(context: ActionContext, folder: str) -> bool:
    return context.reach.files.has_files(context.agent.id, folder)
