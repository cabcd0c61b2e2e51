"""Versioned buckets of Amazon S3 in memory: objects, their versions, conditions and listings.

The contracts of files, blobs and snapshots are held against them as against moto. What AWS
documents and moto does too: a write takes effect whole or not at all, a condition is judged against
the current version, a deletion without a version leaves a mark, listings are in the order of the
keys' bytes and come a thousand at a time, and times are told in whole seconds.
"""

import hashlib
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Any

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from tests.aws_memory.client import Answer, Fields, MemoryClient, client_error

MOST_LISTED = 1_000
MOST_KEY_BYTES = 1_024
_MISMATCH = "At least one of the pre-conditions you specified did not hold"


@dataclass(frozen=True)
class StoredVersion:
    """One version of an object; a mark of deletion has no content."""

    version_id: str
    at: datetime
    content: bytes | None = None
    metadata: dict[str, str] | None = None

    @property
    def etag(self) -> str:
        """The content's MD5 in quotes."""
        return f'"{hashlib.md5(self.content or b"", usedforsecurity=False).hexdigest()}"'


@dataclass(frozen=True)
class _Page:
    """A part of a listing, and whether there is more."""

    entries: list[tuple[str, StoredVersion]]
    is_truncated: bool


StoredBucket = dict[str, list[StoredVersion]]
"""The versions of each object, the oldest first."""


class MemoryBuckets:
    """All buckets of an account; `client` is what adapters call. Each call is atomic."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._one_call = threading.RLock()
        self._buckets: dict[str, StoredBucket] = {}
        self._numbers = 0
        self.client: Any = MemoryClient(
            "s3",
            {
                "PutObject": (
                    self._atomic(self._put),
                    "Bucket Key Body ChecksumSHA256 Metadata IfMatch IfNoneMatch",
                ),
                "GetObject": (self._atomic(self._get), "Bucket Key VersionId"),
                "HeadObject": (self._atomic(self._head), "Bucket Key VersionId"),
                "DeleteObject": (self._atomic(self._delete), "Bucket Key VersionId IfMatch"),
                "ListObjectsV2": (
                    self._atomic(self._list),
                    "Bucket Prefix MaxKeys ContinuationToken",
                ),
                "ListObjectVersions": (
                    self._atomic(self._list_versions),
                    "Bucket Prefix MaxKeys KeyMarker VersionIdMarker",
                ),
            },
        )

    def create(self, name: str) -> StoredBucket:
        """An empty bucket."""
        return self._buckets.setdefault(name, {})

    def _atomic(self, do: Answer) -> Answer:
        def call(given: Fields) -> Fields:
            with self._one_call:
                return do(given)

        return call

    def _bucket(self, given: Fields, operation: str) -> StoredBucket:
        found = self._buckets.get(given["Bucket"])
        if found is None:
            message = "The specified bucket does not exist"
            raise client_error(operation, 404, "NoSuchBucket", message)
        return found

    def _put(self, given: Fields) -> Fields:
        bucket, key, content = self._bucket(given, "PutObject"), given["Key"], _read(given["Body"])
        if len(key.encode()) > MOST_KEY_BYTES:
            raise client_error("PutObject", 400, "KeyTooLongError", "Your key is too long")
        checksum = b64encode(hashlib.sha256(content).digest()).decode()
        if given.get("ChecksumSHA256", checksum) != checksum:
            message = "The SHA256 you specified did not match the calculated checksum."
            raise client_error("PutObject", 400, "BadDigest", message)
        current = _current(bucket, key)
        if "IfNoneMatch" in given and current is not None:
            raise client_error("PutObject", 412, "PreconditionFailed", _MISMATCH)
        if "IfMatch" in given:
            if current is None:
                raise _no_such_key("PutObject")
            _check_etag("PutObject", given, current)
        stored = StoredVersion(
            self._version_id(), self._second(), content, dict(given.get("Metadata", {}))
        )
        bucket.setdefault(key, []).append(stored)
        return {"ETag": stored.etag, "VersionId": stored.version_id}

    def _get(self, given: Fields) -> Fields:
        found = self._found(given, "GetObject")
        content = found.content or b""
        return {**_head_of(found), "Body": StreamingBody(BytesIO(content), len(content))}

    def _head(self, given: Fields) -> Fields:
        try:
            return _head_of(self._found(given, "HeadObject"))
        except ClientError as error:
            # An answer without a body has no code but its status.
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            message = {404: "Not Found", 405: "Method Not Allowed"}.get(status, "Bad Request")
            raise client_error("HeadObject", status, str(status), message) from error

    def _found(self, given: Fields, operation: str) -> StoredVersion:
        bucket, key = self._bucket(given, operation), given["Key"]
        if "VersionId" not in given:
            current = _current(bucket, key)
            if current is None:
                raise _no_such_key(operation)
            return current
        if not _is_version_id(given["VersionId"]):
            raise client_error(operation, 400, "InvalidArgument", "Invalid version id specified")
        for each in bucket.get(key, ()):
            if each.version_id == given["VersionId"]:
                if each.content is None:
                    message = "The specified method is not allowed against this resource."
                    raise client_error(operation, 405, "MethodNotAllowed", message)
                return each
        message = "The specified version does not exist."
        raise client_error(operation, 404, "NoSuchVersion", message)

    def _delete(self, given: Fields) -> Fields:
        bucket, key = self._bucket(given, "DeleteObject"), given["Key"]
        if "VersionId" in given:
            return self._erase(bucket, key, given["VersionId"])
        if "IfMatch" in given:
            current = _current(bucket, key)
            if current is None:
                raise client_error("DeleteObject", 412, "PreconditionFailed", _MISMATCH)
            _check_etag("DeleteObject", given, current)
        mark = StoredVersion(self._version_id(), self._second())
        bucket.setdefault(key, []).append(mark)
        return {"DeleteMarker": True, "VersionId": mark.version_id}

    @staticmethod
    def _erase(bucket: StoredBucket, key: str, version_id: str) -> Fields:
        if not _is_version_id(version_id):
            message = "Invalid version id specified"
            raise client_error("DeleteObject", 400, "InvalidArgument", message)
        kept = [each for each in bucket.get(key, ()) if each.version_id != version_id]
        if kept:
            bucket[key] = kept
        else:
            bucket.pop(key, None)
        return {"VersionId": version_id}

    def _list(self, given: Fields) -> Fields:
        bucket, after = self._bucket(given, "ListObjectsV2"), given.get("ContinuationToken")
        keys = _keys(bucket, given.get("Prefix", ""))
        page = _page(
            (
                (key, current)
                for key in keys
                if (after is None or key.encode() > after.encode())
                and (current := _current(bucket, key)) is not None
            ),
            given,
        )
        answer: Fields = {"IsTruncated": page.is_truncated, "KeyCount": len(page.entries)}
        if page.entries:
            answer["Contents"] = [_entry(key, each) for key, each in page.entries]
        if page.is_truncated:
            answer["NextContinuationToken"] = page.entries[-1][0]
        return answer

    def _list_versions(self, given: Fields) -> Fields:
        bucket = self._bucket(given, "ListObjectVersions")
        page = _page(_versions_after(bucket, given), given)
        answer: Fields = {"IsTruncated": page.is_truncated}
        for key, each in page.entries:
            shown = {
                "VersionId": each.version_id,
                "IsLatest": each is bucket[key][-1],
                "Key": key,
                "LastModified": each.at,
            }
            if each.content is None:
                answer.setdefault("DeleteMarkers", []).append(shown)
            else:
                answer.setdefault("Versions", []).append({**_entry(key, each), **shown})
        if page.is_truncated:
            key, last = page.entries[-1]
            answer |= {"NextKeyMarker": key, "NextVersionIdMarker": last.version_id}
        return answer

    def _second(self) -> datetime:
        return self._now().replace(microsecond=0)

    def _version_id(self) -> str:
        """As arbitrary as S3's: their order says nothing."""
        self._numbers += 1
        return hashlib.sha256(f"version {self._numbers}".encode()).hexdigest()[:32]


