"""The Discord application from the settings, with the commands that it registers."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from opencrab.engine.discord.setup import BotApplication, Command

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.rest.discord.interactions import Interactions
    from opencrab.settings import Settings


def discord_bot_from_settings(configured: "Settings") -> BotApplication:
    """Return the Discord application, for registering commands and for checking it."""
    return BotApplication(
        application_id=str(configured.get("gateway.discord.application_id")),
        public_key=str(configured.get("gateway.discord.public_key")),
        commands=_commands,
    )


def own_discord_door(configured: "Settings", runtime: "Runtime") -> "Interactions | None":
    """Return the interactions endpoint of this process; None without Discord or public key."""
    key = str(configured.get("gateway.discord.public_key"))
    if not configured.get("gateway.discord.enabled") or not key:
        return None
    from opencrab.bootstrap.discord.door import build_discord_door

    return build_discord_door(runtime, key, str(configured.get("gateway.discord.api")))


def _commands() -> Iterable[Command]:
    """Import and return the commands only when they are needed, which most requests do not."""
    from opencrab.gateways.discord.commands import COMMANDS

    return COMMANDS
