"""`make bench-peers`: the standard turn of other agents and of OpenCrab, each beside the floor.

Every peer runs in an environment of its own, made from its lock; one that does not install or run
is left out with the reason. `--write` puts the table into docs/benchmarks.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.floor import HISTORY, Beside, bare_loop, beside_floor
from tests.bench.sections import PEERS, write_section
from tests.bench.world import ROOT, model_server, world

TURNS = 100
PIECES = 10
SECONDS = 300
INSTALL_SECONDS = 900

_HEAD = """\
Written by `make bench-peers ARGS=--write`: the standard turn (a file written by a tool call, two
model calls, {history} messages of history) of OpenCrab and of other agents, each in a process and
an environment of its own, all with the same stub model over HTTP. Before each turn the floor ran in
the same process: a multiple is the median of {turns} pairs. CPU of all threads and child processes;
imports and five first turns are not in it. OpenCrab keeps every step durably, a peer what it keeps
by default. OpenCrab and hermes ask for streams, the others for whole answers. Without the transform
of requests: what openai-agents would cost if its client sent dictionaries as they are.

| agent | keeps | a turn | × floor | × OpenCrab | at least | met |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Peer:
    """An agent that others make: its driver, its environment, what it keeps of a turn."""

    name: str
    environment: str
    keeps: str
    options: tuple[str, ...] = ()
    at_least: float | None = None
    """How many times OpenCrab's turn it should cost."""

    @property
    def python(self) -> Path:
        return ROOT / f".venv-peer-{self.environment}" / "bin" / "python"

    @property
    def driver(self) -> str:
        return f"tests.bench.peers.{self.environment.replace('-', '_')}"


ALL = (
    Peer("openai-agents", "openai-agents", "nothing"),
    Peer(
        "openai-agents, without the transform of requests",
        "openai-agents",
        "nothing",
        options=("--bypassed",),
        at_least=1.5,
    ),
    Peer("pydantic-ai", "pydantic-ai", "nothing"),
    Peer("nanobot", "nanobot", "the session in a file"),
    Peer("hermes", "hermes", "nothing", at_least=12),
)


class SkippedError(Exception):
    """Why there are no figures of a peer."""


def opencrab(turns: int) -> Beside:
    """The standard turn on the durable home, each in a session of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        model_server(pieces=PIECES) as url,
        world(Path(folder), url) as here,
    ):
        agent_id = here.agent("蟹")
        sessions = [here.session(agent_id, HISTORY) for _ in range(turns + 10)]

        def turn() -> None:
            here.say(sessions.pop())
            here.work()

        (found,) = beside_floor(bare_loop(url), turn, turns=turns)
        return found


def figures(peer: Peer, turns: int) -> tuple[str, Beside]:
    """A peer's version and its turn; its home, settings and files are in a new folder.

    Raises:
        SkippedError: it could not be installed, or its driver failed.
    """
    run_command(
        ["make", "--no-print-directory", f"{peer.python.parents[1].name}/.ready"], INSTALL_SECONDS
    )
    with tempfile.TemporaryDirectory() as folder, model_server(pieces=PIECES) as url:
        command = [str(peer.python), "-m", peer.driver, url, folder, str(turns), *peer.options]
        home = dict.fromkeys(("HOME", "HERMES_HOME", "TERMINAL_CWD"), folder)
        said = run_command(command, SECONDS, PATH=os.environ["PATH"], LANG="C.UTF-8", **home)
    found = json.loads(next(row for row in reversed(said.splitlines()) if row.startswith("{")))
    return found.pop("version"), Beside(**found)


def run_command(command: list[str], seconds: float, **environment: str) -> str:
    """What a command prints; raises SkippedError with the last line of what it complains of."""
    try:
        run = subprocess.run(
            command,
            cwd=ROOT,
            env=environment or None,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SkippedError(str(error)) from error
    if run.returncode:
        rows = (run.stderr or run.stdout).strip().splitlines() or ["it said nothing"]
        raise SkippedError(rows[-1])
    return run.stdout


def row(name: str, keeps: str, one: Beside, ours: Beside, at_least: float | None = None) -> str:
    """A line of the table."""
    times = one.ratio / ours.ratio
    verdict = " | |"
    if at_least is not None:
        verdict = f" {at_least:g} | {'yes' if times >= at_least else '**no**'} |"
    figures = f"{one.turn_ms:.3g} ms | {one.ratio:.3g} | {times:.3g}"
    return f"| {name} | {keeps} | {figures} |{verdict}"


def table(ours: Beside, turns: int = TURNS, peers: tuple[Peer, ...] = ALL) -> str:
    """The section of docs/benchmarks.md, with our own turn first."""
    head = _HEAD.format(history=HISTORY, turns=turns)
    rows = [row("OpenCrab, in process", "every step, durably", ours, ours)]
    skipped = []
    for peer in peers:
        try:
            version, found = figures(peer, turns)
        except SkippedError as reason:
            skipped.append(f"Left out: {peer.name}, since it did not run here ({reason}).")
            continue
        name = peer.name.replace(peer.environment, f"{peer.environment} {version}", 1)
        rows.append(row(name, peer.keeps, found, ours, peer.at_least))
    return head + "\n".join(rows) + "".join(f"\n\n{each}" for each in skipped)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    asked = parser.parse_args()
    text = table(opencrab(asked.turns), asked.turns)
    sys.stdout.write(f"{text}\n")
    if asked.write:
        write_section(PEERS, text)


if __name__ == "__main__":
    main()
