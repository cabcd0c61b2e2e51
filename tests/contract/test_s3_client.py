"""S3 in memory answers as moto's does, call by call, where an adapter can see it."""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from opencrab.adapters.system_clock import FakeClock
from tests.aws import Services
from tests.aws_memory.account import MemoryAccount
from tests.contract.test_sqs_client import ACCOUNTS, Opens


class Shelf:
    """A bucket as a client sees it."""

    def __init__(self, opened: Services) -> None:
        self.s3 = opened.client("s3")
        self.name = opened.bucket()

    def put(self, key: str, content: Any = b"x", **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.s3.put_object(Bucket=self.name, Key=key, Body=content, **more)
        return found

    def get(self, key: str, **more: Any) -> bytes:
        body: bytes = self.s3.get_object(Bucket=self.name, Key=key, **more)["Body"].read()
        return body

    def head(self, key: str, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.s3.head_object(Bucket=self.name, Key=key, **more)
        return found

    def delete(self, key: str, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.s3.delete_object(Bucket=self.name, Key=key, **more)
        return found

    def keys(self, prefix: str = "", **more: Any) -> list[str]:
        return [each["Key"] for each in self.listed(prefix, **more).get("Contents", ())]

    def listed(self, prefix: str = "", **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.s3.list_objects_v2(Bucket=self.name, Prefix=prefix, **more)
        return found

    def versions(self, prefix: str, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.s3.list_object_versions(
            Bucket=self.name, Prefix=prefix, **more
        )
        return found


@pytest.fixture(params=ACCOUNTS, ids=["moto", "memory"])
def shelf(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Shelf]:
    opens: Opens = request.param
    with opens(clock) as found:
        yield Shelf(found)


def checksum(content: bytes) -> str:
    """As S3 is told it."""
    return b64encode(hashlib.sha256(content).digest()).decode()


def refusal(do: Callable[[], object]) -> tuple[int, str]:
    """The status and the code of the refusal."""
    with pytest.raises(ClientError) as raised:
        do()
    response = raised.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], str(response["Error"]["Code"])


def test_an_object_comes_back_with_what_was_said_of_it(shelf: Shelf) -> None:
    made = shelf.put("朝/a", "海".encode(), Metadata={"sha256": "ab", "clean": "yes"})
    assert shelf.get("朝/a") == "海".encode()
    head = shelf.head("朝/a")
    assert (head["ContentLength"], head["ETag"]) == (3, made["ETag"])
    assert (head["VersionId"], head["Metadata"]) == (
        made["VersionId"],
        {"sha256": "ab", "clean": "yes"},
    )
    assert made["ETag"].startswith('"')


def test_a_file_is_stored_as_bytes_are(shelf: Shelf) -> None:
    assert shelf.put("a", BytesIO(b"one"))["ETag"] == shelf.put("b", b"one")["ETag"]
    assert shelf.get("a") == b"one"


def test_earlier_versions_stay(shelf: Shelf) -> None:
    first, second = shelf.put("a", b"1"), shelf.put("a", b"2")
    assert shelf.get("a") == b"2"
    assert shelf.get("a", VersionId=first["VersionId"]) == b"1"
    assert shelf.head("a", VersionId=second["VersionId"])["ETag"] == second["ETag"]


def test_a_deletion_leaves_a_mark_over_the_versions(shelf: Shelf) -> None:
    first = shelf.put("a", b"1")
    mark = shelf.delete("a")["VersionId"]
    assert refusal(lambda: shelf.get("a")) == (404, "NoSuchKey")
    assert refusal(lambda: shelf.head("a")) == (404, "404")
    assert shelf.get("a", VersionId=first["VersionId"]) == b"1"
    assert refusal(lambda: shelf.get("a", VersionId=mark))[0] in {404, 405}
    assert shelf.keys() == []
    shelf.delete("a", VersionId=mark)
    assert shelf.get("a") == b"1"


def test_an_erased_version_is_gone_and_the_one_before_is_latest(shelf: Shelf) -> None:
    first, second = shelf.put("a", b"1"), shelf.put("a", b"2")
    shelf.delete("a", VersionId=second["VersionId"])
    assert shelf.get("a") == b"1"
    assert refusal(lambda: shelf.get("a", VersionId=second["VersionId"])) == (404, "NoSuchVersion")
    shelf.delete("a", VersionId=second["VersionId"])
    shelf.delete("a", VersionId=first["VersionId"])
    assert "Versions" not in shelf.versions("a")


def test_what_was_never_there_is_missing(shelf: Shelf) -> None:
    assert refusal(lambda: shelf.get("a")) == (404, "NoSuchKey")
    assert refusal(lambda: shelf.head("a")) == (404, "404")
    shelf.delete("a")
    elsewhere = {"Bucket": f"{shelf.name}-nowhere", "Key": "a"}
    assert refusal(lambda: shelf.s3.get_object(**elsewhere)) == (404, "NoSuchBucket")
    assert refusal(lambda: shelf.s3.put_object(Body=b"", **elsewhere)) == (404, "NoSuchBucket")


def test_a_put_that_must_be_the_first_is_refused_over_another(shelf: Shelf) -> None:
    shelf.put("a", b"1", IfNoneMatch="*")
    refused = refusal(lambda: shelf.put("a", b"2", IfNoneMatch="*"))
    assert refused == (412, "PreconditionFailed")
    assert shelf.get("a") == b"1"
    shelf.delete("a")
    shelf.put("a", b"3", IfNoneMatch="*")
    assert shelf.get("a") == b"3"


def test_a_put_over_a_version_is_refused_over_another(shelf: Shelf) -> None:
    first = shelf.put("a", b"1")["ETag"]
    second = shelf.put("a", b"2", IfMatch=first.strip('"'))["ETag"]
    refused = refusal(lambda: shelf.put("a", b"3", IfMatch=first))
    assert refused == (412, "PreconditionFailed")
    shelf.put("a", b"3", IfMatch=second)
    assert shelf.get("a") == b"3"
    assert refusal(lambda: shelf.put("b", b"1", IfMatch=second))[0] in {404, 412}


def test_a_deletion_of_a_version_is_refused_over_another(shelf: Shelf) -> None:
    first = shelf.put("a", b"1")["ETag"]
    second = shelf.put("a", b"2")["ETag"]
    assert refusal(lambda: shelf.delete("a", IfMatch=first)) == (412, "PreconditionFailed")
    assert shelf.get("a") == b"2"
    shelf.delete("a", IfMatch=second)
    assert refusal(lambda: shelf.get("a")) == (404, "NoSuchKey")


def test_content_is_stored_with_its_checksum(shelf: Shelf) -> None:
    shelf.put("a", b"one", ChecksumSHA256=checksum(b"one"))
    assert shelf.get("a") == b"one"


def test_content_that_is_not_what_its_checksum_says_is_refused(clock: FakeClock) -> None:
    """In memory, as S3 does; moto takes whatever comes."""
    shelf = Shelf(MemoryAccount(clock))
    refused = refusal(lambda: shelf.put("a", b"two", ChecksumSHA256=checksum(b"one")))
    assert refused == (400, "BadDigest")
    assert shelf.keys() == []


def test_a_listing_is_sorted_by_bytes_and_has_pages(shelf: Shelf) -> None:
    names = ["b", "a", "a/1", "a-1", "朝", "\U0001f980", "\uff21", "A"]
    for name in names:
        shelf.put(f"x/{name}")
    shelf.put("y/other")
    in_order = sorted((f"x/{name}" for name in names), key=str.encode)
    assert shelf.keys("x/") == in_order
    found, token = list[str](), dict[str, str]()
    while True:
        page = shelf.listed("x/", MaxKeys=3, **token)
        found += [each["Key"] for each in page["Contents"]]
        if not page["IsTruncated"]:
            break
        token = {"ContinuationToken": page["NextContinuationToken"]}
    assert found == in_order
    assert shelf.keys("x/a", MaxKeys=1) == ["x/a"]
    assert "Contents" not in shelf.listed("z/")


def test_a_listing_tells_of_each_object(shelf: Shelf, clock: FakeClock) -> None:
    made = shelf.put("a", b"four")
    (found,) = shelf.listed()["Contents"]
    assert (found["Size"], found["ETag"]) == (4, made["ETag"])
    assert abs((found["LastModified"] - clock.now()).total_seconds()) <= 1


def test_versions_are_told_the_newest_first_with_the_marks_beside(
    shelf: Shelf, clock: FakeClock
) -> None:
    made = list[str]()
    for content in (b"1", b"2", b"3"):
        made.append(shelf.put("a", content)["VersionId"])
        clock.advance(1)
    mark = shelf.delete("a")["VersionId"]
    shelf.put("a/b", b"other")
    told = shelf.versions("a")
    of_a = [each for each in told["Versions"] if each["Key"] == "a"]
    assert [each["VersionId"] for each in of_a] == made[::-1]
    assert not any(each["IsLatest"] for each in of_a)
    assert [each["Size"] for each in of_a] == [1, 1, 1]
    (marked,) = told["DeleteMarkers"]
    assert (marked["VersionId"], marked["IsLatest"], marked["Key"]) == (mark, True, "a")
    assert "ETag" not in marked


def test_versions_have_pages(shelf: Shelf, clock: FakeClock) -> None:
    made = list[str]()
    for number in range(5):
        made.append(shelf.put("a", f"{number}".encode())["VersionId"])
        clock.advance(1)
    made.append(shelf.delete("a")["VersionId"])
    found, marker = list[str](), dict[str, str]()
    while True:
        page = shelf.versions("a", MaxKeys=2, **marker)
        both = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
        found += [each["VersionId"] for each in both]
        if not page["IsTruncated"]:
            break
        marker = {"KeyMarker": page["NextKeyMarker"]}
        if "NextVersionIdMarker" in page:
            marker["VersionIdMarker"] = page["NextVersionIdMarker"]
    assert sorted(found) == sorted(made)
    assert shelf.versions("a", MaxKeys=1)["DeleteMarkers"][0]["VersionId"] == made[-1]


@pytest.mark.parametrize("wrong", [{}, {"Key": "a", "Body": 5}, {"Key": "a", "Metadata": "x"}])
def test_a_call_that_botocore_refuses_is_refused(shelf: Shelf, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParamValidationError):
        shelf.s3.put_object(Bucket=shelf.name, **wrong)
