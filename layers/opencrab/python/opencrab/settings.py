"""Settings: configured values by name, each with its source.

A setting comes from `config/default.toml`, from files of the owner, from an `OPENCRAB_SECTION__KEY`
environment variable, or from the command line; the later one wins. `${VAR}` in a file takes the
variable's value. An unknown name is rejected, since a misspelt limit would be no limit.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from opencrab.domain.configuration.variable_value import (
    setting_of_variable,
    variable_of_setting,
    variable_value_like,
)
from opencrab.domain.errors import Invalid

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PROVIDERS = "llm.providers."
_MAY_BE_ABSENT = (_PROVIDERS, "gateway.", "web.", "mcp.servers.", "telemetry.", "actions.values.")
"""Sections whose subsections may lack a variable; the subsection is then disabled and reported."""

_VENDOR_VARIABLES = frozenset(
    {"OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"}
)
_UTC = frozenset({"Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"})
_HERE = Path(__file__).parent
_CONFIG_FOLDERS = (_HERE / "config", *(above / "config" for above in _HERE.parents[1:4]))
"""Possible places: inside a wheel's package, beside `python/` in a layer, at a checkout's root."""
_parse_toml = lru_cache(maxsize=4)(tomllib.loads)
_SKILL_FOLDERS = tuple(place.with_name("skills") for place in _CONFIG_FOLDERS)


@dataclass(frozen=True)
class EffectiveSetting:
    """A setting's value and its source."""

    value: Any = field(repr=False)
    source: str


@dataclass(frozen=True)
class OwnerSettings:
    """What an owner set: settings of files by dotted name, and variables of a file `.env`.

    The process's variables override those of `.env`, but do not set what `replaces` names.
    """

    values: Mapping[str, EffectiveSetting] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    replaces: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Settings:
    """All settings, by dotted name; `absent` names the variable that a section lacks.

    `variables` names the first variable that each setting of the file takes its value from, and
    `shipped` has the defaults of settings that something else sets.
    """

    values: Mapping[str, EffectiveSetting]
    pricing: Mapping[str, Any] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    shipped: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def effective(self, name: str, **scopes: Mapping[str, Any]) -> EffectiveSetting:
        """Return a setting from the narrowest scope that sets it.

        `scopes` are the scopes' settings from wide to narrow, as in `agent={...}, session={...}`.
        Raises Invalid for a name that does not exist.
        """
        if name not in self.values:
            raise Invalid(
                f"there is no setting {name!r}",
                field=name,
                cure="docs/reference/configuration.md lists the settings",
            )
        found = self.values[name]
        for scope, own in scopes.items():
            if own.get(name) is not None:
                found = EffectiveSetting(own[name], scope)
        return found

    def get(self, name: str) -> Any:
        """Return a setting's value for the whole installation."""
        return self.effective(name).value

    def absent_below(self, section: str) -> dict[str, str]:
        """Return the disabled subsections of a section, each with the variable that it lacks."""
        prefix = f"{section}."
        return {
            part.removeprefix(prefix): variable
            for part, variable in self.absent.items()
            if part.startswith(prefix)
        }

    def variables_of(self, key: str, section: str) -> dict[str, str]:
        """Return the variable behind a key of each subsection, if it has one."""
        start, end = f"{section}.", f".{key}"
        return {
            name.removeprefix(start).removesuffix(end): variable
            for name, variable in self.variables.items()
            if name.startswith(start) and name.endswith(end)
        }

    def table(self, section: str) -> dict[str, Any]:
        """Return a section as nested tables, as in the file."""
        nested: dict[str, Any] = {}
        for name, found in self.values.items():
            if name.startswith(f"{section}."):
                *path, key = name.removeprefix(f"{section}.").split(".")
                place = nested
                for part in path:
                    place = place.setdefault(part, {})
                if isinstance(found.value, Mapping):
                    place.setdefault(key, {})
                else:
                    place[key] = found.value
        return nested


