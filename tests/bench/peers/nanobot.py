"""Runs the standard turn with nanobot as its SDK makes it: all its tools, sessions in its files."""

import asyncio
import itertools
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from loguru import logger
from nanobot import Nanobot

from tests.bench.floor import SAID, history
from tests.bench.peers.driver import measure


def open_peer(url: str, folder: Path) -> Callable[[], object]:
    """One assistant; every turn is in a session of its own, which has a history."""
    logger.remove()
    path = folder / "config.json"
    defaults = {"workspace": str(folder / "workspace"), "model": "stub", "provider": "custom"}
    custom = {"apiBase": url, "apiKey": "none"}
    path.write_text(
        json.dumps({"agents": {"defaults": defaults}, "providers": {"custom": custom}}),
        encoding="utf-8",
    )
    bot = Nanobot.from_config(path)
    loop, number = asyncio.new_event_loop(), itertools.count()

    def turn() -> None:
        key = f"sdk:{next(number)}"
        loop.run_until_complete(bot.sessions.ingest(key, history(), save=False))
        answer = loop.run_until_complete(bot.run(SAID, session_key=key)).content
        assert answer == "メモを書きました。", answer

    return turn


if __name__ == "__main__":
    measure(version("nanobot-ai"), open_peer)
