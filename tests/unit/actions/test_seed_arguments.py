"""The actions of the four designs take the arguments, with the defaults, that the designs say."""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import opencrab.actions
from opencrab.actions import Group
from opencrab.domain.value import Language

REQUIRED = object()

SEEDS: dict[str, dict[str, Any]] = {
    # OpenCrab
    "send_speech": {"content": REQUIRED},
    "send_noreact": {},
    "generate_inner_voice": {"content": REQUIRED},
    "update_impression": {
        "target_id": REQUIRED,
        "target_name": None,
        "personality": "",
        "communication_style": "",
        "recent_behavior": "",
        "agreement": "",
        "notes": "",
    },
    "declare_done": {},
    "learn_from_experience": {
        "experience": REQUIRED,
        "outcome": REQUIRED,
        "lesson": REQUIRED,
        "skill_name": None,
        "situation_pattern": None,
        "guidance": None,
    },
    "create_my_skill": {
        "name": REQUIRED,
        "description": REQUIRED,
        "situation_pattern": REQUIRED,
        "guidance": REQUIRED,
        "actions": [],
    },
    "search_my_history": {"query": REQUIRED, "limit": 10, "session_id": None},
    "summarize_and_save": {"content": REQUIRED, "filename": "", "summary_type": "session"},
    "ws_read": {"path": REQUIRED},
    "ws_write": {"path": REQUIRED, "content": REQUIRED},
    "ws_edit": {"path": REQUIRED, "old_string": REQUIRED, "new_string": REQUIRED},
    "ws_list": {"path": ""},
    "ws_delete": {"path": REQUIRED},
    "ws_mkdir": {"path": REQUIRED},
    # Obsius
    "create_note": {"title": REQUIRED, "content": None, "folder": None, "template": None},
    "search_notes": {"query": REQUIRED, "limit": 10, "include_content": True},
    "read_note": {"path": REQUIRED},
    "update_note": {"path": REQUIRED, "content": REQUIRED, "append": False},
    "create_link": {
        "source_note": REQUIRED,
        "target_note": REQUIRED,
        "link_text": None,
        "context": None,
    },
    "get_vault_structure": {"max_depth": 3, "include_content_summary": False},
    "apply_template": {"template_name": REQUIRED, "variables": None, "target_note": None},
}
"""By action: arguments and their defaults; None where a design says only that it is optional."""


@cache
def _schemas() -> dict[str, dict[str, Any]]:
    """What a model is told of the arguments of every action that is written."""
    modules = (
        import_module(each.name)
        for each in walk_packages(opencrab.actions.__path__, "opencrab.actions.")
    )
    found = (group for module in modules if isinstance(group := vars(module).get("group"), Group))
    return {
        action.name: dict(action.schema(Language.EN).parameters)
        for group in found
        for action in group.actions
    }


@pytest.mark.parametrize(("name", "seeded"), SEEDS.items(), ids=SEEDS)
def test_the_arguments_of_the_designs_are_there(name: str, seeded: dict[str, Any]) -> None:
    schema = _schemas()[name]
    properties, required = schema.get("properties", {}), set(schema.get("required", ()))
    assert set(seeded) <= set(properties)
    assert required == {each for each, default in seeded.items() if default is REQUIRED}
    for argument, default in seeded.items():
        if default is not REQUIRED and default is not None:
            told = properties[argument].get("default", type(default)())
            assert told == default, argument


def test_an_experience_ends_in_one_of_three_ways() -> None:
    outcome = _schemas()["learn_from_experience"]["properties"]["outcome"]
    assert outcome["enum"] == ["success", "failure", "partial"]
