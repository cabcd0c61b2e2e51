"""The file that a skill has in the workspace: written with it, and never in its place."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.insight.skill_file import learned_skill_file_text
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.skills.skill import SkillStatus
from opencrab.domain.value import Language
from tests.contract.homes import sqlite
from tests.unit.actions.bench import NOW
from tests.unit.actions.pupil import REGISTRY, TURN, WRITE, Pupil

PATH = "skills/good-questions/SKILL.md"


@pytest.fixture
def mika(tmp_path: Path) -> Iterator[Pupil]:
    """Mika, who has learned nothing yet."""
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        yield Pupil(home)


def content(mika: Pupil, path: str = PATH) -> str:
    return mika.home.files.read("mika", path)[1].decode()


@pytest.mark.parametrize(
    ("name", "path"), [("Good Questions", PATH), ("効果的な質問", "skills/効果的な質問/SKILL.md")]
)
def test_making_a_skill_writes_its_file(mika: Pupil, name: str, path: str) -> None:
    result = mika.do("create_my_skill", **WRITE | {"name": name, "actions": ["send_speech"]})
    assert result.data is not None
    assert result.data["file"] == path
    skill = mika.skill(result.data["skill_name"])
    assert content(mika, path) == learned_skill_file_text(skill)
    assert "「なぜ」と尋ねる。\n\nActions: send_speech" in content(mika, path)
    assert mika.home.files.read("mika", path)[0].clean


def test_a_lesson_with_a_name_writes_the_file_too_and_one_without_none(mika: Pupil) -> None:
    lived = {"experience": "x", "outcome": "success", "lesson": "なぜと尋ねる"}
    assert mika.do("learn_from_experience", **lived).success
    assert mika.home.files.list("mika") == ()
    assert mika.do("learn_from_experience", **lived, skill_name="good-questions").success
    assert content(mika) == learned_skill_file_text(mika.skill())


def test_what_untrusted_words_taught_is_no_clean_file(mika: Pupil) -> None:
    mika.turn = TURN.replaced(taint=True)
    mika.do("create_my_skill", **WRITE)
    assert mika.skill().status is SkillStatus.QUARANTINED
    assert not mika.home.files.read("mika", PATH)[0].clean


@pytest.mark.parametrize(
    ("language", "words"),
    [(Language.EN, "has other words"), (Language.JA, "の内容は異なります")],
)
def test_an_edited_file_changes_nothing_until_it_is_made_the_skill(
    mika: Pupil, language: Language, words: str
) -> None:
    mika.language, mika.trials = language, TrialSettings(skill_percent=0)
    mika.do("create_my_skill", **WRITE)
    read = mika.do("use_skill", name="good-questions").data
    assert read == {"name": "good-questions", "text": "「なぜ」と尋ねる。"}
    mika.home.files.write("mika", PATH, b"Ask how.")
    read = mika.do("use_skill", name="good-questions").data
    assert read is not None
    assert read["text"] == "「なぜ」と尋ねる。"
    assert words in read["note"]
    mika.do("create_my_skill", **WRITE | {"guidance": "Ask how."})
    assert content(mika) == learned_skill_file_text(mika.skill())
    versions = mika.home.files.versions("mika", PATH)
    assert any(
        mika.home.files.read_version("mika", PATH, each.version) == b"Ask how." for each in versions
    )


@pytest.mark.parametrize(
    ("language", "words"), [(Language.EN, "not written: "), (Language.JA, "書けませんでした: ")]
)
def test_a_skill_is_stored_also_where_its_file_cannot_be(
    mika: Pupil, language: Language, words: str
) -> None:
    mika.language = language
    mika.home.files.write("mika", "skills/good-questions", b"in the way")
    result = mika.do("create_my_skill", **WRITE)
    assert result.success
    assert result.data is not None
    assert result.data["file"].startswith(words)
    assert mika.skill().guidance == "「なぜ」と尋ねる。"


def test_a_retry_after_a_crash_finds_the_file_and_stores_the_skill(mika: Pupil) -> None:
    action = REGISTRY.find("create_my_skill")
    assert action is not None
    assert action.prepare is not None
    given, context = action.arguments.model_validate(WRITE), mika.context()
    context = replace(context, prepared=action.prepare(given, context))
    assert action.run(given, context).success
    result = action.run(given, context)
    assert (result.data or {})["file"] == PATH
    mika.home.facts.commit(*result.facts)
    assert mika.skill().version == 1
    assert content(mika) == learned_skill_file_text(mika.skill())


def test_an_edit_during_the_call_is_kept(mika: Pupil) -> None:
    action = REGISTRY.find("create_my_skill")
    assert action is not None
    assert action.prepare is not None
    given, context = action.arguments.model_validate(WRITE), mika.context()
    context = replace(context, prepared=action.prepare(given, context))
    mika.home.files.write("mika", PATH, b"Ask how.")
    result = action.run(given, context)
    assert "書けませんでした" in (result.data or {})["file"]
    assert content(mika) == "Ask how."
