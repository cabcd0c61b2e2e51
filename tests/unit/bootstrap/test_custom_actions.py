"""Custom actions from the settings: where they are found, and what is said of wrong modules."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.bootstrap.configuration.local_settings import LocalSettings
from opencrab.bootstrap.custom_actions import (
    custom_action_folders,
    groups_with_custom_actions,
    load_custom_actions,
)
from opencrab.bootstrap.local.doctor import check_local_settings_together
from opencrab.domain.configuration.file_check import check_settings_text
from opencrab.domain.errors import Invalid
from opencrab.ports.installation.configuration import SettingsPaths
from opencrab.settings import EffectiveSetting, OwnerSettings, Settings, load_settings

HEAD = "from opencrab.actions.custom import CallContext, action\n"
LOOK = '@action(impact="read", effect="pure")\ndef {name}(place: str) -> str:\n    """見る。"""\n'
SECRET = "tok-KANARI"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = set(sys.modules)
    made = tmp_path / "actions"
    made.mkdir()
    yield made
    for name in set(sys.modules) - before:
        if name.startswith(("opencrab_actions_", "from_path")):
            del sys.modules[name]


def look(*names: str) -> str:
    """A module with actions that read."""
    return HEAD + "".join(LOOK.format(name=name) + "    return place\n" for name in names)


def configured(environ: dict[str, str] | None = None, **changes: Any) -> Settings:
    own = {
        f"actions.{name.replace('__', '.')}": EffectiveSetting(value, "config.toml:1")
        for name, value in changes.items()
    }
    return load_settings({}, environ or {}, own=OwnerSettings(own))


def names(*modules: str, folder: Path) -> list[str]:
    return [each.name for each in load_custom_actions(modules, [folder])]


def test_modules_are_loaded_by_their_names_and_no_others(folder: Path) -> None:
    (folder / "tides.py").write_text(look("see_tide", "ask_moon"), encoding="utf-8")
    (folder / "broken.py").write_text("1/0", encoding="utf-8")
    package = folder / "desk"
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import see_desk\n", encoding="utf-8")
    (package / "inner.py").write_text(look("see_desk", "see_more"), encoding="utf-8")
    assert names("tides", "desk", "tides", folder=folder) == ["ask_moon", "see_desk", "see_tide"]


def test_siblings_are_imported_with_a_dot_and_hide_nothing(folder: Path) -> None:
    (folder / "json.py").write_text("WORD = 'own'\n", encoding="utf-8")
    text = "import json\nfrom .json import WORD\nassert json.dumps and WORD == 'own'\n"
    (folder / "tides.py").write_text(text + look("see_tide"), encoding="utf-8")
    assert names("tides", folder=folder) == ["see_tide"]
    assert str(folder) not in sys.path


def test_two_folders_have_modules_of_one_name(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (folder / "tides.py").write_text(look("see_tide"), encoding="utf-8")
    (other / "tides.py").write_text(look("see_moon"), encoding="utf-8")
    assert [each.name for each in load_custom_actions(["tides"], [other, folder])] == ["see_moon"]
    assert names("tides", folder=folder) == ["see_tide"]


def test_a_package_on_the_path_is_found_where_the_folder_has_none(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "from_path.py").write_text(look("see_tide"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert names("from_path", folder=folder) == ["see_tide"]


@pytest.mark.parametrize(
    ("text", "said", "cure"),
    [
        (
            HEAD + "\nimport tidez",
            "tides.py:3: ModuleNotFoundError: No module named 'tidez'",
            "dot",
        ),
        (HEAD + "\n\n1/0", "tides.py:4: ZeroDivisionError: division by zero", "correct the module"),
        ("def f(:", "tides.py:1: invalid syntax", "correct the line"),
        ("raise SystemExit(3)", "tides.py:1: SystemExit: 3", "correct the module"),
        ("x = 1", "the module tides declares no action", "@action"),
        (
            HEAD + LOOK.format(name="see").replace("pure", "safe") + "    return place",
            "tides.py:2: see has the effect 'safe'",
            "one of pure, keyed, once",
        ),
        (
            HEAD + LOOK.format(name="see").replace(": str)", ")") + "    return place",
            "tides.py:2: the parameter 'place' of see has no annotation",
            "write place: str",
        ),
        (
            look("ws_read"),
            "tides.py:2: OpenCrab has an action named ws_read itself",
            "another name",
        ),
        (look("see", "see"), "tides.py:6: another action is named see, at", "another name"),
    ],
)
def test_a_wrong_module_names_file_line_and_cure(
    folder: Path, text: str, said: str, cure: str
) -> None:
    (folder / "tides.py").write_text(text, encoding="utf-8")
    with pytest.raises(Invalid) as raised:
        names("tides", folder=folder)
    assert (
        f"custom actions: {folder}/{said}" in raised.value.message or said in raised.value.message
    )
    assert cure in str(raised.value.cure)
    assert raised.value.field == "actions.modules"


def test_two_modules_with_one_action_name_both_places(folder: Path) -> None:
    for module in ("tides", "moon"):
        (folder / f"{module}.py").write_text(look("see"), encoding="utf-8")
    with pytest.raises(Invalid, match=r"moon\.py:2: another action is named see, at .*tides\.py:2"):
        names("tides", "moon", folder=folder)


def test_a_module_that_is_nowhere_is_named_with_where_it_would_be(folder: Path) -> None:
    with pytest.raises(Invalid, match="there is no module tides") as raised:
        names("tides", folder=folder)
    assert f"write {folder / 'tides.py'}, install a package" in str(raised.value.cure)


def test_the_settings_decide_what_agents_are_told_and_given(folder: Path) -> None:
    text = HEAD + '@action(impact="read", effect="pure")\ndef see(context: CallContext) -> str:\n'
    text += '    """見る。"""\n    return context.setting("token")\n' + look("see_more")
    (folder / "tides.py").write_text(text, encoding="utf-8")
    secrets: Any = {"TOKEN": f"{SECRET}\n"}
    given: dict[str, Any] = {"modules": ["tides"], "values__token": "${TOKEN}", "prompt_bytes": 60}

    def load(_overrides: Any, *, secret: Any) -> Settings:
        own = {
            f"actions.{key.replace('__', '.')}": EffectiveSetting(v, "f:1")
            for key, v in given.items()
        }
        return load_settings({}, {}, own=OwnerSettings(own), secret=secret)

    groups, described = groups_with_custom_actions(
        configured(**given), [folder.parent / "config.toml"], load, secrets, is_local=True
    )
    assert groups[-1].names() == ("see", "see_more")
    assert described == ("see",)
    assert SECRET not in repr(groups[-1].actions)


def test_without_modules_nothing_of_them_is_loaded() -> None:
    assert configured().get("actions.modules") == []
    program = (
        "import sys; from opencrab.bootstrap.actions import configured_actions; "
        "from opencrab import settings; "
        "configured_actions(settings.load_settings({}, {}), None, None, None); "
        "print([name for name in sys.modules if 'custom' in name])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


def test_the_folder_lies_beside_the_settings_file_that_counts_last(tmp_path: Path) -> None:
    files = (tmp_path / "user" / "config.toml", tmp_path / "data" / "config.toml")
    assert custom_action_folders(files) == (
        tmp_path / "data" / "actions",
        tmp_path / "user" / "actions",
    )


def test_a_settings_file_names_modules_and_values() -> None:
    known = tuple(load_settings({}, {}).values)
    text = '[actions]\nmodules = ["tides", "desk.main"]\nvalues = {url = "https://x", t = "${T}"}'
    assert check_settings_text(text, known).faults == ()
    wrong = check_settings_text('[actions]\nmodules = ["../tides.py"]', known).faults
    assert [each.name for each in wrong] == ["actions.modules"]


def test_the_check_of_the_settings_loads_them(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[actions]\nmodules = ["tides"]\n', encoding="utf-8")
    local = LocalSettings(SettingsPaths(data=tmp_path))
    with pytest.raises(Invalid, match="there is no module tides"):
        check_local_settings_together(local)
    (folder / "tides.py").write_text(look("see_tide"), encoding="utf-8")
    check_local_settings_together(local)
