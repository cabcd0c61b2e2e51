"""Settings of the installation that are changed while it runs, on top of its configuration."""

from dataclasses import dataclass
from typing import Protocol

from opencrab.domain.models.preferences import Preferences


@dataclass(frozen=True)
class StoredPreferences:
    """The preferences and their version; 0 means that nobody ever changed any."""

    preferences: Preferences
    version: int = 0


class PreferenceStore(Protocol):
    """One document with a version, which each turn sees before its next model call."""

    def get(self) -> StoredPreferences:
        """What is kept, strongly consistent."""

    def save(self, preferences: Preferences, version: int) -> StoredPreferences:
        """Keep it as the version after `version`; raises Conflict when that is not the stored one.

        From then on `StepBoundary.settings_version` tells the new version.
        """
