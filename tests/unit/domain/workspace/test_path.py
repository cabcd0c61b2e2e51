"""Workspace paths: nothing that passes leaves the workspace, and one file has one path."""

import ntpath
import posixpath
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid
from opencrab.domain.workspace.path import (
    DEPTH,
    PATH_BYTES,
    SEGMENT_BYTES,
    workspace_folder_path,
    workspace_path,
    workspace_path_collision_key,
)
from tests.soak import count, examples

SEEDS, VARIANTS = count("seeds of ten strange paths each"), 10
PLAIN = [
    "a",
    "海",
    "が",
    "か\u3099",
    "a.md",
    "~",
    "nul",
    "COM1",
    "C:",
    "%2e%2e",
    "..;",
    "$HOME",
    "*",
]
HOSTILE = ["..", ".", "/", "//", "\\", " ", "\u3000", "\uff0e\uff0e", "\uff0f", "\x00", "\u202e"]
pieces = st.sampled_from(PLAIN + HOSTILE)
texts = st.lists(pieces | st.text(max_size=3), max_size=6).map("".join)


def variants(text: str) -> list[str]:
    """A text and nine ways to write something like it."""
    around = [text, f"../{text}", f"{text}/..", f"./{text}", f"/{text}", f"{text}/", f"a/{text}"]
    return [*around, text.upper(), unicodedata.normalize("NFKC", text), text.replace("/", "\\")]


def accepted(text: str) -> str | None:
    try:
        return workspace_path(text)
    except Invalid:
        return None


def check_inside(path: str) -> None:
    """On every system the path stays below the folder that it is put in."""
    assert posixpath.normpath(f"/w/{path}") == f"/w/{path}"
    assert not ntpath.isabs(path)
    assert ntpath.splitdrive(path)[0] == ""
    assert ntpath.normpath(f"w\\{path}") == "w\\" + path.replace("/", "\\")
    assert ".." not in path.split("/")
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in path)


@settings(max_examples=SEEDS)
@given(seed=texts)
def test_no_path_of_twenty_thousand_escapes(seed: str) -> None:
    made = variants(seed)
    assert len(made) == VARIANTS
    for text in made:
        path = accepted(text)
        if path is not None:
            check_inside(path)
            assert workspace_path(path) == path
            assert workspace_folder_path(path) == path
            assert workspace_path_collision_key(
                workspace_path_collision_key(path)
            ) == workspace_path_collision_key(path)


@settings(max_examples=examples(300))
@given(seed=texts)
def test_a_folder_is_held_to_the_same_rules_as_a_file(seed: str) -> None:
    for text in variants(seed):
        try:
            folder = workspace_folder_path(text)
        except Invalid:
            assert accepted(text) is None
            continue
        assert workspace_folder_path(folder) == folder
        if folder:
            check_inside(folder)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "./",
        "..",
        "../x",
        "a/../b",
        "a/..",
        "/etc/passwd",
        "a//b",
        "a/",
        "a/./b",
        "~/..",
        ".//a",
    ],
)
def test_a_path_goes_down_from_the_workspace(text: str) -> None:
    with pytest.raises(Invalid):
        workspace_path(text)


@pytest.mark.parametrize(
    "text", ["a\\b", "C:x", "a|b", "what?", "a*", "<a>", 'a"b', "メモ?.md", "..\\..\\x"]
)
def test_a_character_that_means_something_to_some_system_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="contains"):
        workspace_path(text)


@pytest.mark.parametrize(
    "text", ["a\x00b", "a\nb", "a\x1bb", "a\u202eb", "a\u200bb", "\ufeffa", "a\u2028b", "a\ud83e"]
)
def test_an_invisible_character_is_named_and_refused(text: str) -> None:
    with pytest.raises(Invalid, match=r"invisible character U\+[0-9A-F]{4}"):
        workspace_path(text)


@pytest.mark.parametrize(
    "text",
    [
        "nul",
        "CON",
        "aux.txt",
        "a/Com1.md",
        "LPT0",
        "nul .x",
        "\uff4e\uff55\uff4c",
        "com¹",
        "conin$",
        "prn.tar.gz",
    ],
)
def test_the_name_of_a_device_is_no_file(text: str) -> None:
    with pytest.raises(Invalid, match="device"):
        workspace_path(text)


@pytest.mark.parametrize("text", ["null", "console", "a/communes.md", "com", "lpt10", "コン.md"])
def test_a_name_that_only_begins_like_a_device_is_a_file(text: str) -> None:
    assert workspace_path(text) == text


@pytest.mark.parametrize("text", ["a.", "a ", "海\u3000", "a./b", "a /b", "..."])
def test_a_name_ends_in_neither_dot_nor_space(text: str) -> None:
    with pytest.raises(Invalid, match="ends in a dot or space"):
        workspace_path(text)


@pytest.mark.parametrize(
    "text", ["notes/today.md", "メモ/今日.md", ".config", "a b/ç.txt", "海/🦀.png", "a..b", "..a"]
)
def test_an_ordinary_path_stays_as_it_is(text: str) -> None:
    assert workspace_path(text) == text


def test_the_way_up_is_named_as_such() -> None:
    with pytest.raises(Invalid, match=r"contains '\.\./'"):
        workspace_path("海/../x")


def test_a_leading_dot_is_taken_away() -> None:
    assert workspace_path("././notes/a.md") == "notes/a.md"


def test_a_path_is_stored_composed() -> None:
    assert workspace_path("か\u3099/e\u0301.md") == "が/é.md"


@pytest.mark.parametrize("text", ["", ".", "./"])
def test_the_workspace_itself_is_a_folder_without_a_name(text: str) -> None:
    assert workspace_folder_path(text) == ""


def test_a_folder_may_end_in_one_slash() -> None:
    assert workspace_folder_path("メモ/") == "メモ"
    with pytest.raises(Invalid):
        workspace_folder_path("メモ//")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "A"),
        ("\uff21", "a"),
        ("ｶﾞ", "ガ"),
        ("ß", "SS"),
        ("é", "E\u0301"),
        ("ﬁ", "FI"),
        ("①", "1"),
    ],
)
def test_names_that_people_or_systems_confuse_are_twins(one: str, other: str) -> None:
    assert workspace_path_collision_key(one) == workspace_path_collision_key(other)


def test_different_names_are_no_twins() -> None:
    assert (
        len({workspace_path_collision_key(name) for name in ("a", "b", "か", "が", "カ", "海")})
        == 6
    )


@pytest.mark.parametrize("character", ["a", "海"])
def test_sizes_count_in_bytes(character: str) -> None:
    size = len(character.encode())
    name = character * (SEGMENT_BYTES // size)
    assert workspace_path(name) == name
    with pytest.raises(Invalid, match="over 200 bytes"):
        workspace_path(name + character)
    with pytest.raises(Invalid, match="over 700 bytes"):
        workspace_path("/".join([name] * (PATH_BYTES // SEGMENT_BYTES + 1)))


def test_folders_are_not_endless() -> None:
    assert workspace_path("/".join("a" * DEPTH))
    with pytest.raises(Invalid, match="over 16 levels"):
        workspace_path("/".join("a" * (DEPTH + 1)))


def test_a_long_path_is_shown_shortened() -> None:
    with pytest.raises(Invalid) as error:
        workspace_path("海" * 100_000)
    assert len(error.value.message) < 200
    assert "…" in error.value.message
    assert error.value.field == "path"
    assert error.value.cure == "choose shorter names"
