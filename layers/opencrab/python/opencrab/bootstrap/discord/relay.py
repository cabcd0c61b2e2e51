"""The composition of the relay: token and address from the settings, OpenCrab from `RelayWay`.

The relay runs where the token is; OpenCrab may run elsewhere.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from opencrab.domain.errors import Unavailable

if TYPE_CHECKING:
    from opencrab.domain.discord.community import Presence
    from opencrab.gateways.cli.terminal.options import RelayWay


def run_discord_relay(way: "RelayWay") -> None:
    """Run the relay until the process is told to stop.

    Raises Unavailable if hikari or the token is missing, and the errors of
    `gateways.discord_relay.bot.run_discord_relay_bot`.
    """
    if find_spec("hikari") is None:
        raise Unavailable(
            "the relay needs hikari, which is not installed",
            cure="pip install 'opencrab[relay]'",
        )
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.bootstrap.configuration.local_settings import LocalSettings
    from opencrab.bootstrap.secret_store import local_secret_store
    from opencrab.domain.discord.community import Presence
    from opencrab.gateways.discord_relay.bot import run_discord_relay_bot
    from opencrab.gateways.discord_relay.connection import RelayConnection

    configured = LocalSettings(way.places).load({}, secret=local_secret_store(way.data).get)
    token = str(configured.get("gateway.discord.token"))
    if not token:
        raise Unavailable(
            "the relay needs the bot's token",
            field="DISCORD_TOKEN",
            cure="set DISCORD_TOKEN; docs/how-to/set-up-a-discord-bot.md says where it comes from",
        )

    def presences() -> "tuple[Presence, ...]":
        return tuple(Presence.model_validate(each) for each in way.presences())

    run_discord_relay_bot(
        RelayConnection(
            token=token,
            api=str(configured.get("gateway.discord.api")),
            bring=way.bring,
            presences=presences,
            tell=way.tell,
            now=SystemClock().now,
            memory=way.memory,
        )
    )
