"""Older versions in a bucket: told of one key alone, and what S3 says of those it has not."""

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from opencrab.adapters.s3_files import S3Files
from opencrab.domain.errors import NotFound, TooLarge, Unavailable
from opencrab.ports.workspace.files import DELETED_VERSIONS_KEPT, VERSIONS
from tests.unit.adapters.s3_files.trouble import LARGEST, World, key


class Refusing:
    """A client that says no, with this code."""

    def __init__(self, code: str) -> None:
        self._code = code

    def get_object(self, **call: Any) -> Any:
        assert call["VersionId"] == "y"
        raise ClientError({"Error": {"Code": self._code}}, "GetObject")

    def list_object_versions(self, **_: Any) -> Any:
        raise ClientError({"Error": {"Code": self._code}}, "ListObjectVersions")


def refusing(s3: World, code: str) -> S3Files:
    """Mika's files behind such a client."""
    return s3.opened(Refusing(code), s3.ledger)


@pytest.mark.parametrize("code", ["NoSuchVersion", "InvalidArgument", "400", "405", "NoSuchKey"])
def test_what_s3_does_not_keep_is_not_found(code: str, s3: World) -> None:
    with pytest.raises(NotFound, match=r"'x:y' of file '海\.md' is not stored"):
        refusing(s3, code).read_version("mika", "海.md", "x:y")


def test_a_missing_right_is_named(s3: World) -> None:
    files = refusing(s3, "AccessDenied")
    for attempt in (
        lambda: files.read_version("mika", "a.md", "x:y"),
        lambda: files.versions("mika", "a.md"),
    ):
        with pytest.raises(Unavailable, match="denies"):
            attempt()


def test_a_bucket_that_is_gone_is_an_error_and_no_empty_list(s3: World) -> None:
    with pytest.raises(Unavailable, match="NoSuchBucket"):
        refusing(s3, "NoSuchBucket").versions("mika", "a.md")
    with pytest.raises(Unavailable, match="no such bucket"):
        refusing(s3, "404").versions("mika", "a.md")


def test_a_version_id_of_another_content_is_not_taken(s3: World) -> None:
    first, second = s3.calm.write("mika", "a", b"1"), s3.calm.write("mika", "a", b"2")
    mixed = f"{first.version.partition(':')[0]}:{second.version.partition(':')[2]}"
    with pytest.raises(NotFound):
        s3.calm.read_version("mika", "a", mixed)


def test_deletions_in_between_hide_no_version(s3: World) -> None:
    written = []
    for n in range(VERSIONS + 2):
        written.append(s3.calm.write("mika", "a", f"{n}".encode()).version)
        s3.calm.delete("mika", "a")
    kept = s3.calm.versions("mika", "a")
    assert [each.version for each in kept] == written[:1:-1]
    assert not any(each.is_current for each in kept)


def test_what_an_operator_put_there_is_read_within_the_limit(s3: World) -> None:
    s3.put_by_hand("海.md", b"x" * (LARGEST + 1))
    s3.put_by_hand("海.md", b"by hand")
    newest, large = s3.calm.versions("mika", "海.md")
    assert s3.calm.read_version("mika", "海.md", newest.version) == b"by hand"
    with pytest.raises(TooLarge):
        s3.calm.read_version("mika", "海.md", large.version)


def test_versions_of_a_deleted_file_are_read_for_a_while_only(s3: World) -> None:
    written = s3.calm.write("mika", "海.md", b"1")
    s3.calm.write("mika", "kept.md", b"1")
    kept = s3.calm.write("mika", "kept.md", b"2")
    s3.calm.delete("mika", "海.md")
    marked = s3.s3.list_object_versions(Bucket=s3.bucket, Prefix=key("海.md"))["DeleteMarkers"]
    s3.clock.advance((marked[0]["LastModified"] - s3.clock.now()).total_seconds())
    s3.clock.advance((DELETED_VERSIONS_KEPT - timedelta(hours=1)).total_seconds())
    assert s3.calm.read_version("mika", "海.md", written.version) == b"1"
    s3.clock.advance(3_600)
    assert s3.calm.versions("mika", "海.md") == ()
    with pytest.raises(NotFound, match="is not stored"):
        s3.calm.read_version("mika", "海.md", written.version)
    assert len(s3.calm.versions("mika", "kept.md")) == 2
    assert s3.calm.read_version("mika", "kept.md", kept.version) == b"2"
    assert s3.calm.delete_versions("mika", "海.md") == 1, "what is hidden can still be deleted"


def test_not_even_the_mark_of_a_deletion_is_left(s3: World) -> None:
    for n in range(3):
        s3.calm.write("mika", "海.md", f"{n}".encode())
        s3.calm.delete("mika", "海.md")
    assert s3.calm.delete_versions("mika", "海.md") == 3
    answer = s3.s3.list_object_versions(Bucket=s3.bucket, Prefix=key("海.md"))
    assert not {"Versions", "DeleteMarkers"} & answer.keys()
