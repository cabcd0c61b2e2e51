"""Preconditions of tasks: what code can check holds, or the task fails before it begins."""

from pathlib import Path

from opencrab.adapters.local_files import AttachedFiles
from opencrab.domain.goals.goal import TaskStatus
from opencrab.engine.goals.conditions import check_task_preconditions
from opencrab.ports.workspace.attached_folders import AttachedFolder, AttachedPlace
from tests.unit.engine.goals.aims import aim, board, step
from tests.unit.engine.known_world import World


def test_a_file_in_a_folder_that_is_not_there_is_missing_and_ends_no_turn_by_an_error(
    world: World, tmp_path: Path
) -> None:
    """Such as a folder on a disk that is unplugged while its agent works on a goal."""
    vault = tmp_path / "ノート"
    vault.mkdir()
    (vault / "朝.md").write_text("朝", encoding="utf-8")
    files = AttachedFiles(tmp_path / "data")
    files.attach(AttachedFolder("mika", AttachedPlace.VAULT, str(vault)))
    goal = aim(tasks=(step(1, precondition="file:vault/朝.md"),))
    assert check_task_preconditions(files, board(world), goal) == (goal, [])
    vault.rename(tmp_path / "away")
    changed, failed = check_task_preconditions(files, board(world), goal)
    assert [(task.id, task.status) for task in failed] == [("G1-T1", TaskStatus.FAIL)]
    assert "file:vault/朝.md" in failed[0].cause
    assert changed.next_task is None
