"""The whole product before a real model: `opencrab up` with default settings, and its command."""

import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.integration.cli.forked import run_forked
from tests.llama.judging import judge_home, judge_wire
from tests.llama.relay import Exchange, Relay, relay_to
from tests.llama.server import LlamaServer
from tests.running import KEY, OPENCRAB, Server, server

ADDRESS = "OPENCRAB_LLM__PROVIDERS__LLAMACPP__BASE_URL"
_LOCALES = {"en": "en_US.UTF-8", "ja": "ja_JP.UTF-8"}
_ALONE = {
    "OPENCRAB_LLM__PROVIDERS__OLLAMA__BASE_URL": "http://127.0.0.1:9",
    "OPENCRAB_LLM__PRICES_URL": "",
    **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"), ""),
}
"""No other model, and no price list: whoever tests may have keys."""

_PATIENCE = 120.0


@dataclass
class Whole:
    """A running OpenCrab that found a llama.cpp server by itself, and all that it asked of it."""

    data: Path
    model: LlamaServer
    relay: Relay
    running: Server
    turns: set[str] = field(default_factory=set)

    @property
    def exchanges(self) -> list[Exchange]:
        """The calls of the model so far."""
        return self.relay.exchanges

    def type(self, command: str, *, language: str = "en", typed: str = "") -> tuple[int, str]:
        """A command as its user types it: its exit code, and what it shows."""
        environment = {
            "PATH": os.environ["PATH"],  # noqa: TID251 - as its user's
            "HOME": str(self.data.parent),
            "LANG": _LOCALES[language],
            "LC_CTYPE": "C.UTF-8",
            "OPENCRAB_URL": f"http://127.0.0.1:{self.running.port}",
            "OPENCRAB_KEY": KEY,
        }
        program, *arguments = shlex.split(command)
        assert program == OPENCRAB.name
        code, out, err = run_forked(
            OPENCRAB,
            arguments,
            typed=typed,
            environment=environment,
            folder=self.data.parent,
            timeout=_PATIENCE,
        )
        said = (out + err).decode()
        assert "Traceback" not in said, said
        return code, said

    def agent(self, name: str, language: str, **more: Any) -> str:
        """A new agent; its id."""
        made = self.running.call("POST", "/agents", {"name": name, "language": language, **more})
        return str(made["id"])

    def agents(self) -> list[str]:
        """The ids of all agents."""
        return [str(agent["id"]) for agent in self.running.call("GET", "/agents")["items"]]

    def story(self, turn_id: str) -> dict[str, Any]:
        """A turn with its steps."""
        found: dict[str, Any] = self.running.call("GET", f"/turns/{turn_id}")
        return found

    def wait_until_quiet(self) -> None:
        """Wait until no turn runs or is about to run."""
        self.wait_for(lambda: not self._open_turns())

    def wait_for(self, met: Callable[[], Any]) -> Any:
        """Wait until something holds, however slow the machine is; what it came to."""
        until = time.monotonic() + _PATIENCE
        while not (found := met()):
            assert time.monotonic() < until, "it did not come to pass"
            time.sleep(0.1)  # noqa: TID251 - another process is at work
        return found

    def judge(self) -> None:
        """Whatever the model said, nothing went wrong on the wire; more can be told at the end."""
        judge_wire(self.model, self.exchanges)
        self._open_turns()

    def _open_turns(self) -> list[str]:
        """The turns that have not ended; all are remembered."""
        listed = self.running.call("GET", "/turns?limit=100")["items"]
        self.turns |= {str(turn["id"]) for turn in listed}
        return [turn["id"] for turn in listed if turn["status"] in {"queued", "running"}]


@contextmanager
def whole(
    folder: Path,
    model: LlamaServer,
    *,
    seconds_ahead: float = 0,
    earlier: Sequence[Exchange] = (),
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Whole]:
    """Run it on a data folder until nobody needs it, `more` in its environment.

    At its end all is judged that it asked, now and earlier.
    """
    data = folder / "data"
    with relay_to(model.url) as relay:
        settings = {ADDRESS: relay.url, **_ALONE, **more}
        with server(data, ahead_seconds=seconds_ahead, more=settings) as running:
            one = Whole(data, model, relay, running)
            yield one
            one.wait_until_quiet()
            one.judge()
            agents = one.agents()
    judge_home(data, agents, sorted(one.turns), [*earlier, *one.exchanges])
