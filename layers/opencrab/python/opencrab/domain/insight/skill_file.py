"""The file of a learned skill: where it lies in the workspace, and its text as a SKILL.md.

The stored skill counts. The file repeats its words, so that people and the agent can read them and
propose others; an edit of it changes nothing until the skill is stored again.
"""

import json

from opencrab.domain.insight.skill_title import learned_skill_title
from opencrab.domain.skills.lifecycle import SkillLesson
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.domain.workspace.path import is_workspace_path


def learned_skill_file_path(skill: SkillLesson | AcquiredSkill) -> str:
    """Return the path of a skill's file in the workspace, like `skills/good-questions/SKILL.md`.

    A skill with a Japanese name lies under that name, unless no folder can have it.
    """
    title = learned_skill_title(skill.name, skill.description)
    path = f"skills/{title}/SKILL.md"
    if "/" in title or not is_workspace_path(path):
        path = f"skills/{skill.name}/SKILL.md"
    return path


def learned_skill_file_text(skill: SkillLesson | AcquiredSkill) -> str:
    """Return a skill's words in the Agent Skills format; equal words give equal text."""
    head = [f"name: {skill.name}", f"description: {_quote(skill.description)}"]
    if skill.situation_pattern:
        head += ["metadata:", f"  situation_pattern: {_quote(skill.situation_pattern)}"]
    return "\n".join(("---", *head, "---", "", skill.guidance, ""))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
