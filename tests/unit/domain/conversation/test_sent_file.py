"""Sent files: the name that their sender gave them, whatever Discord made of it."""

import pytest

from opencrab.domain.conversation.sent_file import SentFile, sent_file_name, told_file


@pytest.mark.parametrize(
    ("filename", "title", "name"),
    [
        ("crab.png", "", "crab.png"),
        ("_.png", "海の写真", "海の写真.png"),
        ("_.png", "海の写真.png", "海の写真.png"),
        ("README", "", "README"),
        ("_", "議事録", "議事録"),
        (".env", "", ".env"),
        ("_.tar.gz", "資料.tar", "資料.tar.gz"),
        ("a" * 200 + ".md", "", "a" * 97 + ".md"),
        ("_.md", "蟹" * 200, "蟹" * 97 + ".md"),
        ("a." + "b" * 200, "", "a." + "b" * 98),
    ],
)
def test_a_file_keeps_its_name_and_its_ending(filename: str, title: str, name: str) -> None:
    assert sent_file_name(filename, title) == name
    assert SentFile(name=name).url == ""


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (("a b.png", 9, "F1"), SentFile(name="a b.png", size=9, url="F1")),
        (("\n", -1, None), SentFile(name="file-1")),
        ((None, True, "x" * 3_000), SentFile(name="file-1", size=1)),
        (("海" * 200 + ".png", "9", "F1"), SentFile(name="海" * 96 + ".png", url="F1")),
        (("a.png", 1, "\ud83e"), SentFile(name="file-1", size=1)),
    ],
)
def test_a_service_may_tell_nonsense_of_a_file(
    told: tuple[object, object, object], found: SentFile
) -> None:
    assert told_file(*told, nameless="file-1") == found
