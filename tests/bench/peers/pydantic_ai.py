"""Runs the standard turn with Pydantic AI: chat completions, nothing kept."""

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.bench.floor import SAID, history
from tests.bench.peers.driver import INSTRUCTIONS, measure, write_memo


def open_peer(url: str, folder: Path) -> Callable[[], object]:
    """One agent with one tool; every run gets the same history."""
    model = OpenAIChatModel("stub", provider=OpenAIProvider(base_url=url, api_key="none"))
    crab = Agent(model, instructions=INSTRUCTIONS)

    @crab.tool_plain  # type: ignore[untyped-decorator]
    def ws_write(path: str, content: str) -> str:
        """Write a file in your workspace, replacing it if it exists."""
        return write_memo(folder, path, content)

    loop = asyncio.new_event_loop()

    def turn() -> None:
        answer = loop.run_until_complete(crab.run(SAID, message_history=_messages())).output
        assert answer == "メモを書きました。", answer

    return turn


def _messages() -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(content=each["content"])])
        if each["role"] == "user"
        else ModelResponse(parts=[TextPart(content=each["content"])])
        for each in history()
    ]


if __name__ == "__main__":
    measure(version("pydantic-ai-slim"), open_peer)
