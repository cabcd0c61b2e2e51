"""The commands that let the init system run OpenCrab: systemd on Linux, launchd on macOS.

They write into the user's own folders only, and print each step. What is installed names the data
folder, so that it depends on no current directory and on no shell's variables.
"""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opencrab.domain.errors import Conflict, Invalid, NotFound, Unavailable
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opencrab.ports.installation.init_system import InitStep, InitSystem

_DRY_RUN = "Print what would be done, and do nothing."
_OURS = "opencrab service install"
_AT_LOGIN = {"systemd": "service_login_systemd", "launchd": "service_login_launchd"}
_SILENT = {"systemd": "service_silent_systemd", "launchd": "service_silent_launchd"}
"""The sentences about each init system."""

_CACHES = ("archive-v", "environments-v")
"""How folders in the cache of uv begin, from which `uvx` runs and which uv may clear."""


@cli_command
def install_init_service(
    terminal: Terminal,
    *,
    port: Annotated[
        int | None, cli_option("The port to listen on.", "NUMBER", min=1, max=65_535)
    ] = None,
    host: Annotated[str | None, cli_option("The address to listen on.")] = None,
    provider: Annotated[str | None, cli_option("The model to use.", "NAME[:MODEL]")] = None,
    dry_run: Annotated[bool, cli_option(_DRY_RUN)] = False,
) -> None:
    """Run OpenCrab in the background, from now on and after each login."""
    system, data = _system(terminal), terminal.options.data.absolute()
    _check_executable(terminal, system)
    given = (("--port", port), ("--host", host), ("--provider", provider))
    words = [str(system.executable), "--language", str(terminal.options.language), "up"]
    words += ["--data", str(data)]
    words += [word for name, value in given if value is not None for word in (name, str(value))]
    if not all(word.isprintable() for word in words):
        raise Invalid(terminal.words("service_name"), cure=terminal.words("service_name_cure"))
    _check_ours(terminal, system)
    steps = system.install_steps(words)
    _perform(terminal, system, steps, dry_run=dry_run)
    if not terminal.options.json and not dry_run:
        terminal.print_sentence("service_installed", data=data)
        terminal.print_note("service_keys", file=data / ".env")
        terminal.print_note(_AT_LOGIN[system.name])


@cli_command
def uninstall_init_service(
    terminal: Terminal, *, dry_run: Annotated[bool, cli_option(_DRY_RUN)] = False
) -> None:
    """Stop OpenCrab in the background, and remove what install wrote; data stays."""
    system = _installed_system(terminal)
    _check_ours(terminal, system)
    _perform(terminal, system, system.uninstall_steps(), dry_run=dry_run)
    if not terminal.options.json and not dry_run:
        terminal.print_sentence("service_uninstalled")


@cli_command
def show_init_service_status(terminal: Terminal) -> None:
    """Show whether OpenCrab runs in the background; exit with status 1 if it does not."""
    system = _installed_system(terminal)
    _check_answer(terminal, system)
    state = system.state()
    value = {
        "system": system.name,
        "file": str(system.definition),
        "running": state.running,
        "process_id": state.process_id,
        "state": state.said,
    }
    key = "service_running" if state.running else "service_stopped"
    facts = {"process": state.process_id, "file": system.definition, "state": state.said}
    terminal.print_result(value, key, **facts)
    if not state.running:
        raise typer.Exit(1)


@cli_command
def print_init_service_logs(
    terminal: Terminal,
    *,
    lines: Annotated[int, cli_option("How many lines.", min=1, max=100_000)] = 50,
    follow: Annotated[bool, cli_option("Go on with new lines until Ctrl-C.")] = False,
) -> None:
    """Print what OpenCrab printed in the background."""
    system = _installed_system(terminal)
    program = system.log_program(lines, follow=follow)
    ended = system.run(program, shown=True)
    if ended.code:
        raise Unavailable(
            terminal.words(
                "service_failed",
                command=shlex.join(program.words),
                code=ended.code,
                text=ended.text,
            ),
            cure=terminal.words("service_failed_cure"),
        )


COMMANDS = {
    "install": install_init_service,
    "status": show_init_service_status,
    "logs": print_init_service_logs,
    "uninstall": uninstall_init_service,
}


