"""The owner's settings on this computer, as a terminal reads, checks and changes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from opencrab.ports.models.readiness import ProviderHealth


@dataclass(frozen=True)
class SettingsPaths:
    """Where the owner's settings are: a file of the user, and the data folder with another one.

    `named` says that the user's file was named, and must exist; faults are told in `language`.
    """

    user: Path | None = None
    data: Path = Path("data")
    named: bool = False
    language: str = "en"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files in the order in which they are read; the later one wins."""
        own = self.data / "config.toml"
        is_other = self.user is not None and self.user.absolute() != own.absolute()
        return (self.user, own) if self.user is not None and is_other else (own,)


@dataclass(frozen=True)
class ConfigurationFault:
    """What is wrong in a settings file, where, and what to do; line 0 is no line of the file."""

    file: Path
    line: int
    name: str
    what: str
    cure: str


class SettingOrigin(StrEnum):
    """What sets a setting."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    PARAMETER = "parameter"
    COMMAND_LINE = "command_line"
    REST = "rest"


@dataclass(frozen=True)
class SettingView:
    """A setting with its value, where that comes from, and its default."""

    name: str
    value: object = field(repr=False)
    source: str
    default: object = field(default=None, repr=False)

    @property
    def origin(self) -> SettingOrigin:
        """What sets the setting, by its source."""
        if self.source in {"default.toml", "command line"}:
            return SettingOrigin(self.source.removesuffix(".toml").replace(" ", "_"))
        if self.source.startswith("parameter "):
            return SettingOrigin.PARAMETER
        if " /api/" in self.source:
            return SettingOrigin.REST
        is_line = self.source.rpartition(":")[2].isdigit()
        return SettingOrigin.FILE if is_line else SettingOrigin.ENVIRONMENT


@dataclass(frozen=True)
class SettingChange:
    """A changed settings file; `overridden_by` is what sets the same setting and counts instead."""

    file: Path
    name: str
    value: object = field(default=None, repr=False)
    overridden_by: str = ""


@dataclass(frozen=True)
class SettingsDraft:
    """Settings that are not written yet: typed texts by name, and secrets by their variables."""

    texts: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


class Configuration(Protocol):
    """The settings files of this computer."""

    @property
    def files(self) -> Sequence[Path]:
        """The files in the order in which they are read, whether or not they exist."""
        ...

    @property
    def written(self) -> Path:
        """The file that is changed."""
        ...

    def settings(self) -> Sequence[SettingView]:
        """Return every setting in force, by name; raises Invalid for a wrong file."""
        ...

    def own(self) -> Sequence[SettingView]:
        """Return the settings that are not left at their defaults."""
        ...

    def faults(self, file: Path | None = None) -> Sequence[ConfigurationFault]:
        """Return all that is wrong in the files, or in one that need not be in use."""
        ...

    def set(self, name: str, text: str) -> SettingChange:
        """Set a setting from typed text; raises Invalid if it must not have this value."""
        ...

    def unset(self, name: str) -> SettingChange:
        """Remove a setting from the file, so that its default counts; raises NotFound."""
        ...

    def change(self, texts: Mapping[str, str | None]) -> Sequence[SettingChange]:
        """Set several settings at once, and remove those whose text is None; all or none."""
        ...

    def keep_secret(self, name: str, value: str) -> None:
        """Store a secret in the data folder, under the name of its variable."""
        ...

    def require_value(self, name: str, text: str) -> None:
        """Raise Invalid if a setting must not have the value of a typed text."""
        ...

    def check_provider(self, name: str, draft: SettingsDraft | None = None) -> "ProviderHealth":
        """Ask a provider for its list of models, with the settings as they are or would be.

        Raises Invalid for a draft that a setting must not have.
        """
        ...

    def is_model_priced(self, name: str, model: str, draft: SettingsDraft) -> bool:
        """Check whether a provider's model has a price, or costs nothing, as it would be set.

        A model without one is never called.
        """
        ...

    def aws_profiles(self) -> Sequence[str]:
        """Return the names of the AWS profiles of this user; one that the environment names alone.

        Names are as AWS's own files have them, without loading any credentials.
        """
        ...

    def create(self) -> Path:
        """Make the file that is changed, if there is none, and return it."""
        ...

    def schema(self) -> str:
        """Return the JSON Schema of settings files, as text."""
        ...


OpenConfiguration = Callable[[SettingsPaths], Configuration]
"""Opens the settings files at their places."""
