"""A start on a folder of another release: it migrates, and says which one used the folder."""

from functools import partial
from pathlib import Path

import pytest

from opencrab import __version__
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.data_upgrade import upgrade_data_at_local_start
from opencrab.bootstrap.local.command import _say_upgraded
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.engine.installation.data_release import RELEASE, ReleaseRecord
from tests.contract.example import NOW, profile
from tests.contract.homes import sqlite


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", f"data of OpenCrab 0.1 upgraded to {__version__}: 1 agents or schedules"),
        ("ja", f"OpenCrab 0.1 のデータを {__version__} に移行しました"),
    ],
)
def test_an_older_folder_is_migrated_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str, said: str
) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        home.agents.create(profile("hana", name="花"))
        upgrade_data_at_local_start(home, clock, partial(_say_upgraded, language))
        assert said in capsys.readouterr().err
        assert home.facts.get("hana", "vitals", "vitals") is not None
        upgrade_data_at_local_start(home, clock, partial(_say_upgraded, language))
    assert capsys.readouterr().err == ""


def test_a_new_folder_is_started_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        upgrade_data_at_local_start(home, clock, partial(_say_upgraded, "en"))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "OpenCrab 99.1.0 used this folder last"), ("ja", "最後に使ったのは OpenCrab 99.1.0")],
)
def test_a_folder_of_a_newer_release_is_named_and_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], language: str, said: str
) -> None:
    clock = FakeClock(NOW)
    with sqlite(tmp_path, clock) as home:
        record = ReleaseRecord(version="99.1.0", since=NOW)
        home.facts.commit(new_fact(INSTALLATION_FACTS, RELEASE, RELEASE, record))
        upgrade_data_at_local_start(home, clock, partial(_say_upgraded, language))
    told = capsys.readouterr().err
    assert said in told
    assert __version__ in told
