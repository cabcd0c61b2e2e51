"""An operator's settings file of a stage; tests/deployed finds it by the outputs of its stack."""

from pathlib import Path

import pytest

from opencrab.bootstrap.aws.operator import OperatorSettings, settings_file_of_deployed_stage
from opencrab.domain.errors import Invalid, Unavailable


def test_what_is_no_stage_is_refused_before_aws_is_asked() -> None:
    with pytest.raises(Invalid, match="'Prod/1' is not a stage"):
        settings_file_of_deployed_stage("Prod/1")


def test_without_a_region_the_error_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(Unavailable, match="no AWS region") as caught:
        settings_file_of_deployed_stage("main")
    assert "AWS_REGION" in str(caught.value.cure)


def test_faults_are_told_in_the_language_of_the_reader() -> None:
    (fault,) = OperatorSettings().faults("f.toml", b"[log]\nlevel = 'DEBUG'\n", "ja")
    assert (fault.line, fault.name) == (2, "log.level")
    assert "LogLevel" in fault.cure
    assert "スタック" in fault.what
