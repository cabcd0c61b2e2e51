"""Providers of a server that `--url` names, such as one on AWS: changed over its REST API."""

from typing import Any

import typer

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.terminal.terminal import Terminal

_PLACE = ("llm", "providers")


def put_remote_provider(
    terminal: Terminal, name: str, given: dict[str, str | None], *, key: str, enable: bool = False
) -> None:
    """Add or change a provider of the server; fields that are None stay as they are."""
    body: dict[str, Any] = {field: text for field, text in given.items() if text is not None}
    if key:
        body["key"] = key
    if enable:
        body["enabled"] = True
    view = terminal.client.put(*_PLACE, name, body=body)
    terminal.print_result(view, "provider_saved_there", name=name, url=terminal.options.url)
    terminal.print_note("provider_try_there", name=name, url=terminal.options.url)


def remove_remote_provider(terminal: Terminal, name: str) -> None:
    """Remove a provider that was added to the server; one of its settings is disabled."""
    removed = True
    try:
        terminal.client.delete(*_PLACE, name)
    except Invalid:
        removed = False
        terminal.client.put(*_PLACE, name, body={"enabled": False})
    view = {"name": name, "removed": removed}
    terminal.print_result(view, "provider_removed" if removed else "provider_disabled", name=name)


def check_remote_provider(terminal: Terminal, name: str) -> None:
    """Let the server ask a provider for its list of models."""
    found = terminal.client.get(*_PLACE, name, "health")
    if terminal.options.json:
        terminal.json({"name": name, **found})
    elif found["ok"]:
        ms, count = found["latency_ms"], len(found["models"] or ())
        terminal.print_sentence("provider_ok", name=name, ms=ms, count=count)
    else:
        terminal.print_complaint(
            terminal.words("provider_down", name=name, why=terminal.error_text(found["problem"]))
        )
        if found["cure"]:
            terminal.print_complaint(f"  → {terminal.error_text(found['cure'])}")
    if not found["ok"]:
        raise typer.Exit(ExitCode.UNAVAILABLE)
