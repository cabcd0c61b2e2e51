"""The bot as the settings describe it, with the commands that it should have."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from opencrab.engine.discord.setup import BotApplication, Command

if TYPE_CHECKING:
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.rest.discord.interactions import Interactions
    from opencrab.settings import Settings


def bot_of(configured: "Settings") -> BotApplication:
    """The application whose commands are registered, and which the doctor looks at."""
    return BotApplication(
        application_id=str(configured.get("gateway.discord.application_id")),
        public_key=str(configured.get("gateway.discord.public_key")),
        commands=_commands,
    )


def own_discord_door(configured: "Settings", runtime: "Runtime") -> "Interactions | None":
    """The door on this computer, where Discord is switched on and its public key is known."""
    key = str(configured.get("gateway.discord.public_key"))
    if not configured.get("gateway.discord.enabled") or not key:
        return None
    from opencrab.bootstrap.discord.door import local_door

    return local_door(runtime, key, str(configured.get("gateway.discord.api")))


def _commands() -> Iterable[Command]:
    """Loaded when somebody asks: most requests are about something else."""
    from opencrab.gateways.discord.commands import COMMANDS

    return COMMANDS
