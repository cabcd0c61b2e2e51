"""Prints the commands: `python -m opencrab.gateways.discord > infra/discord_commands.json`."""

import sys

from opencrab.gateways.discord.commands import text

if __name__ == "__main__":
    sys.stdout.write(text())
