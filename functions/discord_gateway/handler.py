"""Answers Discord: what is signed and fresh is kept and acknowledged within its three seconds."""

import gc
from typing import Any

gc.disable()  # what is loaded now stays for good: looking for garbage in it only takes time

from opencrab.bootstrap.discord.door import discord_door  # noqa: E402

_answer = discord_door()
gc.freeze()
gc.enable()


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Verify and acknowledge one Discord interaction."""
    return _answer(event)
