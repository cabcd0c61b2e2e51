"""An agent's files by the real command, against a real installation."""

import json

import pytest

from tests.integration.cli.house import House


@pytest.mark.parametrize(
    ("agent", "locale", "path", "texts"),
    [
        ("Ada", "en_US.UTF-8", "notes/sea.md", ("crabs walk sideways", "so do waves")),
        ("さくら", "ja_JP.UTF-8", "メモ/海.md", ("蟹は横に歩く", "波もそうだ")),
    ],
    ids=["en", "ja"],
)
def test_a_file_goes_in_changes_and_comes_out(
    house: House, agent: str, locale: str, path: str, texts: tuple[str, str]
) -> None:
    def workspace(*args: str, typed: str = "") -> str:
        said = house.run("workspace", *args, typed=typed, LANG=locale)
        assert (said.code, said.err) == (0, "")
        return said.out

    first, second = texts
    assert path in workspace("write", agent, path, typed=first)
    workspace("write", agent, path, second)
    versions = json.loads(workspace("versions", agent, path, "--json"))
    assert [each["is_current"] for each in versions] == [True, False]
    older = house.folder / f"{agent} older.md"
    workspace("get", agent, path, str(older), "--version", versions[1]["version"])
    assert older.read_text(encoding="utf-8") == first
    workspace("delete", agent, path, "--yes")
    assert path not in workspace("list", agent)
