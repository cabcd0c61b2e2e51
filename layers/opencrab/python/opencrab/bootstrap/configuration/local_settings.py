"""The owner's settings files on this machine: where they are, and what is set in them."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencrab import settings
from opencrab.adapters.local_files.settings_file import read_settings_file
from opencrab.domain.errors import Invalid
from opencrab.ports.installation.configuration import SettingsPaths
from opencrab.settings import EffectiveSetting, OwnerSettings

if TYPE_CHECKING:
    from opencrab.ports.access.secrets import Secrets
    from opencrab.settings import Settings

log = logging.getLogger(__name__)

DOTENV_FILE, _PREFIX = ".env", "OPENCRAB_"
_DRAFT, _SECRETS = "draft", "secrets.json"


class LocalSettings:
    """The settings of this machine, read again at each call.

    A file that became wrong meanwhile leaves the owner's settings as they were. `folder` is that of
    the defaults, if they are not those of this installation. `draft` has values that are not
    written yet and count over those of the files, and `draft_secrets` keys that are not stored yet.
    """

    def __init__(
        self,
        places: SettingsPaths,
        *,
        folder: Path | None = None,
        draft: Mapping[str, Any] | None = None,
        draft_secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.places = places
        self.draft_secrets = draft_secrets or {}
        given = (draft or {}).items()
        self._draft = {name: EffectiveSetting(value, _DRAFT) for name, value in given}
        self._folder = folder
        self._known: OwnerSettings | None = None

    def load(
        self,
        overrides: Mapping[str, Any],
        environment: Mapping[str, str] | None = None,
        *,
        secret: Callable[[str], str | None] | None = None,
    ) -> "Settings":
        """Read the settings; raises Invalid, naming file and line."""
        try:
            self._known = read_owner_settings(self.places, folder=self._folder)
        except Invalid as error:
            if self._known is None:
                raise
            log.warning("settings file is wrong, keeping what was read before: %s", error.message)
        own = self._known
        if self._draft or self.draft_secrets:
            variables = {**own.variables, **self.draft_secrets}
            own = OwnerSettings({**own.values, **self._draft}, variables)
        found = settings.load_settings(
            overrides, environment, folder=self._folder, secret=secret, own=own
        )
        self._require_changeable(found)
        return found

    def stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        """Return what changes when one of the files, or a stored key, does."""
        return tuple(map(_file_stamp, self._stamped))

    @cached_property
    def _stamped(self) -> tuple[str, ...]:
        data = self.places.data
        return tuple(map(str, (*self.places.files, data / DOTENV_FILE, data / _SECRETS)))

    def _require_changeable(self, found: "Settings") -> None:
        """Raise Invalid if a variable sets what cannot be changed; files were checked before."""
        of_variables = {
            name: each for name, each in found.values.items() if each.source.startswith(_PREFIX)
        }
        if not of_variables:
            return
        from opencrab.domain.configuration.rules import UNCHANGEABLE

        for name in UNCHANGEABLE.keys() & of_variables.keys():
            setting = of_variables[name]
            if setting.value in UNCHANGEABLE[name]:
                continue
            from opencrab.bootstrap.configuration.fault_text import configuration_fault_texts
            from opencrab.domain.configuration.file_check import SettingFault
            from opencrab.domain.configuration.rules import setting_rule_problem

            problem = setting_rule_problem(name, setting.value)
            fault = SettingFault(0, name, problem, setting.value)
            what, cure = configuration_fault_texts(fault, None, self.places.language)
            raise Invalid(f"{setting.source}: {what}", field=name, cure=cure)

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """The variables of `.env` in the data folder."""
        return dotenv_variables(self.places.data)


@dataclass(frozen=True)
class SecretsWithDraft:
    """`ports.access.secrets.Secrets` with some that are not stored yet, which count first."""

    stored: "Secrets"
    draft: Mapping[str, str] = field(repr=False)

    def get(self, name: str) -> str | None:
        return self.draft.get(name) or self.stored.get(name)

    def put(self, name: str, value: str) -> None:
        self.stored.put(name, value)

    def forget(self) -> None:
        self.stored.forget()


def read_owner_settings(places: SettingsPaths, *, folder: Path | None = None) -> OwnerSettings:
    """Read the owner's files; raises Invalid for the first fault, naming file and line."""
    values: dict[str, EffectiveSetting] = {}
    for path in places.files:
        text = _text_of(path, places.language)
        if text is None:
            if places.named and path == places.user:
                raise Invalid(
                    f"there is no file {path}", cure="correct --config or OPENCRAB_CONFIG"
                )
            continue
        values |= _values_of(path, text, places.language, folder)
    return OwnerSettings(values, dotenv_variables(places.data))


def _text_of(path: Path, language: str) -> str | None:
    try:
        return read_settings_file(path)
    except Invalid as error:
        from opencrab.bootstrap.configuration.fault_text import raised_configuration_fault_texts

        words = raised_configuration_fault_texts(error, language)
        if words is None:
            raise
        line = getattr(error, "line", 0)
        where = f"{path}:{line}" if line else path
        raise Invalid(f"{where}: {words[0]}", cure=words[1]) from error


def dotenv_variables(data: Path) -> Mapping[str, str]:
    """Return the variables of `.env` in a data folder; raises Invalid for a line that sets none."""
    path = data / DOTENV_FILE
    text = read_settings_file(path)
    if text is None:
        return {}
    from opencrab.domain.configuration.dotenv import parse_dotenv_text

    variables, wrong = parse_dotenv_text(text)
    if wrong:
        # The line is not shown: it may contain a secret.
        raise Invalid(f"{path}:{wrong[0]}: this line sets no variable", cure="write NAME=value")
    return variables


@contextmanager
def naming_setting_sources(configured: "Settings") -> Iterator[None]:
    """Add the file and line of the setting to an Invalid that names one of the owner's settings."""
    try:
        yield
    except Invalid as error:
        found = configured.values.get(error.field or "")
        source = "" if found is None else found.source
        if not source.rpartition(":")[2].isdigit() or error.message.startswith(source):
            raise
        raise Invalid(f"{source}: {error.message}", field=error.field, cure=error.cure) from error


def _file_stamp(path: str) -> tuple[int, int, int] | None:
    """Return what tells a file's content from the one before; None without the file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked at every choice of a model: a Path takes longer
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _values_of(
    path: Path, text: str, language: str, folder: Path | None
) -> dict[str, EffectiveSetting]:
    from opencrab.bootstrap.configuration.fault_text import configuration_error
    from opencrab.domain.configuration.file_check import check_settings_text

    defaults = settings.load_settings({}, {}, folder=folder).values
    checked = check_settings_text(text, tuple(defaults))
    if checked.faults:
        first, *more = checked.faults
        known = defaults.get(first.name)
        default = None if known is None else known.value
        raise configuration_error(path, first, default, language, len(more))
    return {
        name: EffectiveSetting(value, f"{path}:{checked.lines[name]}")
        for name, value in checked.values.items()
    }
