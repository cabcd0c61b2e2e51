"""The action that the guide writes is loaded by its settings, and passes its tests as written."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from opencrab.bootstrap.custom_actions import load_custom_actions
from tests.conftest import ROOT
from tests.docs.blocks import Fence, fences

GUIDE = ROOT / "docs" / "how-to" / "write-an-action.md"


def code(page: Path = GUIDE) -> dict[str, list[Fence]]:
    """The blocks of the guide, by kind."""
    found: dict[str, list[Fence]] = {}
    for fence in fences():
        if fence.page == page:
            found.setdefault(fence.kind, []).append(fence)
    return found


def test_both_languages_show_the_same_code() -> None:
    shown = [
        {kind: [fence.text for fence in some] for kind, some in code(page).items()}
        for page in (GUIDE, GUIDE.with_suffix(".ja.md"))
    ]
    assert shown[0] == shown[1] != {}


@pytest.mark.slow
def test_the_guides_action_is_loaded_and_passes_its_tests(tmp_path: Path) -> None:
    (settings,) = code()["toml"]
    module, tests = code()["python"]
    (tmp_path / "tickets.py").write_text(module.text, encoding="utf-8")
    (tmp_path / "test_tickets.py").write_text(tests.text, encoding="utf-8")
    named = tomllib.loads(settings.text)["actions"]["modules"]
    loaded = {each.name: each.effect.value for each in load_custom_actions(named, [tmp_path])}
    assert loaded == {"open_ticket": "keyed", "ticket_status": "pure"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "3 passed" in run.stdout, run.stdout + run.stderr
