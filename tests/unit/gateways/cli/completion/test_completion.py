"""Scripts for shells: printed as they are, and nothing is sent for it."""

import pytest

from tests.unit.gateways.cli.server import Program, Server


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_says_how_to_load_it_and_asks_the_program(
    program: Program, server: Server, shell: str
) -> None:
    said = program.run("completion", shell)
    assert (said.code, said.err, server.requests) == (0, "", [])
    assert f"opencrab completion {shell}" in said.out
    assert "__complete" in said.out


def test_another_shell_is_a_wrong_command_line(program: Program) -> None:
    refused = program.run("completion", "tcsh")
    assert (refused.code, "'zsh'" in refused.err) == (2, True)
