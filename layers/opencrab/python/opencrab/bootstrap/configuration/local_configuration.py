"""The settings files of this computer, for the terminal (`ports.installation.configuration`)."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencrab import settings
from opencrab.adapters.local_files.settings_file import read_settings_file, write_settings_file
from opencrab.bootstrap.bedrock import local_aws_profiles
from opencrab.bootstrap.configuration.fault_text import (
    configuration_fault_texts,
    raised_configuration_fault_texts,
)
from opencrab.bootstrap.configuration.local_settings import (
    LocalSettings,
    dotenv_variables,
)
from opencrab.bootstrap.secret_store import local_secret_store
from opencrab.domain.configuration.file_check import (
    SettingFault,
    check_settings_text,
    unknown_setting_problem,
)
from opencrab.domain.configuration.rule import (
    SettingKind,
    SettingRule,
    find_setting_problem,
)
from opencrab.domain.configuration.rules import setting_rule
from opencrab.domain.configuration.toml_text import set_toml_value, unset_toml_value
from opencrab.domain.errors import Invalid, NotFound
from opencrab.ports.installation.configuration import (
    ConfigurationFault,
    SettingChange,
    SettingsDraft,
    SettingsPaths,
    SettingView,
)
from opencrab.ports.models.readiness import ProviderHealth
from opencrab.settings import EffectiveSetting

SCHEMA_FILE = "config.schema.json"
_HEAD = f"#:schema ./{SCHEMA_FILE}\n"
_WORDS = {"true": True, "false": False}


class LocalConfiguration:
    """The settings files of this computer.

    `check` raises Invalid for what is wrong only when all settings are put together, and `probe`
    asks a provider for its list of models. `priced` checks whether a `provider:model` has a price.
    """

    def __init__(
        self,
        places: SettingsPaths,
        check: Callable[[LocalSettings], object],
        probe: Callable[[LocalSettings, str], ProviderHealth],
        priced: Callable[[LocalSettings, str], bool],
    ) -> None:
        self._places = places
        self._check = check
        self._probe = probe
        self._priced = priced
        self._local = LocalSettings(places)

    @property
    def files(self) -> Sequence[Path]:
        return self._places.files

    @property
    def written(self) -> Path:
        """The last file that exists, as it counts over the others; else the user's."""
        there = [each for each in self.files if each.is_file()]
        return there[-1] if there else self.files[0]

    def settings(self) -> Sequence[SettingView]:
        defaults = settings.load_settings({}, {}).values
        found = self._local.load({}, secret=local_secret_store(self._places.data).get).values
        return [
            SettingView(
                name,
                found[name].value,
                found[name].source,
                _default_of(name, defaults),
            )
            for name in sorted(found)
        ]

    def own(self) -> Sequence[SettingView]:
        return [each for each in self.settings() if each.source != "default.toml"]

    def faults(self, file: Path | None = None) -> Sequence[ConfigurationFault]:
        if file is None:
            found = [each for path in self.files for each in self._faults_of(path)]
            found += self._faults_of_dotenv()
            return found or self._faults_together()
        if not file.exists():
            raise NotFound(f"there is no file {file}", cure="correct its name")
        if found := self._faults_of(file):
            return found
        places = replace(self._places, user=file)
        other = LocalConfiguration(places, self._check, self._probe, self._priced)
        return [each for each in other._faults_together() if each.file == file]

    def set(self, name: str, text: str) -> SettingChange:
        return self.change({name: text})[0]

    def unset(self, name: str) -> SettingChange:
        return self.change({name: None})[0]

    def change(self, texts: Mapping[str, str | None]) -> Sequence[SettingChange]:
        path = self.written
        before = changed = self._sound_text(path)
        values: dict[str, Any] = {}
        for name, text in texts.items():
            parts = tuple(name.split("."))
            if text is not None:
                values[name] = self._value(name, text)
                changed = set_toml_value(changed, parts, values[name])
                continue
            shorter = unset_toml_value(changed, parts)
            if shorter == changed:
                raise NotFound(
                    f"{name} is not set in {path}", cure="`opencrab config diff` lists what is"
                )
            changed = shorter
        self._write_if_sound(path, before, changed)
        return [
            SettingChange(path, name, values.get(name), self._overriding(name, path))
            for name in texts
        ]

    def keep_secret(self, name: str, value: str) -> None:
        local_secret_store(self._places.data).put(name, value)

    def require_value(self, name: str, text: str) -> None:
        self._value(name, text)

    def check_provider(self, name: str, draft: SettingsDraft | None = None) -> ProviderHealth:
        if draft is None:
            return self._probe(self._local, name)
        return self._probe(self._with_draft(draft), name)

    def is_model_priced(self, name: str, model: str, draft: SettingsDraft) -> bool:
        return self._priced(self._with_draft(draft), f"{name}:{model}")

    def aws_profiles(self) -> Sequence[str]:
        return local_aws_profiles(os.environ, Path.home())  # noqa: TID251  - AWS's own variables

    def create(self) -> Path:
        path = self.written
        if not path.exists():
            self._write(path, _HEAD)
        return path

    def schema(self) -> str:
        return settings.settings_schema()

    def _with_draft(self, draft: SettingsDraft) -> LocalSettings:
        values = {each: self._value(each, text) for each, text in draft.texts.items()}
        return LocalSettings(self._places, draft=values, draft_secrets=draft.secrets)

    def _value(self, name: str, text: str) -> Any:
        """Return the value of typed text; raises Invalid if the setting must not have it."""
        known = settings.load_settings({}, {}).values
        rule = self._rule(name, tuple(known))
        value = _value_of_text(rule, text)
        if (problem := find_setting_problem(rule, value)) is not None:
            shown = None if rule.kind is SettingKind.SECRET else value
            raise self._error(SettingFault(0, name, problem, shown), _default_of(name, known))
        return value

    def _write_if_sound(self, path: Path, before: str, changed: str) -> None:
        """Write a text; what makes all settings together wrong is taken back and raised."""
        was_wrong = bool(self.faults())
        existed = path.exists()
        self._write(path, changed)
        faults = () if was_wrong else self.faults()
        if not faults:
            return
        if existed:
            write_settings_file(path, before)
        else:
            path.unlink()
        first = faults[0]
        raise Invalid(first.what, field=first.name or None, cure=first.cure or None)

    def _rule(self, name: str, known: Sequence[str]) -> SettingRule:
        rule = setting_rule(name)
        if rule is None or "*" in name:
            raise self._error(SettingFault(0, name, unknown_setting_problem(name, known)), None)
        return rule

    def _error(self, fault: SettingFault, default: object) -> Invalid:
        what, cure = configuration_fault_texts(fault, default, self._places.language)
        return Invalid(what, field=fault.name, cure=cure)

    def _faults_of(self, path: Path) -> list[ConfigurationFault]:
        try:
            text = read_settings_file(path)
        except Invalid as error:
            return [self._raised(error, path, 0)]
        if text is None:
            if self._places.named and path == self._places.user:
                raise NotFound(
                    f"there is no file {path}", cure="correct --config or OPENCRAB_CONFIG"
                )
            return []
        known = settings.load_settings({}, {}).values
        found = []
        for each in check_settings_text(text, tuple(known)).faults:
            default = _default_of(each.name, known)
            what, cure = configuration_fault_texts(each, default, self._places.language)
            found.append(ConfigurationFault(path, each.line, each.name, what, cure))
        return found

    def _faults_of_dotenv(self) -> list[ConfigurationFault]:
        try:
            dotenv_variables(self._places.data)
        except Invalid as error:
            return [self._raised(error, self._places.data / ".env", 0)]
        return []

    def _faults_together(self) -> list[ConfigurationFault]:
        """Return what only shows when all settings are put together, such as an unknown alias."""
        try:
            self._check(self._local)
        except Invalid as error:
            return [self._raised(error, *self._place_of(error.field or ""))]
        return []

    def _raised(self, error: Invalid, path: Path, line: int) -> ConfigurationFault:
        """Return an error as a fault, in the user's language where there are words for it."""
        name, language = error.field or "", self._places.language
        line = line or getattr(error, "line", 0)
        words = raised_configuration_fault_texts(error, language)
        what, cure = words or (error.message, error.cure or "")
        return ConfigurationFault(path, line, name, what, cure)

    def _place_of(self, name: str) -> tuple[Path, int]:
        """Return the file and line that set a setting; line 0 if no file does."""
        with suppress(Invalid):
            for setting, found in self._local.load({}).values.items():
                file, colon, line = found.source.rpartition(":")
                if colon and f"{setting}.".startswith(f"{name}.") and line.isdigit():
                    return Path(file), int(line)
        return self.written, 0

    def _sound_text(self, path: Path) -> str:
        """Return a file's text, empty if there is none; raises Invalid if it is not TOML."""
        text = read_settings_file(path)
        if text is None:
            return _HEAD
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            self._require_sound(path, text)
        return text

    def _require_sound(self, path: Path, text: str) -> None:
        """Raise Invalid for a text that is no TOML: nothing is changed in a file that is broken."""
        for each in check_settings_text(text, ()).faults:
            if each.problem.code.startswith("syntax"):
                raise Invalid(
                    f"{path}:{each.line}: {self._error(each, None).message}",
                    cure="`opencrab config edit` opens the file",
                )

    def _write(self, path: Path, text: str) -> None:
        write_settings_file(path, text)
        if text.startswith("#:schema"):
            write_settings_file(path.with_name(SCHEMA_FILE), self.schema())

    def _overriding(self, name: str, path: Path) -> str:
        """Return what sets the setting over this file; empty if nothing does."""
        with suppress(Invalid):
            found = self._local.load({}).values
            sources = [
                found[each].source
                for each in found
                if f"{each}.".startswith(f"{name}.") or f"{name}.".startswith(f"{each}.")
            ]
            return next(
                (
                    each
                    for each in sources
                    if each != "default.toml" and not each.startswith(f"{path}:")
                ),
                "",
            )
        return ""


def _default_of(name: str, known: Mapping[str, EffectiveSetting]) -> object:
    """Return a setting's default; that of a table has its settings, and None is no default."""
    if name in known:
        return known[name].value
    inner = {
        each.removeprefix(f"{name}."): known[each].value
        for each in known
        if each.startswith(f"{name}.")
    }
    return inner or None


def _value_of_text(rule: SettingRule, text: str) -> Any:
    """Return the value that somebody typed; a text that is none of this type stays a text."""
    if rule.kind is SettingKind.SWITCH:
        return _WORDS.get(text.strip().lower(), text)
    if rule.kind in {SettingKind.WHOLE, SettingKind.NUMBER}:
        return _number_of_text(text)
    if rule.kind in {SettingKind.TEXTS, SettingKind.MODEL}:
        with suppress(tomllib.TOMLDecodeError):
            found = tomllib.loads(f"value = {text}")["value"]
            if isinstance(found, list | dict):
                return found
    if rule.kind is SettingKind.TEXTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _number_of_text(text: str) -> int | float | str:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
