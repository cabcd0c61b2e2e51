"""Versions of files under forgetting: they end at once, in each home, and the rest is named."""

from pathlib import Path

import pytest

from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.erasure.erase import ErasureReport, erase_data
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.errand import RICH
from tests.crash.outside import Reply
from tests.e2e.conftest import Build
from tests.e2e.forgotten import FILE, HANAKO, SAID, Life, lived

IN_HOMES = DISTINCT_HOMES


@pytest.fixture
def anywhere(build: Build, tmp_path: Path) -> Life:
    """A life in each home."""
    house = build(RICH)
    return lived(house, tmp_path, short=hasattr(house.home.blobs, "_bucket"))


def forgotten(life: Life) -> ErasureReport:
    report = erase_data(
        life.house.runtime, "crab", ErasureRequest(scope=ErasureScope.PERSON, id=HANAKO)
    )
    assert report.done
    return report


def test_versions_of_forgotten_files_end_at_once(anywhere: Life) -> None:
    files = anywhere.house.home.files
    files.write("crab", FILE, "何もない".encode())
    files.write("crab", "other.md", b"1")
    files.write("crab", "other.md", b"2")
    assert len(files.versions("crab", FILE)) == 2
    report = forgotten(anywhere)
    assert report.files == (f"crab:{FILE}",)
    assert [each.is_current for each in files.versions("crab", FILE)] == [True]
    assert len(files.versions("crab", "other.md")) == 2, "nobody's words"
    files.write("crab", FILE, b"by the agent")
    forgotten(anywhere)
    assert len(files.versions("crab", FILE)) == 1


REPLACED, ENGLISH, DELETED = "書き直しました", "written again", ""


@pytest.mark.parametrize("text", [REPLACED, ENGLISH, DELETED])
def test_what_the_agent_itself_replaces_of_a_forgotten_file_does_not_live_on(
    anywhere: Life, text: str
) -> None:
    house, files = anywhere.house, anywhere.house.home.files
    forgotten(anywhere)
    files.write("crab", "other.md", b"1")
    call = ("ws_write", {"path": FILE, "content": text}) if text else ("ws_delete", {"path": FILE})
    other = ("ws_write", {"path": "other.md", "content": "2"})
    house.session(anywhere.crab)
    house.scripts["crab"] = (Reply(calls=(call, other)), Reply("はい"))
    (turn,) = house.say("直してください", "again")
    house.work()
    assert house.turn(turn.id).status is TurnStatus.COMPLETED
    kept = [files.read_version("crab", FILE, v.version) for v in files.versions("crab", FILE)]
    assert kept == ([text.encode()] if text else [])
    assert len(files.versions("crab", "other.md")) == 2, "nobody's words"


def test_versions_of_a_file_that_is_gone_end_with_a_forgetting(anywhere: Life) -> None:
    files = anywhere.house.home.files
    (version,) = files.versions("crab", FILE)
    files.delete("crab", FILE)
    assert SAID.encode() in files.read_version("crab", FILE, version.version)
    assert forgotten(anywhere).files == ()
    assert files.versions("crab", FILE) == ()
    with pytest.raises(NotFound):
        files.read_version("crab", FILE, version.version)


def test_a_report_names_what_forgetting_cannot_reach(anywhere: Life) -> None:
    on_aws = hasattr(anywhere.house.home.blobs, "_bucket")
    wanted = ("dynamodb_backups", "s3_versions") if on_aws else ("backups", "file_versions")
    assert forgotten(anywhere).out_of_reach == wanted
