"""Targets: every action that names files says which, so that approvals and grants hold for them."""

import pytest

from opencrab.actions import GROUPS
from opencrab.ports.turn.action import Action

ACTIONS = [action for group in GROUPS for action in group.actions]

NAMING = {
    "filename",
    "folder",
    "new_path",
    "path",
    "source_note",
    "target_note",
    "template",
    "template_name",
}
"""Arguments that name a file or a folder of the workspace."""

ELSEWHERE = {"set_purpose", "world_send"}
"""Actions that show a change of something that is no file."""


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_an_action_that_names_or_changes_files_resolves_them(action: Action) -> None:
    names_files = bool(NAMING & set(action.arguments.model_fields))
    changes_files = action.change is not None and action.name not in ELSEWHERE
    assert (action.targets is not None) is (names_files or changes_files)


@pytest.mark.parametrize(
    "action", [each for each in ACTIONS if each.group == "vault"], ids=lambda action: action.name
)
def test_a_note_may_be_named_by_its_title_so_its_path_is_shown_and_bound(action: Action) -> None:
    assert action.touches is None
