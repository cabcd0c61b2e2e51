"""The settings file of an installation on AWS, as its operator reads and replaces it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opencrab.ports.installation.configuration import ConfigurationFault


@dataclass(frozen=True)
class SettingsFileVersion:
    """One version of the file, and whether it is the one that functions read."""

    version_id: str
    at: datetime
    size: int
    is_current: bool


class DeployedSettingsFile(Protocol):
    """The file in the bucket of one stage; every call raises Unavailable."""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        ...

    def read(self, version_id: str | None = None) -> bytes | None:
        """Return the content of the current version, or of another; None if there is none."""
        ...

    def replace(self, content: bytes) -> str:
        """Upload a checked content, and return the id of its version."""
        ...

    def versions(self) -> Sequence[SettingsFileVersion]:
        """Return the versions that are left, the newest first."""
        ...


class DeployedSettings(Protocol):
    """The settings files of an operator's installations on AWS."""

    def open(self, stage: str) -> DeployedSettingsFile:
        """Find the file of a stage; raises Invalid for a stage, NotFound, Unavailable."""
        ...

    def faults(self, name: str, content: bytes, language: str) -> "Sequence[ConfigurationFault]":
        """Return all that is wrong with a content for AWS, in words; it asks nobody."""
        ...
