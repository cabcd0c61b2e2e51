"""The settings file of `make deploy`: found by stage, checked first, uploaded if it differs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from moto import mock_aws

from infra import settings_file
from infra.place import Place, Unready
from opencrab.domain.configuration.uploaded_file import CHECKED_KEY, SETTINGS_KEY
from tests.conftest import ROOT
from tests.infra.desk import Desk

REGION = "eu-west-1"
BUCKET = "data-bucket"
PLACE = Place("opencrab-main", REGION, None, {})
OUTPUTS = {"BucketName": BUCKET}
PYTHON = ROOT / ".venv" / "bin" / "python"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """S3 with the bucket of the stack, empty."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with mock_aws():
        client = botocore.session.Session().create_client("s3", region_name=REGION)
        client.create_bucket(
            Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        yield client


def test_functions_read_what_is_uploaded() -> None:
    assert (settings_file.CURRENT, settings_file.CHECKED) == (SETTINGS_KEY, CHECKED_KEY)


def test_the_file_of_the_stage_goes_before_the_users(tmp_path: Path) -> None:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    folder = tmp_path / "opencrab"
    folder.mkdir()
    assert settings_file.find_settings_file("main", "", environ) is None
    (folder / "config.toml").write_text("", encoding="utf-8")
    assert settings_file.find_settings_file("main", "", environ) == folder / "config.toml"
    (folder / "aws-main.toml").write_text("", encoding="utf-8")
    assert settings_file.find_settings_file("main", "", environ) == folder / "aws-main.toml"
    assert settings_file.find_settings_file("prod", "", environ) == folder / "config.toml"
    assert settings_file.find_settings_file("prod", "none", environ) is None
    home = {"HOME": str(tmp_path / "home")}
    assert settings_file.find_settings_file("main", "", home) is None


def test_uploading_the_settings_of_this_computer_is_said_before(tmp_path: Path) -> None:
    note, own = settings_file.note_of_settings_file, tmp_path / "config.toml"
    said = "\n".join(note("prod", "", own))
    assert f"{own} will count on AWS too" in said
    assert str(tmp_path / "aws-prod.toml") in said
    assert note("prod", "", None) == ()
    assert note("prod", "", tmp_path / "aws-prod.toml") == ()
    assert note("prod", str(own), own) == ()


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(Unready, match="there is no settings file") as caught:
        settings_file.find_settings_file("main", str(tmp_path / "none.toml"), {})
    assert "CONFIG" in caught.value.cure


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[web]\nallow = []\n", ()),
        ("[web]\nalow = []\n[search]\nbackend = 'efs'\n", (":2:", ":4:", "SearchBackend")),
        ("[llm.providers.openai]\napi_key = 'sk-KANARI'\n", (":2:",)),
        ("[llm.aliases]\nfast = 'nobody:x'\n", ("nobody",)),
    ],
)
def test_it_is_checked_as_functions_do(tmp_path: Path, text: str, wrong: tuple[str, ...]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    if not wrong:
        settings_file.check_settings_file(path, environ, PYTHON)
        return
    with pytest.raises(Unready) as caught:
        settings_file.check_settings_file(path, environ, PYTHON)
    for each in wrong:
        assert each in str(caught.value)
    assert "KANARI" not in str(caught.value)


def test_modules_of_actions_must_come_along(tmp_path: Path) -> None:
    path, folder = tmp_path / "config.toml", tmp_path / "actions"
    path.write_text('[actions]\nmodules = ["tickets.desk", "httpx"]\n', encoding="utf-8")
    with pytest.raises(Unready, match=r"names the module tickets\.desk in ") as caught:
        settings_file.check_custom_actions(path, "")
    assert "make deploy ACTIONS=FOLDER" in caught.value.cure
    (folder / "tickets").mkdir(parents=True)
    (folder / "tickets" / "__init__.py").write_text("", encoding="utf-8")
    with pytest.raises(Unready) as caught:
        settings_file.check_custom_actions(path, str(tmp_path))
    assert f"make deploy ACTIONS={folder}" in caught.value.cure
    settings_file.check_custom_actions(path, str(folder))


def test_what_cannot_be_checked_is_not_uploaded(tmp_path: Path) -> None:
    with pytest.raises(Unready, match="cannot be checked"):
        settings_file.check_settings_file(tmp_path / "x", {}, tmp_path / "no-python")


def test_it_is_uploaded_once_with_its_copy(s3: Any, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"[web]\nallow = []\n")
    assert "uploaded" in settings_file.upload_settings_file(PLACE, OUTPUTS, path)
    for key in (SETTINGS_KEY, CHECKED_KEY):
        assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == path.read_bytes()
    assert "unchanged" in settings_file.upload_settings_file(PLACE, OUTPUTS, path)
    path.write_bytes(b"# other\n")
    assert "uploaded" in settings_file.upload_settings_file(PLACE, OUTPUTS, path)
    assert s3.get_object(Bucket=BUCKET, Key=SETTINGS_KEY)["Body"].read() == b"# other\n"
    assert settings_file.upload_settings_file(PLACE, OUTPUTS, None) == ""


def test_a_refusal_of_aws_says_what_is_needed(s3: Any, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"")
    with pytest.raises(Unready, match="no-such-bucket") as caught:
        settings_file.upload_settings_file(PLACE, {"BucketName": "no-such-bucket"}, path)
    assert "the rest is deployed" in caught.value.cure


def test_a_wrong_file_stops_the_deployment_before_anything_is_built(desk: Desk) -> None:
    wrong = desk.folder / "wrong.toml"
    wrong.write_text("[web]\nalow = []\n", encoding="utf-8")
    ended = desk.deploy("--check", CONFIG=str(wrong))
    assert ended.returncode == 1
    assert f"{wrong}:2: there is no setting web.alow" in ended.stderr
    assert desk.sam("deploy") == []


def test_actions_that_are_left_behind_stop_it_too(desk: Desk) -> None:
    own, folder = desk.folder / "own.toml", desk.folder / "actions"
    own.write_text('[actions]\nmodules = ["tickets"]\n', encoding="utf-8")
    ended = desk.deploy("--check", CONFIG=str(own))
    assert ended.returncode == 1
    assert f"{own} names the module tickets in actions.modules" in ended.stderr
    folder.mkdir()
    (folder / "tickets.py").write_text("", encoding="utf-8")
    assert desk.deploy("--check", CONFIG=str(own), ACTIONS=str(folder)).returncode == 0
