"""The commands for a stage on AWS: complete for a shell, and nothing but a stage gets in."""

import subprocess

import pytest

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.backup.aws_commands import COMMANDS, aws_backup_commands


@pytest.mark.parametrize("verb", COMMANDS)
def test_they_are_commands_of_a_shell(verb: str) -> None:
    said = aws_backup_commands(verb, "main", "my folder's files")
    assert "opencrab-main" in said
    checked = subprocess.run(
        ["/bin/bash", "-n"], input=said, text=True, capture_output=True, check=True
    )
    assert checked.stderr == ""


@pytest.mark.parametrize("stage", ["", "Main", "main; rm -rf ~", "$(id)", "a" * 30, "main\n"])
def test_what_is_no_stage_is_refused(stage: str) -> None:
    with pytest.raises(Invalid, match="stage"):
        aws_backup_commands("backup", stage)


def test_a_folder_is_quoted() -> None:
    assert "'my folder'\\''s'" in aws_backup_commands("backup", "main", "my folder's")


def test_a_restore_asks_for_the_moment_instead_of_restoring_the_damage() -> None:
    said = aws_backup_commands("restore", "main")
    assert '--restore-date-time "$WHEN"' in said
    assert "\nWHEN=" in said
