"""Large journal bodies, each in an object named after its own hash."""

import re
from typing import Any

from opencrab.adapters.s3_files.bucket import Bucket
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.identifier import content_hash

_HASH = re.compile(r"[0-9a-f]{64}")


class S3Blobs:
    """Journal bodies under `blobs/` in a bucket.

    A put is never skipped because the object exists: it repairs a damaged one, and resets the age
    by which the bucket's lifecycle rule removes it.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._bucket = Bucket(client, bucket)

    def put(self, sha256: str, content: bytes) -> None:
        if content_hash(content) != sha256:
            raise Invalid(
                f"content does not match hash {sha256!r}",
                field="sha256",
                cure="use the content's SHA-256",
            )
        self._bucket.put(_key(sha256), content, sha256, {})

    def get(self, sha256: str) -> bytes:
        found = self._bucket.get(_key(sha256)) if _HASH.fullmatch(sha256) else None
        content = found[1] if found else None
        if content is None or content_hash(content) != sha256:
            raise NotFound(
                f"blob {sha256!r} is missing or damaged",
                field="sha256",
                cure="restore an earlier version of the object",
            )
        return content

    def remove(self, sha256: str) -> None:
        if not _HASH.fullmatch(sha256):
            return
        for version_id in self._bucket.all_versions(_key(sha256)):
            self._bucket.erase(_key(sha256), version_id)


def _key(sha256: str) -> str:
    return f"blobs/{sha256[:2]}/{sha256[2:]}"
