"""The standard turn through REST, on a folder whose sessions have a history, beside the floor.

The folder is written by the product's own adapters and then opened by `opencrab up`. What a turn
writes and how the folder and the memory grow are measured over a thousand turns of one server.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.bench import usage
from tests.bench.floor import HISTORY, SAID, Beside, bare_loop, beside_floor
from tests.bench.world import model_server, world
from tests.running import Server, server

TURNS = 80
LONG = 10_000
FEW, MANY = 100, 1_000


@dataclass(frozen=True)
class Turns:
    """A turn in a short session and one in a long session, floors in the same rounds."""

    short: Beside
    long: Beside

    @property
    def growth(self) -> float:
        """How many times the one the other costs."""
        return self.long.ratio / self.short.ratio


@dataclass(frozen=True)
class Life:
    """Of a server's first thousand turns: memory in MB, and bytes of each turn."""

    few_mb: float
    many_mb: float
    written_kb: float
    growth_kb: float


def sessions(folder: Path, *lines: int) -> list[str]:
    """Sessions with so many lines each, of one agent, in a stopped installation."""
    with world(folder, "http://127.0.0.1:9/v1") as here:
        agent_id = here.agent("蟹")
        return [here.session(agent_id, each) for each in lines]


def turns(folder: Path) -> Turns:
    """CPU of the server for a turn in a new short session each, and in the same long one."""
    names = sessions(folder, LONG, *[HISTORY] * (TURNS + 10))
    long, *short = names
    with model_server() as url, server(folder, model_url=url) as running:

        def ask(session_id: str) -> None:
            answer = running.say(session_id, SAID)
            assert answer["replies"], answer

        found = beside_floor(
            bare_loop(url),
            lambda: ask(short.pop()),
            lambda: ask(long),
            turns=TURNS,
            cpu=lambda: usage.cpu_ms(running),
        )
        return Turns(*found)


def life(folder: Path) -> Life:
    """A thousand turns in one session of a new server."""
    with model_server() as url:
        with server(folder, model_url=url, anew=True) as running:
            session_id = running.session("蟹")
            _say(running, session_id, HISTORY)
        before = folder_bytes(folder)
        with server(folder, model_url=url, anew=True) as running:
            _say(running, session_id, FEW)
            few, written = usage.resident_mb(running), usage.bytes_written(running)
            _say(running, session_id, MANY - FEW)
            many = usage.resident_mb(running)
            written = usage.bytes_written(running) - written
        grown = folder_bytes(folder) - before
    return Life(few, many, written / 1_000 / (MANY - FEW), grown / 1_000 / MANY)


def _say(running: Server, session_id: str, times: int) -> None:
    for _ in range(times):
        running.say(session_id, SAID)


def folder_bytes(folder: Path) -> int:
    """All that lies in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
