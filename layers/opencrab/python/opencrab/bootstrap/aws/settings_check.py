"""What a settings file must be on AWS: checked before it is uploaded, and before it counts."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencrab import settings
from opencrab.bootstrap.configuration.fault_text import (
    configuration_error,
    configuration_fault_texts,
)
from opencrab.domain.configuration.file_check import CheckedFile, check_settings_text
from opencrab.domain.configuration.stack_parameters import (
    find_stack_parameter_faults,
    parameters_replaced_by_file,
)
from opencrab.domain.configuration.uploaded_file import MOST_UPLOADED_BYTES
from opencrab.domain.errors import Invalid
from opencrab.ports.installation.configuration import ConfigurationFault
from opencrab.settings import EffectiveSetting, OwnerSettings

if TYPE_CHECKING:
    from opencrab.adapters.web.search import SearchTransport
    from opencrab.settings import Settings


def owner_settings_of_deployed_text(
    name: str, content: bytes, language: str = "en"
) -> OwnerSettings:
    """Return the settings of a file for AWS; `name` is how errors call it.

    Raises Invalid for the first fault, with its line.
    """
    checked = check_deployed_settings_text(name, content)
    if checked.faults:
        first, *more = checked.faults
        known = settings.load_settings({}, {}).values
        default = known[first.name].value if first.name in known else None
        raise configuration_error(Path(name), first, default, language, len(more))
    values = {
        setting: EffectiveSetting(value, f"{name}:{checked.lines[setting]}")
        for setting, value in checked.values.items()
    }
    return OwnerSettings(values, replaces=parameters_replaced_by_file(values))


def check_deployed_settings_text(name: str, content: bytes) -> CheckedFile:
    """Read the text of a file for AWS, with all its faults; raises Invalid if it is no text."""
    if len(content) > MOST_UPLOADED_BYTES:
        raise Invalid(f"{name} is larger than {MOST_UPLOADED_BYTES:,} bytes", cure="shorten it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Invalid(
            f"{name}:{line}: the file is not in UTF-8", cure="save it in UTF-8 with your editor"
        ) from error
    checked = check_settings_text(text, tuple(settings.load_settings({}, {}).values))
    faults = (*checked.faults, *find_stack_parameter_faults(checked))
    ordered = sorted(faults, key=lambda fault: fault.line)
    return CheckedFile(checked.values, checked.lines, tuple(ordered))


def deployed_settings_faults(
    name: str, content: bytes, language: str
) -> Sequence[ConfigurationFault]:
    """Return all that is wrong with a file for AWS; `name` is how it is called."""
    file = Path(name)
    try:
        checked = check_deployed_settings_text(name, content)
        if not checked.faults:
            own = owner_settings_of_deployed_text(name, content, language)
            require_settings_that_work_on_aws(own, {})
    except Invalid as error:
        return [ConfigurationFault(file, 0, error.field or "", error.message, error.cure or "")]
    known = settings.load_settings({}, {}).values
    found = []
    for each in checked.faults:
        default = known[each.name].value if each.name in known else None
        what, cure = configuration_fault_texts(each, default, language)
        found.append(ConfigurationFault(file, each.line, each.name, what, cure))
    return found


def require_settings_that_work_on_aws(
    own: OwnerSettings, environment: Mapping[str, str] | None = None
) -> None:
    """Raise Invalid for what only shows when all settings are put together, with file and line."""
    from opencrab.bootstrap.aws.models import aws_models_from_settings
    from opencrab.bootstrap.configuration.local_settings import naming_setting_sources
    from opencrab.bootstrap.rules import configured_engine_rules
    from opencrab.bootstrap.web import configured_web_access

    load = partial(_load_with, own, environment)
    configured = load({})
    with naming_setting_sources(configured):
        configured_engine_rules(configured)
        configured_web_access(configured, _no_transport)
        aws_models_from_settings(load, None)


def _load_with(
    own: OwnerSettings,
    environment: Mapping[str, str] | None,
    overrides: Mapping[str, Any],
    *,
    secret: Callable[[str], str | None] | None = None,
) -> "Settings":
    return settings.load_settings(overrides, environment, secret=secret, own=own)


def _no_transport() -> "SearchTransport":
    raise AssertionError("a check sends nothing")
