"""The name that a skill was given stays readable, in any language."""

import pytest

from opencrab.domain.insight.skill_title import learned_skill_title
from opencrab.domain.skills.lifecycle import skill_lesson


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("効果的な質問", "効果的な質問"),
        (" 質問: 深める ", "質問: 深める"),
        ("Café ☕", "Café ☕"),
        ("Good Questions", "good-questions"),
        ("skill-building", "skill-building"),
    ],
)
def test_a_skill_is_shown_by_the_name_that_it_was_given(given: str, title: str) -> None:
    lesson = skill_lesson(given, "議論を深める: なぜと尋ねる", guidance="「なぜ」と尋ねる。")
    assert learned_skill_title(lesson.name, lesson.description) == title


@pytest.mark.parametrize("description", ["", "議論を深める", "別の名前: 議論を深める", ": x"])
def test_other_words_do_not_pass_for_its_name(description: str) -> None:
    name = skill_lesson("効果的な質問", "x", guidance="y").name
    assert learned_skill_title(name, description) == name