def _current(bucket: StoredBucket, key: str) -> StoredVersion | None:
    """The latest version, unless it is a mark of deletion."""
    versions = bucket.get(key)
    return versions[-1] if versions and versions[-1].content is not None else None


def _keys(bucket: StoredBucket, prefix: str) -> list[str]:
    return sorted((key for key in bucket if key.startswith(prefix)), key=str.encode)


def _versions_after(bucket: StoredBucket, given: Fields) -> Iterator[tuple[str, StoredVersion]]:
    """All versions, the newest of each key first, after the markers."""
    marker, version_marker = given.get("KeyMarker"), given.get("VersionIdMarker")
    for key in _keys(bucket, given.get("Prefix", "")):
        newest_first = bucket[key][::-1]
        if marker is not None and key.encode() <= marker.encode():
            if key != marker or version_marker is None:
                continue
            ids = [each.version_id for each in newest_first]
            newest_first = newest_first[ids.index(version_marker) + 1 :]
        for each in newest_first:
            yield key, each


def _page(entries: Iterator[tuple[str, StoredVersion]], given: Fields) -> _Page:
    most = min(given.get("MaxKeys", MOST_LISTED), MOST_LISTED)
    found = list[tuple[str, StoredVersion]]()
    for each in entries:
        if len(found) == most:
            return _Page(found, is_truncated=most > 0)
        found.append(each)
    return _Page(found, is_truncated=False)


def _entry(key: str, version: StoredVersion) -> Fields:
    return {
        "Key": key,
        "Size": len(version.content or b""),
        "ETag": version.etag,
        "LastModified": version.at,
    }


def _head_of(version: StoredVersion) -> Fields:
    return {
        "ContentLength": len(version.content or b""),
        "ETag": version.etag,
        "VersionId": version.version_id,
        "LastModified": version.at,
        "Metadata": dict(version.metadata or {}),
    }


def _read(body: Any) -> bytes:
    return bytes(body) if isinstance(body, bytes | bytearray) else bytes(body.read())


def _is_version_id(text: str) -> bool:
    return len(text) == 32 and all(letter in "0123456789abcdef" for letter in text)


def _check_etag(operation: str, given: Fields, current: StoredVersion) -> None:
    if given["IfMatch"].strip('"') != current.etag.strip('"'):
        raise client_error(operation, 412, "PreconditionFailed", _MISMATCH)


def _no_such_key(operation: str) -> ClientError:
    message = "The specified key does not exist."
    return client_error(operation, 404, "NoSuchKey", message)
