"""Status of an installation on AWS: setup, budget, and the time of the last heartbeat."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opencrab import __version__
from opencrab.adapters.dynamodb.pulse import DynamoPulse
from opencrab.bootstrap.aws.models import aws_models_from_settings
from opencrab.bootstrap.aws.uploaded_settings import UploadedFileState
from opencrab.bootstrap.rules import configured_budget_limits, configured_engine_rules
from opencrab.domain.configuration.variable_value import variable_of_setting
from opencrab.domain.errors import Unavailable
from opencrab.ports.money.budgets import Budgets

if TYPE_CHECKING:
    from opencrab.ports.installation.configuration import SettingView
    from opencrab.settings import Settings


def aws_setup_status(
    load: Callable[..., "Settings"],
    budgets: Budgets,
    pulse: DynamoPulse,
    file: UploadedFileState | None = None,
) -> dict[str, Any]:
    """Return what is configured: version, resources, default model, budget and heartbeat."""
    configured = load({})
    default = aws_models_from_settings(load, None).default
    secrets = str(configured.get("aws.secrets"))
    if not secrets.startswith("ssm:"):
        secrets = secrets.partition(":")[0]  # an ARN names the account
    return {
        "version": __version__,
        "home": {
            "kind": "aws",
            "stage": configured.get("aws.stage"),
            "table": configured.get("aws.table"),
            "secrets": secrets,
        },
        "model": {
            "default": default,
            "notes": [],
        },
        "budget": _budget(configured, budgets),
        "heartbeat": _heartbeat(pulse),
        **({} if file is None else {"settings_file": vars(file)}),
        "missing": [],
    }


def deployed_settings_in_effect(load: Callable[..., "Settings"]) -> "Sequence[SettingView]":
    """Return every setting; the source of one that the template sets names its parameter."""
    from opencrab.domain.configuration.stack_parameters import PARAMETERS, RESOURCE_PARAMETERS
    from opencrab.ports.installation.configuration import SettingView

    parameters = {**PARAMETERS, **RESOURCE_PARAMETERS}
    found = load({}, secret=_kept_elsewhere)
    return [
        SettingView(
            name,
            each.value,
            f"parameter {parameters[name]}"
            if name in parameters and each.source == variable_of_setting(name)
            else each.source,
        )
        for name, each in found.values.items()
    ]


def _kept_elsewhere(name: str) -> str | None:
    """Return no secret: this process need not read them to show that they are hidden."""
    return None if name.endswith("REGION") else "***"


def _budget(configured: "Settings", budgets: Budgets) -> dict[str, Any] | None:
    """Return the budget limits in force; None if the store cannot be reached."""
    try:
        changes = budgets.limits()
    except Unavailable:
        return None
    return configured_budget_limits(configured_engine_rules(configured).limits, changes)


def _heartbeat(pulse: DynamoPulse) -> dict[str, str | None] | None:
    """Return the time of the last heartbeat; None if the store cannot be reached."""
    try:
        last = pulse.last()
    except Unavailable:
        return None
    return {"at": None if last is None else last.isoformat()}
