"""Runs the standard turn with Hermes as a library: all its tools that work here, nothing kept."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from run_agent import AIAgent

from tests.bench.floor import SAID, history
from tests.bench.peers.driver import measure


def open_peer(url: str, folder: Path) -> Callable[[], object]:
    """One agent, as its gateway keeps one; every turn gets the same history."""
    hermes = AIAgent(base_url=url, api_key="none", provider="custom", model="stub", quiet_mode=True)

    def turn() -> None:
        said = hermes.run_conversation(SAID, conversation_history=history())
        assert said["final_response"] == "メモを書きました。", said

    return turn


if __name__ == "__main__":
    measure(version("hermes-agent"), open_peer)
