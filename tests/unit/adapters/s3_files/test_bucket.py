"""The bucket's edge: every error says what it means, which bucket, and what to do."""

from io import BytesIO
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from botocore.response import StreamingBody

from opencrab.adapters.s3_files.bucket import Bucket
from opencrab.domain.errors import Unavailable
from opencrab.domain.identifier import content_hash
from tests.unit.adapters.s3_files.trouble import World, key, refusal

CALLS = ["head", "get", "put", "delete", "listed"]


class Failing:
    """A client of which every call ends like this."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return self._raise

    def _raise(self, **_: object) -> None:
        raise self._error


def called(bucket: Bucket, name: str) -> object:
    """Make one of the five calls."""
    arguments: dict[str, tuple[Any, ...]] = {
        "put": ("k", b"x", content_hash(b"x"), {}),
        "delete": ("k", "e"),
    }
    answer = getattr(bucket, name)(*arguments.get(name, ("k",)))
    return list(answer) if name == "listed" else answer


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "error",
    [
        refusal("SlowDown"),
        refusal("InternalError"),
        refusal("503"),
        refusal("NoSuchBucket"),
        refusal("RequestTimeout"),
        ReadTimeoutError(endpoint_url="s3"),
        EndpointConnectionError(endpoint_url="s3"),
    ],
    ids=str,
)
def test_what_may_pass_is_unavailable(error: Exception, name: str) -> None:
    with pytest.raises(Unavailable, match="on bucket 'crab' failed") as refused:
        called(Bucket(Failing(error), "crab"), name)
    assert refused.value.cure


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("code", ["AccessDenied", "403"])
def test_a_missing_right_is_unavailable_and_names_the_cure(code: str, name: str) -> None:
    with pytest.raises(Unavailable, match="bucket 'crab' denies") as refused:
        called(Bucket(Failing(refusal(code)), "crab"), name)
    assert "s3:ListBucket" in str(refused.value.cure)


@pytest.mark.parametrize("code", ["NoSuchKey", "404", "PreconditionFailed", "412"])
def test_a_condition_that_fails_is_an_answer(code: str) -> None:
    bucket = Bucket(Failing(refusal(code)), "crab")
    assert not called(bucket, "put")
    assert not called(bucket, "delete")


def test_a_bucket_that_is_missing_is_named(s3: World) -> None:
    with pytest.raises(Unavailable, match="'missing'"):
        called(Bucket(s3.s3, "missing"), "put")
    with pytest.raises(Unavailable, match="'missing'"):
        called(Bucket(s3.s3, "missing"), "listed")


def test_a_bucket_without_versions_is_refused(s3: World) -> None:
    s3.s3.create_bucket(
        Bucket="plain", CreateBucketConfiguration={"LocationConstraint": "ap-northeast-1"}
    )
    with pytest.raises(Unavailable, match="'plain' has versioning disabled") as refused:
        called(Bucket(s3.s3, "plain"), "put")
    assert "versioning" in str(refused.value.cure)


def test_a_content_that_ends_too_early_is_unavailable(s3: World) -> None:
    class Cut:
        def get_object(self, **_: object) -> dict[str, Any]:
            body = StreamingBody(BytesIO(b"x" * 5), 10)
            return {"ContentLength": 10, "ETag": '"e"', "VersionId": "v", "Body": body}

    with pytest.raises(Unavailable, match="GetObject"):
        Bucket(Cut(), "crab").get("k")


def test_s3_refuses_a_condition_as_this_code_expects(s3: World) -> None:
    s3.put_by_hand("a", b"1")
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": "0" * 32}):
        with pytest.raises(ClientError, match="PreconditionFailed"):
            s3.s3.put_object(Bucket=s3.bucket, Key=key("a"), Body=b"2", **condition)
    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.s3.delete_object(Bucket=s3.bucket, Key=key("a"), IfMatch="0" * 32)
