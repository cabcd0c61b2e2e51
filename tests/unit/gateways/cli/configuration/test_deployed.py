"""Settings of AWS from a terminal: pushed after a check, shown, and brought back."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from opencrab.bootstrap.aws.settings_check import deployed_settings_faults
from opencrab.domain.errors import NotFound
from opencrab.ports.installation.configuration import ConfigurationFault
from opencrab.ports.installation.deployed_settings import SettingsFileVersion
from tests.unit.gateways.cli.configuration.home import Home

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


class Bucket:
    """The file of one stage, in memory, with its versions."""

    place = "s3://crab/settings/config.toml"

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def read(self, version_id: str | None = None) -> bytes | None:
        if version_id is not None:
            number = int(version_id.removeprefix("v"))
            return self.kept[number] if number < len(self.kept) else None
        return self.kept[-1] if self.kept else None

    def replace(self, content: bytes) -> str:
        self.kept.append(content)
        return f"v{len(self.kept) - 1}"

    def versions(self) -> Sequence[SettingsFileVersion]:
        last = len(self.kept) - 1
        return [
            SettingsFileVersion(
                f"v{number}", NOW + timedelta(hours=number), len(self.kept[number]), number == last
            )
            for number in range(last, -1, -1)
        ]


class Stages:
    """The installations of an operator: one stage."""

    def __init__(self) -> None:
        self.bucket = Bucket()

    def open(self, stage: str) -> Bucket:
        if stage != "main":
            raise NotFound(f"there is no stack 'opencrab-{stage}'", cure="correct --stage")
        return self.bucket

    def faults(self, name: str, content: bytes, language: str) -> Sequence[ConfigurationFault]:
        return deployed_settings_faults(name, content, language)


@pytest.fixture
def stages() -> Stages:
    return Stages()


@pytest.fixture
def home(tmp_path: Path, stages: Stages) -> Home:
    return replace(Home(tmp_path), stages=lambda: stages)


@pytest.mark.parametrize(("language", "said"), [("en", "uploaded"), ("ja", "アップロードしました")])
def test_a_file_is_pushed_once_and_shown(
    home: Home, stages: Stages, language: str, said: str
) -> None:
    home.write("[web]\nallow = ['https://a.example.org/']  # 頁\n")
    pushed = home.run("push", language=language)
    assert pushed.code == 0, pushed.err
    assert said in pushed.out
    assert stages.bucket.place in pushed.out
    assert stages.bucket.kept == [home.file.read_bytes()]
    again = home.run("push", "--json")
    assert (again.json["changed"], again.json["version"]) == (False, None)
    assert len(stages.bucket.kept) == 1
    assert "# 頁" in home.run("pull").out


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "cannot be set in a file on AWS"), ("ja", "ファイルで設定できません")],
)
def test_a_wrong_file_is_not_pushed_and_every_fault_has_its_line(
    home: Home, stages: Stages, language: str, said: str
) -> None:
    home.write("[log]\nlevel = 'DEBUG'\n[web]\nalow = 1\n")
    for command in (("push",), ("check", "--deployed")):
        wrong = home.run(*command, language=language)
        assert wrong.code == 1
        assert f"{home.file}:2: " in wrong.err
        assert f"{home.file}:4: " in wrong.err
        assert said in wrong.err
        assert "LogLevel" in wrong.err
    assert stages.bucket.kept == []
    assert home.run("check").code == 1


def test_an_earlier_version_comes_back(home: Home, stages: Stages) -> None:
    for allowed in ("a", "b"):
        home.write(f"[web]\nallow = ['https://{allowed}.example.org/']\n")
        home.run("push")
    listed = home.run("versions", "--json").json
    assert [(each["version"], each["current"]) for each in listed] == [("v1", True), ("v0", False)]
    assert "v0" in home.run("versions").out
    assert "https://a." in home.run("pull", "--version", "v0").out
    assert home.run("push", "--version", "v0").code == 0
    assert stages.bucket.kept[-1] == stages.bucket.kept[0]
    assert home.run("push", "--version", "v0", str(home.file)).code == 2
    assert home.run("push", "--version", "v9").code == 5


def test_an_old_version_that_is_wrong_now_is_not_pushed(home: Home, stages: Stages) -> None:
    stages.bucket.kept = [b"[web]\nalow = 1\n", b""]
    assert home.run("push", "--version", "v0").code == 1
    assert "v0:2:" in home.err
    assert len(stages.bucket.kept) == 2


def test_what_is_not_there_is_said(home: Home) -> None:
    assert home.run("pull").code == 5
    assert "no settings file" in home.run("versions").out
    assert home.run("pull", "--stage", "prod").code == 5
    assert home.run("push", str(home.folder / "none.toml")).code == 5
