"""Skills read from a folder, in both forms, and what is refused with its file and line."""

from pathlib import Path

import pytest

from opencrab import settings
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language

WHOLE = """---
# who reads this
name: notes
description: "Keep: notes" # for others
license: 'Apache''s'
allowed-tools: ws_read ws_write
metadata:
  version: "3"
  actions: "ws_read, ws_list"
  situation_pattern: メモ|note
  description-ja: メモを残す
  default: "true"
---

# Notes

Write them down.
"""
OLDER = """---
name: questions
description: "質問のスキル"
version: 2
actions:
  - send_speech
  - "send_noreact"  # silence
situation_pattern: 議論
---
「なぜ」と尋ねる。
"""


def folder(root: Path, text: str, name: str = "notes", japanese: str = "") -> FileSkills:
    """A folder with one skill."""
    place = root / name
    place.mkdir()
    (place / "SKILL.md").write_text(text, encoding="utf-8")
    if japanese:
        (place / "SKILL.ja.md").write_text(japanese, encoding="utf-8")
    return FileSkills(root)


def test_a_folder_is_a_skill_in_both_languages(tmp_path: Path) -> None:
    (skill,) = folder(tmp_path, WHOLE, japanese="# メモ\n\n書き残す。\n").all()
    assert (skill.name, skill.version, skill.by_default) == ("notes", "3", True)
    assert skill.actions == ("ws_read", "ws_list")
    assert skill.situation_pattern == "メモ|note"
    assert skill.description(Language.EN) == "Keep: notes"
    assert skill.description(Language.JA) == "メモを残す"
    assert skill.text(Language.EN) == "# Notes\n\nWrite them down."
    assert skill.text(Language.JA) == "# メモ\n\n書き残す。"


def test_a_skill_of_another_maker_needs_no_metadata(tmp_path: Path) -> None:
    text = "---\r\nname: notes\r\ndescription: Plain\r\nallowed-tools: a b\r\n---\r\nDo.\r\n"
    (skill,) = folder(tmp_path, text).all()
    assert (skill.actions, skill.version, skill.by_default) == (("a", "b"), "1", False)
    assert skill.text(Language.JA) == "Do."


def test_the_older_form_is_a_file_with_version_and_actions(tmp_path: Path) -> None:
    (tmp_path / "questions.skill.md").write_text(OLDER, encoding="utf-8")
    (tmp_path / "README.md").write_text("no skill", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    skills = FileSkills(tmp_path)
    skill = skills.find("questions")
    assert skill is not None
    assert skills.all() == (skill,)
    assert (skill.version, skill.actions) == ("2", ("send_speech", "send_noreact"))
    assert skill.guidance == {Language.JA: "「なぜ」と尋ねる。"}
    assert skill.text(Language.EN) == "「なぜ」と尋ねる。"
    assert (skill.situation_pattern, skills.find("other")) == ("議論", None)


def test_a_list_may_stand_on_one_line(tmp_path: Path) -> None:
    text = "---\nname: q\ndescription: d\nactions: [ws_read, 'ws_list'] # two\n---\nx"
    (tmp_path / "q.skill.md").write_text(text, encoding="utf-8")
    assert FileSkills(tmp_path).all()[0].actions == ("ws_read", "ws_list")


def test_nothing_is_read_before_somebody_asks(tmp_path: Path) -> None:
    skills = FileSkills(tmp_path / "skills")
    (tmp_path / "skills").mkdir()
    folder(tmp_path / "skills", WHOLE)
    assert [skill.name for skill in skills.all()] == ["notes"]
    (tmp_path / "skills" / "notes" / "SKILL.md").unlink()
    assert skills.find("notes") is not None
    assert FileSkills(tmp_path / "nowhere").all() == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ("---\n# who", "# who", 1, "no front matter"),
        ("---\n\n# Notes", "\n# Notes", 17, "does not end"),
        ("name: notes\n", "", 1, "'name' is missing"),
        ("name: notes", "name: other", 3, "differs from the folder name"),
        ('description: "Keep: notes" # for others', "description: Keep: notes", 4, "colon"),
        ('"Keep: notes" # for others', '"Keep: notes', 4, "does not end on its line"),
        ('"Keep: notes" # for others', '"Keep" notes', 4, "closing quote"),
        ('"Keep: notes" # for others', "|", 4, "begin with '|'"),
        ('"Keep: notes" # for others', "", 4, "not a string"),
        ("license:", "licence:", 5, "is not a known key"),
        ("license:", "name:", 5, "is given twice"),
        ("license: 'Apache''s'", "  - item", 5, "has no key"),
        ("license: 'Apache''s'", "  deep: x", 5, "has no parent key"),
        ("license: 'Apache''s'", "just words", 5, "not `key: value`"),
        ("license:", "\tlicense:", 5, "a tab"),
        ("metadata:", "metadata: words", 8, "has no parent key"),
        ('  version: "3"', "  version:", 8, "has no value"),
        ('default: "true"', "default: yes", 12, "'default' is neither true nor false, but 'yes'"),
        ("\n# Notes\n\nWrite them down.\n", "", 13, "no text below"),
        ('"Keep: notes" # for others', "x" * 1_025, 3, "descriptions"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, why: str
) -> None:
    assert old in WHOLE
    with pytest.raises(Invalid) as refused:
        folder(tmp_path, WHOLE.replace(old, new, 1)).all()
    assert refused.value.message.startswith(f"{tmp_path / 'notes' / 'SKILL.md'}:{line}: ")
    assert why in refused.value.message
    assert refused.value.cure


def test_metadata_that_is_a_list_is_no_map(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="'metadata' is not a map"):
        folder(tmp_path, "---\nname: notes\ndescription: d\nmetadata:\n  - x\n---\nx").all()


def test_actions_of_the_older_form_are_a_list(tmp_path: Path) -> None:
    text = "---\nname: q\ndescription: d\nactions: ws_read\n---\nx"
    (tmp_path / "q.skill.md").write_text(text, encoding="utf-8")
    with pytest.raises(Invalid, match="'actions' is not a list"):
        FileSkills(tmp_path).all()


def test_two_skills_of_one_name_and_files_that_are_none_are_refused(tmp_path: Path) -> None:
    skills = folder(tmp_path, WHOLE)
    twin = tmp_path / "notes.skill.md"
    twin.write_text("---\nname: notes\ndescription: d\n---\nx", encoding="utf-8")
    with pytest.raises(Invalid, match="there are two skills 'notes'"):
        skills.all()
    twin.write_bytes(b"---\nname: \xff")
    with pytest.raises(Invalid, match="cannot be read"):
        FileSkills(tmp_path).all()
    twin.write_text(f"---\nname: notes\n---\n{'x' * 70_000}", encoding="utf-8")
    with pytest.raises(Invalid, match="at most 65536 are read"):
        FileSkills(tmp_path).all()


def test_the_shipped_skills_are_found_where_the_configuration_is() -> None:
    assert len(FileSkills(settings.skills_folder_setting()).all()) == 7
