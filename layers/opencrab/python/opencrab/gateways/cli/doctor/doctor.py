"""Doctor: what is well and what is not, and what to do about each thing that is not."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

import typer

from opencrab.domain.errors import OpenCrabError, Unauthenticated
from opencrab.gateways.cli.doctor.server_checks import (
    CheckVerdict,
    Finding,
    check_clock,
    check_setup,
    time_of_server,
)
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

OLDEST = (3, 11)


_MARKS = {CheckVerdict.WELL: "✓", CheckVerdict.NOTE: "·", CheckVerdict.WRONG: "✗"}


@cli_command
def doctor(terminal: Terminal) -> None:
    """Check the installation, and say how to fix what does not work."""
    findings = list(examine_installation(terminal))
    if terminal.options.json:
        terminal.json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            _draw(terminal, finding)
    if any(finding.verdict is CheckVerdict.WRONG for finding in findings):
        raise typer.Exit(1)


def examine_installation(terminal: Terminal) -> Iterator[Finding]:
    """Run every check, and stop where the following ones depend on one that failed."""
    words = terminal.words
    version = ".".join(map(str, sys.version_info[:3]))
    yield _finding("python", version, words("python_cure"), well=sys.version_info >= OLDEST)
    health = _try("server", lambda: terminal.client.get("health"))
    if isinstance(health, Finding):
        yield health
        return
    address = terminal.client.address
    detail = words("server_ok", url=address.url, version=health.get("version", "?"))
    well = health.get("status") == "ok"
    yield _finding("server", detail, words("not_opencrab_cure"), well=well)
    setup = _try("key", lambda: terminal.client.get("setup"))
    if isinstance(setup, Finding):
        yield setup
        return
    private = address.url.startswith("https:") or address.is_here
    detail = words("key_ok" if private else "key_open")
    yield _finding("key", detail, words("key_open_cure"), well=private)
    there = _time_there(terminal, setup)
    now = terminal.options.now
    yield from check_clock(words, now() if now else None, there)
    yield from check_setup(words, setup, there)
    agents = _try("agents", lambda: list(terminal.client.items("agents")))
    yield agents if isinstance(agents, Finding) else _of_agents(terminal, agents)


def _time_there(terminal: Terminal, setup: dict[str, Any]) -> datetime | None:
    """Return the server's time from its answer, or from the Date header."""
    return time_of_server(setup.get("now")) or time_of_server(terminal.client.dated)


def _of_agents(terminal: Terminal, agents: list[dict[str, Any]]) -> Finding:
    living = [agent for agent in agents if agent["status"] != "retired"]
    if not living:
        words = terminal.words
        return Finding("agents", CheckVerdict.NOTE, words("no_agents"), words("no_agents_cure"))
    names = ", ".join(agent["name"] for agent in living[:5])
    detail = terminal.words("agents_ok", count=len(living), names=names)
    return Finding("agents", CheckVerdict.WELL, detail)


def _try(name: str, look: Callable[[], Any]) -> Any:
    """Call a function and return its result, or a Finding for the error that it raised."""
    try:
        return look()
    except OpenCrabError as error:
        about = "key" if isinstance(error, Unauthenticated) else name
        return Finding(about, CheckVerdict.WRONG, error.message, error.cure or "")


def _finding(name: str, detail: str, cure: str, *, well: bool) -> Finding:
    if well:
        return Finding(name, CheckVerdict.WELL, detail)
    return Finding(name, CheckVerdict.WRONG, detail, cure)


def _draw(terminal: Terminal, finding: Finding) -> None:
    name = terminal.words.term(finding.name)
    terminal.line(f"{_MARKS[finding.verdict]} {name}: {finding.detail}")
    if finding.cure:
        terminal.line(f"  → {finding.cure}")
