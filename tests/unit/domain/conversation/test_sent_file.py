"""Sent files: the name that their sender gave them, whatever Discord made of it."""

import pytest

from opencrab.domain.conversation.sent_file import SentFile, sent_file_name


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
