"""Runs the standard turn with the OpenAI Agents SDK: chat completions, no tracing, nothing kept.

`--bypassed` after the other arguments leaves out the SDK's transform of each request, which costs
about a third of its turn and changes nothing in one made of plain dictionaries.
"""

import asyncio
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import agents
from openai import AsyncOpenAI, NotGiven, Omit
from openai.resources.chat.completions import completions

from tests.bench.floor import SAID, history
from tests.bench.peers.driver import DESCRIPTION, INSTRUCTIONS, measure, write_memo


async def _as_it_is(request: Any, _: object) -> Any:
    return {
        name: value for name, value in request.items() if not isinstance(value, Omit | NotGiven)
    }


def open_peer(url: str, folder: Path) -> Callable[[], object]:
    """One agent with one tool; every run gets the same history."""
    agents.set_tracing_disabled(True)
    if "--bypassed" in sys.argv:
        completions.async_maybe_transform = _as_it_is

    @agents.function_tool(description_override=DESCRIPTION)  # type: ignore[untyped-decorator]
    def ws_write(path: str, content: str) -> str:
        return write_memo(folder, path, content)

    client = AsyncOpenAI(base_url=url, api_key="none")
    model = agents.OpenAIChatCompletionsModel(model="stub", openai_client=client)
    crab = agents.Agent(name="蟹", instructions=INSTRUCTIONS, model=model, tools=[ws_write])
    loop = asyncio.new_event_loop()

    def turn() -> None:
        said: list[Any] = [*history(), {"role": "user", "content": SAID}]
        answer = loop.run_until_complete(agents.Runner.run(crab, said)).final_output
        assert answer == "メモを書きました。", answer

    return turn


if __name__ == "__main__":
    measure(version("openai-agents"), open_peer)
