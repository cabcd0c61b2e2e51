"""The file of a skill that an agent makes: written beside the stored skill, which counts."""

from typing import Any

from opencrab.actions.skills.text import skill_file_differs_note, skill_file_not_written_note
from opencrab.actions.workspace.provenance import writes_untainted_workspace_file
from opencrab.domain.errors import Invalid, OpenCrabError, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.insight.skill_file import learned_skill_file_path, learned_skill_file_text
from opencrab.domain.skills.lifecycle import SkillLesson
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.domain.turn.action import ActionResult, FileWritten
from opencrab.ports.turn.action import ActionContext
from opencrab.ports.workspace.files import ABSENT, FileInfo


def skill_file_condition(skill: SkillLesson, context: ActionContext) -> dict[str, Any]:
    """Return the version of a skill's file before the call, so that a retry does no harm."""
    stored = _file_info(learned_skill_file_path(skill), context)
    return {"condition": stored.version if stored else ABSENT}


def write_skill_file(
    result: ActionResult, skill: AcquiredSkill, context: ActionContext
) -> ActionResult:
    """Write the file of a skill that a result stores, and name it there.

    The skill is stored also where its file cannot be written; then the result says why.
    """
    path, text = learned_skill_file_path(skill), learned_skill_file_text(skill)
    try:
        info = context.reach.files.write(
            context.agent.id,
            path,
            text.encode(),
            condition=context.prepared["condition"],
            clean=writes_untainted_workspace_file(context, own_words=not skill.tainted),
        )
    except Unavailable:
        raise
    except OpenCrabError as error:
        note = skill_file_not_written_note(error.message, context.agent.language)
        return result.replaced(data={**(result.data or {}), "file": note})
    effect = FileWritten(path=info.path, sha256=info.sha256, size=info.size)
    return result.replaced(
        data={**(result.data or {}), "file": info.path},
        side_effects=(*result.side_effects, effect),
    )


def note_of_skill_file(skill: AcquiredSkill, context: ActionContext) -> dict[str, str]:
    """Return a note for the model if a skill's file has other words than the skill; else none."""
    path = learned_skill_file_path(skill)
    info = _file_info(path, context)
    if info is None or info.sha256 == content_hash(learned_skill_file_text(skill).encode()):
        return {}
    return {"note": skill_file_differs_note(path, context.agent.language)}


def _file_info(path: str, context: ActionContext) -> FileInfo | None:
    """Return the file under a path; None also where another file is in the way of its folder."""
    try:
        return context.reach.files.info(context.agent.id, path)
    except Invalid:
        return None
