"""A new note takes over no link of another."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.actions.library import Library, library


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Library]:
    with library(tmp_path) as opened:
        opened.put("vault/場所/海.md", "青い")
        opened.put("vault/日記.md", "[[海]]へ行った。[[山]]はまだ")
        yield opened


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("create_note", {"title": "海"}),
        ("create_note", {"title": "海", "folder": "歌"}),
        ("create_note", {"title": "海", "template": "mindmap"}),
        ("apply_template", {"template_name": "mindmap", "variables": {"title": "海"}}),
    ],
)
def test_a_note_of_the_same_name_is_not_made(
    name: str, arguments: dict[str, object], vault: Library
) -> None:
    error = vault.error(name, **arguments)
    assert "'vault/日記.md' links to 'vault/場所/海.md' as [[海]]" in error
    assert "ask if you do not know" in error
    assert vault.data("read_note", path="日記")["links"] == {"海": "vault/場所/海.md"}


def test_a_title_that_is_clear_is_fine_and_a_link_that_led_nowhere_finds_it(
    vault: Library,
) -> None:
    vault.data("create_note", title="海(歌)", folder="歌")
    vault.data("create_note", title="山")
    links = vault.data("read_note", path="日記")["links"]
    assert links == {"海": "vault/場所/海.md", "山": "vault/山.md"}


def test_a_name_to_which_nothing_links_may_be_there_twice(vault: Library) -> None:
    vault.put("vault/a/索引.md", "x")
    assert vault.data("create_note", title="索引", folder="b")["path"] == "vault/b/索引.md"


def test_a_file_name_takes_no_link_from_a_title(vault: Library) -> None:
    vault.put("vault/1.md", "---\ntitle: Ocean\n---\n")
    vault.put("vault/2.md", "[[ocean]]")
    assert "'vault/2.md' links to 'vault/1.md'" in vault.error("create_note", title="Ocean")
