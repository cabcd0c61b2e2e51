"""One S3 bucket: the calls that files, blobs and snapshots need, and what their errors mean.

It knows keys and bytes, and nothing of agents. A condition that does not hold is an answer; the
rest is Unavailable, a missing right too: whoever runs OpenCrab can cure it, and work must wait.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from opencrab.adapters.aws_client import AWS_ERRORS, aws_error_code
from opencrab.domain.errors import Unavailable

_SHA256 = "sha256"
_CLEAN = "clean"
_YES = "yes"
_MISSING = {"404", "NoSuchKey", "NotFound"}
_MOVED = {"409", "412", "ConditionalRequestConflict", "PreconditionFailed"}
_FORBIDDEN = {"401", "403", "AccessDenied", "Forbidden"}
_CONDITIONAL = {"PutObject", "DeleteObject"}
_CHUNK = 2**20
_NO_VERSION = {"400", "405", "InvalidArgument", "MethodNotAllowed", "NoSuchVersion"}


@dataclass(frozen=True)
class ObjectHead:
    """An object without its content; `sha256` is from its metadata, None if absent there.

    `clean` is metadata too, set by OpenCrab only; `notes` are all metadata.
    """

    size: int
    etag: str
    version_id: str
    sha256: str | None
    clean: bool
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ObjectEntry:
    """One object of a listing."""

    key: str
    size: int
    etag: str
    at: datetime | None = None


@dataclass(frozen=True)
class Version:
    """One version of an object."""

    etag: str
    version_id: str
    size: int
    at: datetime
    is_latest: bool


@dataclass(frozen=True)
class HistoryEntry:
    """One version of an object, or a delete marker, which has no etag."""

    is_latest: bool
    at: datetime
    version_id: str
    etag: str | None


class Bucket:
    """A versioned S3 bucket behind a botocore client."""

    def __init__(self, client: Any, name: str) -> None:
        self.name = name
        self._client = client

    def head(self, key: str) -> ObjectHead | None:
        """Return an object without its content; None if it does not exist."""
        answer = self._call(self._client.head_object, "HeadObject", Key=key)
        return None if answer is None else _parse_object_metadata(answer)

    def get(
        self, key: str, at_most: int | None = None, version_id: str | None = None
    ) -> tuple[ObjectHead, bytes | None] | None:
        """Return an object with its content; None if it does not exist.

        The content is None if it is larger than `at_most` bytes. Without a version id it is the
        latest one.
        """
        which = {} if version_id is None else {"VersionId": version_id}
        answer = self._call(self._client.get_object, "GetObject", Key=key, **which)
        if answer is None:
            return None
        stored, body = _parse_object_metadata(answer), answer["Body"]
        try:
            if at_most is not None and stored.size > at_most:
                return stored, None
            return stored, body.read()
        except AWS_ERRORS as error:
            raise self._unavailable("GetObject", aws_error_code(error)) from error
        finally:
            body.close()

    def save(self, key: str, version_id: str, into: Path) -> bool:
        """Download one version of an object to a file; False if it does not exist."""
        answer = self._call(self._client.get_object, "GetObject", Key=key, VersionId=version_id)
        if answer is None:
            return False
        body = answer["Body"]
        try:
            with into.open("wb") as file:
                while chunk := body.read(_CHUNK):
                    file.write(chunk)
        except AWS_ERRORS as error:
            raise self._unavailable("GetObject", aws_error_code(error)) from error
        finally:
            body.close()
        return True

    def put(
        self,
        key: str,
        content: bytes | BinaryIO,
        sha256: str,
        condition: dict[str, str],
        *,
        clean: bool = False,
        notes: Mapping[str, str] | None = None,
    ) -> str | None:
        """Store an object and return its etag and version id; None if the condition fails.

        S3 verifies the SHA-256 checksum before it stores the object.
        """
        answer = self._call(
            self._client.put_object,
            "PutObject",
            Key=key,
            Body=content,
            ChecksumSHA256=b64encode(bytes.fromhex(sha256)).decode(),
            Metadata={_SHA256: sha256, **({_CLEAN: _YES} if clean else {}), **(notes or {})},
            **condition,
        )
        if answer is None:
            return None
        if "VersionId" not in answer:
            raise Unavailable(
                f"bucket {self.name!r} has versioning disabled",
                cure="enable versioning: it prevents lost updates",
            )
        return new_s3_object_version(answer["ETag"].strip('"'), answer["VersionId"])

    def delete(self, key: str, etag: str) -> bool:
        """Delete an object on condition of its etag; False if the etag does not match."""
        answer = self._call(self._client.delete_object, "DeleteObject", Key=key, IfMatch=etag)
        return answer is not None

    def erase(self, key: str, version_id: str) -> None:
        """Delete one version of an object permanently, or one delete marker."""
        self._call(self._client.delete_object, "DeleteObject", Key=key, VersionId=version_id)

    def listed(self, prefix: str, at_most: int | None = None) -> Iterator[ObjectEntry]:
        """Yield the objects whose keys begin with a prefix."""
        arguments: dict[str, Any] = {"Prefix": prefix}
        if at_most is not None:
            arguments["MaxKeys"] = at_most
        while True:
            answer = self._call(self._client.list_objects_v2, "ListObjectsV2", **arguments)
            if answer is None:
                raise self._unavailable("ListObjectsV2", "there is no such bucket")
            for item in answer.get("Contents", ()):
                yield ObjectEntry(
                    item["Key"], item["Size"], item["ETag"].strip('"'), item.get("LastModified")
                )
            if at_most is not None or not answer.get("IsTruncated"):
                return
            arguments["ContinuationToken"] = answer["NextContinuationToken"]

    def versions(self, key: str, at_most: int) -> list[Version]:
        """Return the newest versions of one object, newest first, also of a deleted one."""
        # As many again may be marks of deletions; the keys that this one begins come after it.
        answer = self._call(
            self._client.list_object_versions,
            "ListObjectVersions",
            Prefix=key,
            MaxKeys=2 * at_most + 1,
        )
        if answer is None:
            raise self._unavailable("ListObjectVersions", "there is no such bucket")
        found = (each for each in answer.get("Versions", ()) if each["Key"] == key)
        return [
            Version(
                etag=each["ETag"].strip('"'),
                version_id=each["VersionId"],
                size=each["Size"],
                at=each["LastModified"],
                is_latest=each["IsLatest"],
            )
            for each in islice(found, at_most)
        ]

    def deleted_at(self, key: str) -> datetime | None:
        """Return when an object was deleted; None if it exists or no version of it is left."""
        answer = self._call(
            self._client.list_object_versions, "ListObjectVersions", Prefix=key, MaxKeys=1
        )
        # The latest version of the shortest key comes first.
        for each in (answer or {}).get("DeleteMarkers", ()):
            if each["Key"] == key and each["IsLatest"]:
                at: datetime = each["LastModified"]
                return at
        return None

    def all_versions(self, key: str) -> list[str]:
        """Return the ids of all versions and delete markers of one object, oldest first.

        The latest comes last: erasing in this order never makes an older version current again.
        """
        return [each.version_id for each in self.history(key)]

    def history(self, key: str) -> list[HistoryEntry]:
        """Return all versions and delete markers of one object, the oldest first, the latest last.

        No other order can be relied on for versions of the same second.
        """
        found = list[HistoryEntry]()
        arguments = dict[str, Any]()
        while True:
            answer = self._call(
                self._client.list_object_versions, "ListObjectVersions", Prefix=key, **arguments
            )
            if answer is None:
                raise self._unavailable("ListObjectVersions", "there is no such bucket")
            listed = (*answer.get("Versions", ()), *answer.get("DeleteMarkers", ()))
            found += (
                HistoryEntry(
                    is_latest=each["IsLatest"],
                    at=each["LastModified"],
                    version_id=each["VersionId"],
                    etag=each["ETag"].strip('"') if "ETag" in each else None,
                )
                for each in listed
                if each["Key"] == key
            )
            if not answer.get("IsTruncated"):
                return sorted(found, key=lambda each: (each.is_latest, each.at, each.version_id))
            arguments["KeyMarker"] = answer["NextKeyMarker"]
            if "NextVersionIdMarker" in answer:
                arguments["VersionIdMarker"] = answer["NextVersionIdMarker"]

    def _call(self, call: Any, operation: str, **arguments: Any) -> dict[str, Any] | None:
        """Call S3; None if the object does not exist or the request's condition fails."""
        try:
            answer: dict[str, Any] = call(Bucket=self.name, **arguments)
        except AWS_ERRORS as error:
            code = aws_error_code(error)
            if code in _MISSING or (code in _MOVED and operation in _CONDITIONAL):
                return None
            if code in _NO_VERSION and "VersionId" in arguments:
                return None
            raise self._unavailable(operation, code) from error
        return answer

    def _unavailable(self, operation: str, why: str) -> Unavailable:
        if why in _FORBIDDEN:
            return Unavailable(
                f"bucket {self.name!r} denies {operation} to this function",
                cure="allow it in the function's role and in the bucket's policy; without "
                "s3:ListBucket, S3 also returns this error for missing objects",
            )
        return Unavailable(
            f"{operation} on bucket {self.name!r} failed: {why}",
            cure="try again; if the error persists, check the bucket's name and region",
        )


def new_s3_object_version(etag: str, version_id: str) -> str:
    """Return etag and version id as one version, never reused as S3's ids are not."""
    return f"{etag}:{version_id}"


def s3_etag_of_version(version: str) -> str:
    """Return the etag of a version, which S3 accepts as a condition."""
    return version.partition(":")[0]


def s3_version_id(version: str) -> str:
    """Return the S3 version id of a version."""
    return version.partition(":")[2]


def _parse_object_metadata(answer: dict[str, Any]) -> ObjectHead:
    metadata = answer.get("Metadata", {})
    return ObjectHead(
        size=answer["ContentLength"],
        etag=answer["ETag"].strip('"'),
        version_id=answer.get("VersionId", "null"),
        sha256=metadata.get(_SHA256),
        clean=metadata.get(_CLEAN) == _YES,
        notes=metadata,
    )
