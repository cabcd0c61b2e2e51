"""Tasks beside a running server: run by a script, and watched and paused by a person."""

import pytest

from opencrab.gateways.cli.scripting.exit_code import ExitCode
from tests.integration.cli.house import CTRL_C, House, seat


@pytest.mark.parametrize(
    ("language", "agent", "instruction", "done"),
    [
        ("en", "Ada", "write task.txt: hello", "Write task.txt (ws_write)"),
        ("ja", "さくら", "task.txtに「やあ」と書いて", "「task.txt」を書く (ws_write)"),
    ],
)
def test_a_script_runs_a_task_to_its_end(
    house: House, language: str, agent: str, instruction: str, done: str
) -> None:
    said = house.run("--language", language, "task", "run", agent, instruction)
    assert said.code == 0, said
    assert f"✓ {done}" in said.out


def test_a_person_watches_pauses_and_gives_up(slow: House) -> None:
    with seat(slow, "--language", "ja", "task", "run", "Ada", "slow") as person:
        person.see("Ctrl-C: 一時停止")
        person.type(CTRL_C)
        person.see("[l]")
        person.type("p\n")
        person.see("opencrab tasks resume Ada")
        assert person.leave() == ExitCode.STOPPED
    said = slow.run("--language", "ja", "task", "discard", "Ada")
    assert "G1 slow: 中止" in said.out