def load_settings(
    overrides: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
    secret: Callable[[str], str | None] | None = None,
    own: OwnerSettings | None = None,
) -> Settings:
    """Read the files and the environment; overrides (from the command line) win.

    `secret` is called for variables that the environment does not have, and `own` are the owner's
    settings. Raises Invalid, naming the file, the setting or the variable.
    """
    environ: Mapping[str, str] = os.environ if environment is None else environment
    if own is not None:
        replaced = {variable_of_setting(name) for name in own.replaces}
        environ = {**own.variables, **{key: environ[key] for key in environ.keys() - replaced}}
    found = _folder(folder)
    defaults = dict(_flat(_read_toml(found / "default.toml")))
    written = dict(defaults)
    origins = _set_own(written, own)
    _set_vendor_addresses(written, origins, environ)
    given = _from_environment(written, environ)
    for name, value in overrides.items():
        if name not in written:
            raise Invalid(
                f"there is no setting {name!r}",
                field=name,
                cure="docs/reference/configuration.md lists the settings",
            )
        if value is not None:
            given[name] = EffectiveSetting(value, "command line")
    values, absent = _from_file(written, given, _Variables(environ, secret), origins)
    variables = {
        name: named[1]
        for name, value in written.items()
        if isinstance(value, str) and (named := _VARIABLE.search(value))
    }
    shipped = {name: defaults[name] for name in (*origins, *given) if name in defaults}
    return Settings(values | given, _read_toml(found / "pricing.toml"), absent, variables, shipped)


@cache
def public_prices_of_settings(*, folder: Path | None = None) -> Mapping[str, Any]:
    """Read the public prices of models from config/models.json, once per process."""
    path = _folder(folder) / "models.json"
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(found, Mapping):
        raise _unreadable(path, TypeError("it is not a JSON object"))
    return found


def aws_pricing_settings(*, folder: Path | None = None) -> Mapping[str, Any]:
    """Read AWS prices and an installation's typical usage from config/aws-pricing.toml."""
    return _read_toml(_folder(folder) / "aws-pricing.toml")


def settings_schema(*, folder: Path | None = None) -> str:
    """Read the JSON Schema of settings files from config/schema.json."""
    path = _folder(folder) / "schema.json"
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def skills_folder_setting() -> Path:
    """Return the folder of the shipped skills; raises Invalid if it is missing."""
    places = (place for place in _SKILL_FOLDERS if (place / "task-execution").is_dir())
    found = next(places, None)
    if found is None:
        raise Invalid(
            f"the folder of skills is missing at {str(_SKILL_FOLDERS[0])!r}",
            cure="install OpenCrab again",
        )
    return found


