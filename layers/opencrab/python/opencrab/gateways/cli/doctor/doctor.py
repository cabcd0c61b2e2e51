"""Doctor: what is well and what is not, and what to do about each thing that is not."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any

import typer

from opencrab.domain.errors import NotFound, OpenCrabError, Refused, Unauthenticated
from opencrab.gateways.cli.doctor.server_checks import (
    CheckVerdict,
    Finding,
    check_clock_by_doctor,
    check_setup_by_doctor,
    server_time_for_doctor,
)
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

OLDEST = (3, 11)
HERE_SECONDS, AWAY_SECONDS, ASK_SECONDS = 8.0, 30.0, 45.0
"""How long the server may take: on this computer, elsewhere, and when it asks its models.

Elsewhere it is what an HTTP API of API Gateway allows for an answer, a cold start included.

Once it has said that it lives, it has the longer time: its checks have deadlines of their own.
"""

_MARKS = {
    CheckVerdict.WELL: "✓",
    CheckVerdict.NOTE: "·",
    CheckVerdict.WARNING: "!",
    CheckVerdict.WRONG: "✗",
}
_VERDICTS = {
    "ok": CheckVerdict.WELL,
    "warning": CheckVerdict.WARNING,
    "problem": CheckVerdict.WRONG,
}


@cli_command
def doctor(
    terminal: Terminal,
    *,
    ask_models: Annotated[
        bool,
        cli_option("Ask each chosen model for a few tokens; an agent's budget pays for it."),
    ] = False,
) -> None:
    """Check the installation, and say how to fix what does not work."""
    told = terminal.error_text
    findings = [
        replace(found, detail=told(found.detail), cure=told(found.cure))
        for found in _run_doctor_checks(terminal, ask_models=ask_models)
    ]
    if terminal.options.json:
        terminal.json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            _draw(terminal, finding)
    if any(finding.verdict is CheckVerdict.WRONG for finding in findings):
        raise typer.Exit(1)


def _run_doctor_checks(terminal: Terminal, *, ask_models: bool = False) -> Iterator[Finding]:
    """Run every check, and stop where the following ones depend on one that failed.

    Where no server answers, the data folder is checked instead.
    """
    words = terminal.words
    version = ".".join(map(str, sys.version_info[:3]))
    yield _finding("python", version, words("python_cure"), well=sys.version_info >= OLDEST)
    address = _try("server", lambda: terminal.client.address)
    if isinstance(address, Finding):
        yield address
        return
    terminal.client.patience_seconds = HERE_SECONDS if address.is_here else AWAY_SECONDS
    health = _try("server", lambda: terminal.client.get("health"))
    if isinstance(health, Finding) and not address.is_here:
        # Once more: functions that nobody has asked for a while take their time.
        health = _try("server", lambda: terminal.client.get("health"))
    if isinstance(health, Finding):
        yield health
        yield from _of_stopped(terminal)
        return
    terminal.client.patience_seconds = AWAY_SECONDS
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
    told = tuple(_of_setup(terminal, setup))  # now: a later answer would have another date
    checks = _of_server(terminal, ask_models=ask_models)
    yield from _without_repeats(told, checks)
    yield from checks
    agents = _try("agents", lambda: list(terminal.client.items("agents")))
    yield agents if isinstance(agents, Finding) else _of_agents(terminal, agents)


def _of_setup(terminal: Terminal, setup: dict[str, Any]) -> Iterator[Finding]:
    there = _time_there(terminal, setup)
    now = terminal.options.now
    yield from check_clock_by_doctor(terminal.words, now() if now else None, there)
    yield from check_setup_by_doctor(terminal.words, setup, there)


def _of_server(terminal: Terminal, *, ask_models: bool) -> tuple[Finding, ...]:
    """Return the server's own checks; none from one that is older than they are."""
    client, place = terminal.client, ("system", "checks")
    try:
        if ask_models:
            client.patience_seconds = ASK_SECONDS
            found = client.post(*place, body={"ask_models": True})
        else:
            found = client.get(*place)
    except (NotFound, Refused):
        return ()
    except OpenCrabError as error:
        return (Finding("checks", CheckVerdict.WRONG, error.message, error.cure or ""),)
    return tuple(
        Finding(each["name"], _VERDICTS[each["state"]], each["what"], each.get("cure", ""))
        for each in found["checks"]
    )


def _of_stopped(terminal: Terminal) -> Iterator[Finding]:
    """Check the data folder from outside, if the server that does not answer is its own."""
    options, address = terminal.options, terminal.client.address
    if options.examine is None or not address.is_here:
        return
    language = terminal.words.tongue.for_agents
    for each in options.examine(replace(options.places, language=language), address.url):
        yield Finding(each.name, _VERDICTS[str(each.state)], each.what, each.cure)


def _without_repeats(findings: Iterable[Finding], checks: tuple[Finding, ...]) -> Iterator[Finding]:
    """Leave out what the server's own checks say better, unless it is wrong."""
    better = {check.name for check in checks}
    for finding in findings:
        if finding.name not in better or finding.verdict is CheckVerdict.WRONG:
            yield finding


def _time_there(terminal: Terminal, setup: dict[str, Any]) -> datetime | None:
    """Return the server's time from its answer, or from the Date header."""
    return server_time_for_doctor(setup.get("now")) or server_time_for_doctor(terminal.client.dated)


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
