"""Tab completes what a chat line may become: commands, agents, paths, and nothing else."""

from pathlib import Path

import pytest

from opencrab.gateways.cli.conversation.completion import (
    complete_chat_lines_with_tab,
    possible_lines_in_chat,
)

COMMANDS = ("agent", "attach", "help", "history", "new")


def completed(line: str) -> list[str]:
    return possible_lines_in_chat(line, COMMANDS, lambda: ["Ada", "葵", "Aki"])


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("/h", ["/help", "/history"]),
        ("/HE", ["/help"]),
        ("/", ["/agent", "/attach", "/help", "/history", "/new"]),
        ("/agent a", ["/agent Ada", "/agent Aki"]),
        ("/agent 葵", ["/agent 葵"]),
        ("/new x", []),
        ("hello /h", []),
        ("", []),
        ("/no-such-thing", []),
    ],
)
def test_commands_and_agents_are_completed(line: str, lines: list[str]) -> None:
    assert completed(line) == lines


def test_paths_are_completed(tmp_path: Path) -> None:
    (tmp_path / "蟹.png").touch()
    (tmp_path / "蟹の写真").mkdir()
    (tmp_path / ".hidden").touch()
    found = [f"/attach {tmp_path}/蟹.png", f"/attach {tmp_path}/蟹の写真/"]
    assert sorted(completed(f"/attach {tmp_path}/蟹")) == sorted(found)
    assert sorted(completed(f"/attach {tmp_path}/")) == sorted(found)
    assert completed(f"{tmp_path}/.h") == [f"{tmp_path}/.hidden"]


def test_the_keyboard_asks_for_the_lines_one_by_one_and_survives_a_failure() -> None:
    readline = pytest.importorskip("readline")
    with complete_chat_lines_with_tab(completed):
        complete = readline.get_completer()
        assert [complete("/h", n) for n in range(3)] == ["/help", "/history", None]


def test_a_failure_does_not_reach_the_line() -> None:
    readline = pytest.importorskip("readline")

    before = readline.get_completer()

    def fail(_line: str) -> list[str]:
        raise OSError

    with complete_chat_lines_with_tab(fail):
        assert readline.get_completer()("/h", 0) is None
    assert readline.get_completer() == before
