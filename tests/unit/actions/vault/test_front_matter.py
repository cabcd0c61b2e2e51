"""Notes without front matter, such as an owner's own: they get none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.actions.library import Library, library


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Library]:
    """Two notes that know each other."""
    with library(tmp_path) as opened:
        opened.data("create_note", title="海", content="海へ行く。\n\nそのあと\n")
        opened.data(
            "create_note", title="Sea", folder="en", content="See [[海]] and [[vault/海.md|it]]."
        )
        yield opened


@pytest.mark.parametrize(
    ("name", "arguments", "after"),
    [
        ("update_note", {"path": "n", "content": "追記", "append": True}, "本文\n追記\n"),
        ("update_note", {"path": "n", "content": "新しい"}, "新しい"),
        (
            "create_link",
            {"source_note": "n", "target_note": "海"},
            "本文\n\n## 関連\n\n- [[海]]\n",
        ),
    ],
)
def test_a_note_without_front_matter_gets_none(
    name: str, arguments: dict[str, object], after: str, vault: Library
) -> None:
    vault.put("vault/n.md", "本文")
    vault.data(name, **arguments)
    assert vault.text("vault/n.md") == after


def test_a_note_without_front_matter_is_renamed_only_if_no_link_loses_it(vault: Library) -> None:
    vault.put("vault/n.md", "本文")
    vault.put("vault/m.md", "[[n]]を読む")
    error = vault.error("rename_note", path="n", new_path="新")
    assert "'vault/m.md' links to 'vault/n.md' as [[n]]" in error
    assert vault.text("vault/n.md") == "本文"
    vault.data("rename_note", path="n", new_path="場所/n")
    assert vault.text("vault/場所/n.md") == "本文"
    assert vault.data("read_note", path="m")["links"] == {"n": "vault/場所/n.md"}
    vault.put("vault/m.md", "読まない")
    vault.data("rename_note", path="n", new_path="新")
    assert vault.text("vault/新.md") == "本文"
