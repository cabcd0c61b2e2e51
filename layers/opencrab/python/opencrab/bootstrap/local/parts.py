"""The parts of the application that only a server on the owner's computer has."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.local.consumer import InteractionHandler
    from opencrab.ports.installation.configuration import SettingView
    from opencrab.settings import Settings


def add_local_server_parts(
    app: Any,
    configured: "Settings",
    runtime: "Runtime",
    data: Path,
    *,
    load: "Callable[..., Settings]",
    wake: "Callable[[], None]" = lambda: None,
) -> None:
    """Add what only such a server has, the page unless it is off, and protocols that are on.

    `wake` is called when a signed request was queued.
    """
    from opencrab.bootstrap.channels.interactions import offer_own_channel_door
    from opencrab.bootstrap.local.doctor import checks_of_running_local_server
    from opencrab.bootstrap.websocket import configured_local_websocket
    from opencrab.bootstrap.world import LaterWorldGate
    from opencrab.gateways.rest.app import (
        offer_a2a_to_rest_app,
        offer_ag_ui_to_rest_app,
        offer_rest_app_settings,
        withhold_page_from_rest_app,
    )
    from opencrab.gateways.rest.local_parts import (
        offer_conversation_websocket,
        offer_installation_machine_checks,
        offer_world_connections,
    )

    if not configured.get("dashboard.enabled"):
        withhold_page_from_rest_app(app)
    if configured.get("gateway.a2a.enabled"):
        offer_a2a_to_rest_app(app, str(configured.get("gateway.a2a.agent")))
    if configured.get("gateway.ag_ui.enabled"):
        offer_ag_ui_to_rest_app(app)
    offer_rest_app_settings(app, lambda: local_settings_in_effect(load, configured, runtime))
    offer_conversation_websocket(app, configured_local_websocket(configured, runtime))
    offer_world_connections(app, LaterWorldGate(runtime))
    offer_own_channel_door(app, configured, runtime, load, wake=wake)
    offer_installation_machine_checks(
        app, checks_of_running_local_server(configured, data, runtime.clock)
    )


def interaction_handler(configured: "Settings", runtime: "Runtime") -> "InteractionHandler":
    """Return what handles the interactions queue of the local process, and from when on."""
    from opencrab.bootstrap.channels.interactions import (
        handle_queued_interaction,
        has_interactions,
    )
    from opencrab.gateways.local.consumer import InteractionHandler

    return InteractionHandler(
        handle_queued_interaction, partial(has_interactions, configured, runtime)
    )


def local_chat_polling(
    configured: "Settings", runtime: "Runtime", wake: "Callable[[], None]"
) -> "AbstractContextManager[None]":
    """Return what asks a chat service for messages while the server runs, if one is polled."""
    if not {"telegram", "email"} & runtime.chats.keys():
        return nullcontext()
    from opencrab.bootstrap.chat.polling import polled_chats

    return polled_chats(configured, runtime, wake)


def local_settings_in_effect(
    load: "Callable[..., Settings]", configured: "Settings", runtime: "Runtime"
) -> "Sequence[SettingView]":
    """Return every setting: those that count at once as they are now, others as at the start."""
    from opencrab.ports.installation.configuration import SettingView

    secret = None if runtime.secrets is None else runtime.secrets.get
    now = load({}, secret=secret).values
    started = {name: each for name, each in configured.values.items() if not _counts_at_once(name)}
    found = {name: each for name, each in now.items() if _counts_at_once(name)} | started
    return [SettingView(name, each.value, each.source) for name, each in found.items()]


def _counts_at_once(name: str) -> bool:
    return name.startswith(("llm.", "mcp.servers."))
