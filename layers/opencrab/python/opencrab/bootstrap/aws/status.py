"""Status of an installation on AWS: setup, budget, and the time of the last heartbeat."""

from typing import TYPE_CHECKING, Any

from opencrab import __version__, settings
from opencrab.adapters.dynamodb.pulse import DynamoPulse
from opencrab.bootstrap.aws.models import aws_models_from_settings
from opencrab.bootstrap.rules import configured_budget_limits, configured_engine_rules
from opencrab.domain.errors import Unavailable
from opencrab.ports.money.budgets import Budgets

if TYPE_CHECKING:
    from opencrab.settings import Settings


def aws_setup_status(
    configured: "Settings", budgets: Budgets, pulse: DynamoPulse
) -> dict[str, Any]:
    """Return what is configured: version, resources, default model, budget and heartbeat."""
    default = aws_models_from_settings(settings.load_settings, None).default
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
        "missing": [],
    }


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
