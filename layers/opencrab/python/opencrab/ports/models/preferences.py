"""Settings of the installation that are changed while it runs, on top of its configuration."""

from dataclasses import dataclass
from typing import Protocol

from opencrab.domain.models.preferences import Preferences


@dataclass(frozen=True)
class StoredPreferences:
    """The preferences and their version; 0 if they were never changed."""

    preferences: Preferences
    version: int = 0


class PreferenceStore(Protocol):
    """One versioned document; turns see a new version before their next model call."""

    def get(self) -> StoredPreferences:
        """Return the stored preferences, strongly consistent."""

    def save(self, preferences: Preferences, version: int) -> StoredPreferences:
        """Store preferences as the version after `version`.

        Raises Conflict if that is not the stored version. From then on
        `StepState.settings_version` is the new version.
        """
