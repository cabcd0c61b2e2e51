"""The wheel holds what running reads, and runs outside of the checkout, in both languages."""

import json
import os
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.built.wheel import build_distributions, install_wheel, names_in, package_files
from tests.running import KEY, Server, server


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    (built,) = build_distributions(tmp_path_factory.mktemp("wheel"), "wheel")
    return built


def test_it_holds_every_file_that_the_package_reads_and_nothing_else(wheel: Path) -> None:
    assert names_in(wheel) == package_files()


def test_it_holds_what_lies_beside_the_package_in_a_checkout(wheel: Path) -> None:
    expected = {
        "opencrab/config/default.toml",
        "opencrab/config/models.json",
        "opencrab/config/pricing.toml",
        "opencrab/skills/task-execution/SKILL.md",
        "opencrab/skills/task-execution/SKILL.ja.md",
        "opencrab/engine/agents/presets.json",
        "opencrab/gateways/cli/language/ja.json",
        "opencrab/gateways/rest/page/static/index.html",
    }
    assert expected <= names_in(wheel)


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    (sdist,) = build_distributions(tmp_path / "sdist", "sdist")
    with tarfile.open(sdist) as archive:
        assert not [each for each in archive.getnames() if "/tests/" in each or "/docs/" in each]
        archive.extractall(tmp_path, filter="data")
    (source,) = (each for each in tmp_path.glob("opencrab-*") if each.is_dir())
    (again,) = build_distributions(tmp_path / "again", "wheel", source=source)
    assert again.name == wheel.name
    assert names_in(again) == names_in(wheel)


@dataclass
class Installed:
    """OpenCrab from the wheel, running in an empty folder of a new user."""

    command: Path
    server: Server
    folder: Path

    def run(self, *words: str, language: str = "en") -> str:
        """What a command says there, which must succeed."""
        variables = {
            "PATH": os.defpath,
            "HOME": str(self.folder.parent),
            "LC_ALL": f"{language}.UTF-8",
            "OPENCRAB_URL": f"http://127.0.0.1:{self.server.port}",
            "OPENCRAB_KEY": KEY,
        }
        ran = subprocess.run(
            [str(self.command), *words],
            capture_output=True,
            text=True,
            check=False,
            env=variables,
            cwd=self.folder,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The wheel in an environment of its own, with `opencrab up` running."""
    home = tmp_path_factory.mktemp("user")
    command, folder = install_wheel(wheel, home / "venv"), home / "empty"
    folder.mkdir()
    with server(folder / "data", opencrab=[str(command)], folder=folder) as running:
        yield Installed(command, running, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "name", "said", "answer"),
    [
        ("en", "Rowan", "write plan.md: walk, read, sleep", "Written."),
        ("ja", "すみれ", "plan.md に「散歩、読書」と書いて", "書きました。"),
    ],
)
def test_an_agent_from_the_wheel_writes_a_file(
    installed: Installed, language: str, name: str, said: str, answer: str
) -> None:
    created = installed.run("agents", "create", "--name", name, "--language", language)
    assert name in created
    told = installed.run("chat", name, "--say", said, language=language)
    assert told.splitlines() == [answer, "plan.md"]
    skills = json.loads(installed.run("skills", "list", name, "--json"))
    assert "task-execution" in {each["name"] for each in skills}


@pytest.mark.slow
def test_the_setup_from_the_wheel_runs_opencrab_and_creates_an_agent(
    installed: Installed, tmp_path: Path
) -> None:
    args = ("--provider", "scripted", "--agent", "すみれ", "--yes", "--json")
    ran = subprocess.run(
        [str(installed.command), "setup", *args],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    done = json.loads(ran.stdout)
    assert (done["provider"], done["agent"]) == ("scripted", "すみれ")
    assert (tmp_path / ".local" / "share" / "opencrab" / "opencrab.db").is_file()


@pytest.mark.slow
def test_the_doctor_from_the_wheel_finds_it_sound(installed: Installed) -> None:
    assert "問題ありません" in installed.run("doctor", language="ja")


@pytest.mark.slow
def test_the_dashboard_from_the_wheel_is_served(installed: Installed) -> None:
    address = f"http://127.0.0.1:{installed.server.port}/"
    asked = urllib.request.Request(address, headers={"accept": "text/html"})
    with urllib.request.urlopen(asked) as answer:  # noqa: S310 - as above
        assert "<html" in answer.read().decode()


@pytest.mark.slow
def test_completion_from_the_wheel_is_printed(installed: Installed) -> None:
    assert "opencrab" in installed.run("completion", "zsh")
