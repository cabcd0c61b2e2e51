"""The shipped skills: whole, short, in both languages, and true about the actions."""

import re
import tomllib
from pathlib import Path

import pytest

from opencrab.actions import GROUPS
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.skills.skill import StandardSkill
from opencrab.domain.value import Language
from tests.conftest import ROOT

FOLDER = ROOT / "skills"
SHIPPED = FileSkills(FOLDER).all()
NAMES = {
    "autonomous",
    "knowledge-vault",
    "llm-meta-analysis",
    "llm-selection",
    "self-learning",
    "task-execution",
    "workspace-management",
}
DEFAULT = {"llm-selection", "self-learning", "task-execution", "workspace-management"}
ACTIONS = {action.name: action for group in GROUPS for action in group.actions}
TEXT_BYTES = 3 * 1024
CALL = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
"""What looks like the name of an action in a text."""

every_skill = pytest.mark.parametrize("skill", SHIPPED, ids=lambda skill: skill.name)


def allowed(skill: StandardSkill) -> set[str]:
    """The actions that its front matter allows."""
    text = (FOLDER / skill.name / "SKILL.md").read_text(encoding="utf-8")
    found = re.search(r"^allowed-tools: (.+)$", text, re.M)
    assert found is not None
    return set(found[1].split())


def arguments() -> set[str]:
    """The names of all arguments, and of their values, that may stand in backticks too."""
    schemas = [str(action.schema(Language.EN).parameters) for action in ACTIONS.values()]
    return set(re.findall(r"'([a-z]+(?:_[a-z]+)+)'", "".join(schemas)))


def test_exactly_these_skills_are_shipped() -> None:
    assert {skill.name for skill in SHIPPED} == NAMES
    assert {skill.name for skill in SHIPPED if skill.by_default} == DEFAULT
    assert {path.name for path in FOLDER.iterdir()} == NAMES


@every_skill
def test_every_action_of_a_skill_exists(skill: StandardSkill) -> None:
    assert not {*skill.actions, *allowed(skill)} - set(ACTIONS)
    assert set(skill.actions) <= allowed(skill)
    assert "use_skill" in skill.actions, "who is told of skills must be able to read them"


@every_skill
@pytest.mark.parametrize("language", Language)
def test_a_text_names_only_what_there_is_and_what_it_allows(
    skill: StandardSkill, language: Language
) -> None:
    named = set(CALL.findall(skill.guidance[language]))
    assert not named - set(ACTIONS) - arguments()
    assert not named & set(ACTIONS) - allowed(skill)


@every_skill
def test_a_skill_is_short_and_in_both_languages(skill: StandardSkill) -> None:
    assert set(skill.guidance) == set(skill.descriptions) == set(Language)
    for language in Language:
        assert 500 < len(skill.guidance[language].encode()) <= TEXT_BYTES
        assert len(skill.descriptions[language].encode()) <= 200
    assert re.search("[ぁ-ゖ]", skill.guidance[Language.JA])
    assert not re.search("[ぁ-ゖ]", skill.guidance[Language.EN])
    assert skill.situation_pattern.isascii() is False


@every_skill
def test_both_languages_speak_of_the_same_actions(skill: StandardSkill) -> None:
    english, japanese = (
        set(CALL.findall(skill.guidance[language])) & set(ACTIONS)
        for language in (Language.EN, Language.JA)
    )
    assert english == japanese


def test_skills_travel_with_the_package_as_the_configuration_does() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {"config": "opencrab/config", "skills": "opencrab/skills"}
    makefile = (ROOT / "layers" / "opencrab" / "Makefile").read_text(encoding="utf-8")
    for name in included:
        assert f'../../{name} "$(ARTIFACTS_DIR)/{name}"' in makefile
        assert Path(ROOT / name).is_dir()
