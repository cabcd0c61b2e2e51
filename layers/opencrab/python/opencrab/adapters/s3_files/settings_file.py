"""The settings file in an installation's bucket, with its versions, as operators change it."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from opencrab.adapters.s3_files.bucket import Bucket, s3_version_id
from opencrab.domain.configuration.uploaded_file import (
    CHECKED_KEY,
    MOST_UPLOADED_BYTES,
    SETTINGS_KEY,
)
from opencrab.domain.errors import Unavailable
from opencrab.ports.installation.deployed_settings import SettingsFileVersion

MOST_VERSIONS = 100


class S3SettingsFile:
    """`ports.installation.deployed_settings.DeployedSettingsFile` in a versioned bucket.

    What was checked is also kept beside it, for functions that find a wrong file.
    """

    def __init__(self, client: Any, bucket: str) -> None:
        self._bucket = Bucket(client, bucket)

    @property
    def place(self) -> str:
        return f"s3://{self._bucket.name}/{SETTINGS_KEY}"

    def read(self, version_id: str | None = None) -> bytes | None:
        found = self._bucket.get(SETTINGS_KEY, MOST_UPLOADED_BYTES, version_id)
        return None if found is None else found[1]

    def replace(self, content: bytes) -> str:
        # The copy first: whoever finds the new file wrong finds no older copy than it.
        self._store(CHECKED_KEY, content)
        return self._store(SETTINGS_KEY, content)

    def versions(self) -> Sequence[SettingsFileVersion]:
        return [
            SettingsFileVersion(each.version_id, each.at, each.size, each.is_latest)
            for each in self._bucket.versions(SETTINGS_KEY, MOST_VERSIONS)
        ]

    def _store(self, key: str, content: bytes) -> str:
        stored = self._bucket.put(key, content, sha256(content).hexdigest(), {})
        if stored is None:
            raise Unavailable(f"{self.place} was not stored", cure="try again")
        return s3_version_id(stored)