def _system(terminal: Terminal) -> "InitSystem":
    find = terminal.options.init_system
    system = None if find is None else find()
    if system is None:
        raise Unavailable(terminal.words("service_none"), cure=terminal.words("service_none_cure"))
    return system


def _installed_system(terminal: Terminal) -> "InitSystem":
    system = _system(terminal)
    if not system.definition.is_file():
        raise NotFound(
            terminal.words("service_absent", file=system.definition),
            cure=terminal.words("service_absent_cure"),
        )
    return system


def _check_executable(terminal: Terminal, system: "InitSystem") -> None:
    """Refuse a command that is not there tomorrow: one in a cache, or no file at all."""
    path = system.executable
    cached = any(part.startswith(_CACHES) for part in path.parts) or (
        "pipx" in path.parts and ".cache" in path.parts
    )
    if cached or not path.is_file():
        raise Invalid(
            terminal.words("service_temporary", file=path),
            cure=terminal.words("service_temporary_cure"),
        )


def _check_ours(terminal: Terminal, system: "InitSystem") -> None:
    """Refuse to replace or to remove a definition that somebody else wrote."""
    file = system.definition
    if file.is_file() and _OURS not in file.read_text(encoding="utf-8", errors="replace"):
        raise Conflict(
            terminal.words("service_foreign", file=file),
            cure=terminal.words("service_foreign_cure"),
        )


def _check_answer(terminal: Terminal, system: "InitSystem") -> None:
    if why := system.problem():
        raise Unavailable(
            terminal.words("service_silent", system=system.name, why=why),
            cure=terminal.words(_SILENT[system.name]),
        )


def _perform(
    terminal: Terminal, system: "InitSystem", steps: "Sequence[InitStep]", *, dry_run: bool
) -> None:
    """Do the steps and print each; a dry run only prints them, and needs no init system."""
    if not dry_run:
        _check_answer(terminal, system)
    if terminal.options.json:
        if not dry_run:
            for step in steps:
                _do(terminal, system, step)
        terminal.json(
            {"system": system.name, "done": not dry_run, "steps": list(map(_json, steps))}
        )
        return
    for step in steps:
        if not dry_run:
            _do(terminal, system, step)
        _print_step(terminal, step, dry_run=dry_run)


def _do(terminal: Terminal, system: "InitSystem", step: "InitStep") -> None:
    from opencrab.ports.installation.init_system import RemoveFile, WriteFile

    if isinstance(step, WriteFile):
        _write(terminal, step.path, step.text)
    elif isinstance(step, RemoveFile):
        step.path.unlink(missing_ok=True)
    else:
        ended = system.run(step)
        if ended.code and not step.may_fail:
            command = shlex.join(step.words)
            raise Unavailable(
                terminal.words("service_failed", command=command, code=ended.code, text=ended.text),
                cure=terminal.words("service_failed_cure"),
            )


def _write(terminal: Terminal, path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unavailable(
            terminal.words("service_unwritten", file=path, why=error.strerror),
            cure=terminal.words("service_unwritten_cure"),
        ) from error


def _print_step(terminal: Terminal, step: "InitStep", *, dry_run: bool) -> None:
    from opencrab.ports.installation.init_system import RemoveFile, RunProgram, WriteFile

    if isinstance(step, RunProgram):
        key = "service_would_run" if dry_run else "service_did_run"
        terminal.print_sentence(key, command=shlex.join(step.words))
    elif isinstance(step, RemoveFile):
        key = "service_would_remove" if dry_run else "service_did_remove"
        terminal.print_sentence(key, file=step.path)
    elif isinstance(step, WriteFile):
        key = "service_would_write" if dry_run else "service_did_write"
        terminal.print_sentence(key, file=step.path)
        for line in step.text.splitlines() if dry_run else ():
            terminal.line(f"    {line}")


def _json(step: "InitStep") -> dict[str, Any]:
    from opencrab.ports.installation.init_system import RunProgram, WriteFile

    if isinstance(step, RunProgram):
        return {"run": list(step.words)}
    if isinstance(step, WriteFile):
        return {"write": str(step.path), "text": step.text}
    return {"remove": str(step.path)}
