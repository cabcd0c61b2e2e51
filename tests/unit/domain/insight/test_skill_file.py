"""The file of a skill: where it lies, and that it can be read as any other SKILL.md."""

from pathlib import Path

import pytest

from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.insight.skill_file import learned_skill_file_path, learned_skill_file_text
from opencrab.domain.skills.lifecycle import skill_lesson
from opencrab.domain.value import Language

HASHED = skill_lesson("a/b", "x", guidance="y").name


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("Good Questions", "skills/good-questions/SKILL.md"),
        ("効果的な質問", "skills/効果的な質問/SKILL.md"),
        ("a/b", f"skills/{HASHED}/SKILL.md"),
        ("../質問", f"skills/{skill_lesson('../質問', 'x', guidance='y').name}/SKILL.md"),
        ("質問?", f"skills/{skill_lesson('質問?', 'x', guidance='y').name}/SKILL.md"),
    ],
)
def test_a_file_lies_under_the_name_that_its_skill_was_given(given: str, path: str) -> None:
    assert learned_skill_file_path(skill_lesson(given, "議論を深める", guidance="x")) == path


@pytest.mark.parametrize("pattern", ["", '会議|"meeting": x'])
def test_a_file_can_be_copied_to_the_standard_skills(tmp_path: Path, pattern: str) -> None:
    what = skill_lesson(
        "Good Questions",
        '質問: "why" # と\\',
        situation_pattern=pattern,
        guidance="# 質問\n\n- なぜ",
    )
    place = tmp_path / what.name / "SKILL.md"
    place.parent.mkdir()
    place.write_text(learned_skill_file_text(what))
    (read,) = FileSkills(tmp_path).all()
    assert read.name == what.name
    assert read.description(Language.EN) == what.description
    assert read.text(Language.JA) == what.guidance
    assert read.situation_pattern == pattern
