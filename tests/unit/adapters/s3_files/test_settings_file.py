"""The settings file in a bucket: replaced as a whole, with the versions to go back to."""

import pytest

from opencrab.adapters.s3_files.settings_file import S3SettingsFile
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.configuration.uploaded_file import CHECKED_KEY, SETTINGS_KEY
from opencrab.domain.errors import Unavailable
from tests.aws import account
from tests.contract.example import NOW


def test_what_is_replaced_can_be_read_again_by_its_version() -> None:
    with account(FakeClock(NOW)) as opened:
        s3 = opened.client("s3")
        bucket = opened.bucket()
        file = S3SettingsFile(s3, bucket)
        assert (file.read(), list(file.versions())) == (None, [])
        first = file.replace("# 設定\n".encode())
        second = file.replace(b"[web]\nallow = []\n")
        assert file.read() == b"[web]\nallow = []\n"
        assert file.read(first) == "# 設定\n".encode()
        assert [(each.version_id, each.is_current) for each in file.versions()] == [
            (second, True),
            (first, False),
        ]
        assert file.place == f"s3://{bucket}/{SETTINGS_KEY}"
        copy = s3.get_object(Bucket=bucket, Key=CHECKED_KEY)["Body"].read()
        assert copy == file.read()
        assert file.read("no-such-version") is None


def test_a_bucket_that_is_not_there_is_an_error_that_names_it() -> None:
    with account(FakeClock(NOW)) as opened:
        file = S3SettingsFile(opened.client("s3"), "nobody-has-this-one")
        with pytest.raises(Unavailable, match="nobody-has-this-one"):
            file.versions()
