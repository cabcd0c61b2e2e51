"""The parts of the application that only a server on the owner's computer has."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.settings import Settings


def add_local_server_parts(
    app: Any, configured: "Settings", runtime: "Runtime", data: Path
) -> None:
    """Add what only a server on the owner's computer has, and the page unless it is off."""
    from opencrab.bootstrap.local.doctor import checks_of_running_local_server
    from opencrab.bootstrap.websocket import configured_local_websocket
    from opencrab.bootstrap.world import LaterWorldGate
    from opencrab.gateways.rest.app import withhold_page_from_rest_app
    from opencrab.gateways.rest.local_parts import (
        offer_conversation_websocket,
        offer_installation_machine_checks,
        offer_world_connections,
    )

    if not configured.get("dashboard.enabled"):
        withhold_page_from_rest_app(app)
    offer_conversation_websocket(app, configured_local_websocket(configured, runtime))
    offer_world_connections(app, LaterWorldGate(runtime))
    offer_installation_machine_checks(
        app, checks_of_running_local_server(configured, data, runtime.clock)
    )