def owner_key_setting(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the owner key from OPENCRAB_OWNER_KEY, None if it is not set."""
    environ = os.environ if environment is None else environment
    return environ.get("OPENCRAB_OWNER_KEY") or None


def machine_time_zone_setting(
    environment: Mapping[str, str] | None = None, *, etc: Path = Path("/etc")
) -> str:
    """Return this machine's time zone: of TZ, /etc/localtime or /etc/timezone; UTC if none says."""
    # Loaded only where rules are read, not by the functions that must start fast.
    from opencrab.domain.agents.heartbeat import is_agent_time_zone_name  # noqa: PLC0415

    environ = os.environ if environment is None else environment
    found = [environ.get("TZ", "").removeprefix(":")]
    with suppress(OSError):
        found.append(str((etc / "localtime").readlink()))
    with suppress(OSError, ValueError):
        found.append((etc / "timezone").read_text(encoding="utf-8").strip())
    names = (each.partition("zoneinfo/")[2] or each for each in found)
    name = next((each for each in names if each and is_agent_time_zone_name(each)), "UTC")
    return "UTC" if name in _UTC else name


def _folder(given: Path | None) -> Path:
    """Return the given folder, or the first that has default.toml; raises Invalid if none has."""
    places = _CONFIG_FOLDERS if given is None else (given,)
    found = next((place for place in places if (place / "default.toml").is_file()), None)
    if found is None:
        raise Invalid("config/default.toml is missing", cure="install OpenCrab again")
    return found


def _set_own(written: dict[str, Any], own: OwnerSettings | None) -> dict[str, str]:
    """Put the owner's settings over the written ones; returns where each of them comes from."""
    origins, tables = {}, {name[:n] for name in written for n, c in enumerate(name) if c == "."}
    for name, found in own.values.items() if own is not None else ():
        if found.value == {} and any(x.startswith(f"{name}.") for x in written):
            continue  # an empty section sets nothing
        is_float = isinstance(written.get(name), float) and isinstance(found.value, int)
        if name in tables or isinstance(written.get(name.rpartition(".")[0]), str):
            _drop_other_forms(written, name)
        for each, value in _flat({name: float(found.value) if is_float else found.value}):
            written[each], origins[each] = value, found.source
            tables.update(each[:n] for n, c in enumerate(each) if c == ".")
    return origins


def _drop_other_forms(values: dict[str, Any], name: str) -> None:
    """Remove what a setting replaces: the parts of a table, or the text in place of the table."""
    for each in [one for one in values if one.startswith(f"{name}.")]:
        del values[each]
    table = name.rpartition(".")[0]
    if isinstance(values.get(table), str):
        del values[table]


def _set_vendor_addresses(
    written: dict[str, Any], origins: dict[str, str], environ: Mapping[str, str]
) -> None:
    """Take addresses from the variables of vendors' own libraries, where no other is written."""
    if environ.keys().isdisjoint(_VENDOR_VARIABLES):
        return
    from opencrab.domain.configuration.vendor_address import (  # noqa: PLC0415 - few set one
        VENDOR_ADDRESSES,
        vendor_address,
    )

    for variable, (name, usual) in VENDOR_ADDRESSES.items():
        address = vendor_address(variable, environ.get(variable, ""))
        if address and written.get(name, "") == usual:
            written[name] = address
            origins[name] = variable


def _from_environment(
    written: dict[str, Any], environ: Mapping[str, str]
) -> dict[str, EffectiveSetting]:
    """Return the settings from OPENCRAB_SECTION__KEY variables.

    One for a whole model replaces its parts. Providers may have keys that the file lacks; raises
    Invalid for any other unknown name.
    """
    names = {variable_of_setting(name): name for name in written}
    given = {}
    for variable in environ:
        if (usual := setting_of_variable(variable)) is None:
            continue
        name = names.get(variable, usual)
        is_model = f"{name}.model" in written
        if name not in written and not is_model and not name.startswith(_PROVIDERS):
            raise Invalid(
                f"the environment variable {variable} is not a setting: there is no {name!r}",
                field=variable,
                cure="correct its name (see config/default.toml), or remove it",
            )
        value = variable_value_like(written.get(name, ""), environ[variable], variable)
        given[name] = EffectiveSetting(value, variable)
        if is_model:
            _drop_other_forms(written, name)
    return given


class _Variables:
    """Values for `${NAME}`: a variable of the environment, or a secret of that name."""

    def __init__(
        self, environ: Mapping[str, str], secret: Callable[[str], str | None] | None
    ) -> None:
        self._environ = environ
        self._secret = secret

    def get(self, name: str) -> str | None:
        """Return the value, or None."""
        return self._environ.get(name) or (self._secret(name) if self._secret else None)


def _from_file(
    written: Mapping[str, Any],
    given: Mapping[str, EffectiveSetting],
    environ: _Variables,
    origins: Mapping[str, str],
) -> tuple[dict[str, EffectiveSetting], dict[str, str]]:
    """Return the file's settings with variables filled in, and the variables that sections lack.

    A setting that another source sets needs no variable. Raises Invalid for a missing variable of a
    section that is not optional.
    """
    values: dict[str, EffectiveSetting] = {}
    absent: dict[str, str] = {}
    for name, value in written.items():
        expanded, missing = _expand_variables(value, environ)
        values[name] = EffectiveSetting(expanded, origins.get(name, "default.toml"))
        if not missing or name in given:
            continue
        part = _part(name)
        if part is None:
            raise Invalid(
                f"the environment variable {missing} is not set, and setting {name!r} needs it",
                field=name,
                cure=f"set {missing}, or change {name} in {origins.get(name, 'default.toml')}",
            )
        absent.setdefault(part, missing)
    return values, absent


def _part(name: str) -> str | None:
    """Return the optional section of a setting, or None if the setting is required."""
    for prefix in _MAY_BE_ABSENT:
        if name.startswith(prefix):
            return prefix + name.removeprefix(prefix).split(".")[0]
    return None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return deepcopy(_parse_toml(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> Invalid:
    return Invalid(
        f"configuration file {str(path)!r} cannot be read: {error}",
        cure="correct it, or install OpenCrab again",
    )


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _expand_variables(value: Any, environ: _Variables) -> tuple[Any, str]:
    """Return the value with its variables filled in, and the first one that is not set."""
    if isinstance(value, list):
        parts = [_expand_variables(part, environ) for part in value]
        return [part for part, _ in parts], next((lacks for _, lacks in parts if lacks), "")
    if not isinstance(value, str):
        return value, ""
    for name in _VARIABLE.findall(value):
        if not environ.get(name):
            return "", name
    return _VARIABLE.sub(lambda match: environ.get(match[1]) or "", value), ""
