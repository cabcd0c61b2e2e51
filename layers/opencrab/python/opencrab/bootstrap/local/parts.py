"""The parts of the application that only a server on the owner's computer has."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.settings import Settings


def offer_local_parts(app: Any, configured: "Settings", runtime: "Runtime", data: Path) -> None:
    """Add what only a server on the owner's computer has."""
    from opencrab.bootstrap.local.doctor import running_checks
    from opencrab.bootstrap.websocket import local_websocket
    from opencrab.gateways.rest.conversation.websocket import offer_websocket
    from opencrab.gateways.rest.installation.checks import offer_machine_checks

    offer_websocket(app, local_websocket(configured, runtime))
    offer_machine_checks(app, running_checks(configured, data, runtime.clock))
