"""Commands about model providers: add, change, remove and test them in the settings files."""

import re
from typing import Annotated

import typer

from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.gateways.cli.configuration.opening import open_terminal_configuration
from opencrab.gateways.cli.configuration.remote_providers import (
    check_remote_provider,
    put_remote_provider,
    remove_remote_provider,
)
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import (
    ask_line_on_terminal,
    hide_terminal_typing,
    terminal_text_argument_or_pipe,
)
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.installation.configuration import Configuration

PROVIDER_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
"""The name of a provider of the owner's; its variables and settings contain it."""

_SECTION = "llm.providers"

ProviderName = Annotated[str, cli_argument("The provider's name, such as openai.", "PROVIDER")]
Kind = Annotated[
    str | None, cli_option("API format: openai (the default), anthropic, ollama, …", "KIND")
]
BaseUrl = Annotated[str | None, cli_option("Address of its API.", "URL")]
Model = Annotated[str | None, cli_option("Model that its name alone stands for.", "MODEL")]
KeyName = Annotated[
    str | None, cli_option("Variable of its key; by default NAME_API_KEY.", "VARIABLE")
]
Key = Annotated[
    bool,
    cli_option("Ask for its API key, or read it from a pipe, and store it in the data folder."),
]


@cli_command
def add_provider(
    terminal: Terminal,
    name: ProviderName,
    kind: Kind = None,
    base_url: BaseUrl = None,
    model: Model = None,
    *,
    key_name: KeyName = None,
    key: Key = False,
) -> None:
    """Add a provider of your own, such as a gateway or a server with OpenAI's API."""
    if terminal.options.url is not None:
        if base_url is None:
            raise typer.BadParameter(terminal.words("provider_url"), param_hint="--base-url")
        given = {"kind": kind or "openai", "base_url": base_url, "default_model": model}
        secret = ask_provider_key(terminal, name) if key else ""
        put_remote_provider(terminal, name, given, key=secret)
        return
    configuration = open_terminal_configuration(terminal)
    if name in provider_names_in(configuration):
        raise Conflict(
            terminal.words("provider_exists", name=name),
            cure=f"opencrab models providers set {name} …",
        )
    if not PROVIDER_NAME.fullmatch(name):
        raise Invalid(terminal.words("provider_name", name=name), cure="my-gateway, my-server, …")
    if base_url is None:
        raise typer.BadParameter(terminal.words("provider_url"), param_hint="--base-url")
    texts = _texts(name, kind or "openai", base_url, model)
    _change(terminal, configuration, name, texts, key_name, key=key)


@cli_command
def set_provider(
    terminal: Terminal,
    name: ProviderName,
    kind: Kind = None,
    base_url: BaseUrl = None,
    model: Model = None,
    *,
    key_name: KeyName = None,
    key: Key = False,
    enable: Annotated[bool, cli_option("Use it again after `models providers remove`.")] = False,
) -> None:
    """Change a provider: its address, default model or key."""
    if terminal.options.url is not None:
        given = {"kind": kind, "base_url": base_url, "default_model": model}
        secret = ask_provider_key(terminal, name) if key else ""
        put_remote_provider(terminal, name, given, key=secret, enable=enable)
        return
    configuration = open_terminal_configuration(terminal)
    _require_known(terminal, configuration, name)
    texts = _texts(name, kind, base_url, model)
    if enable:
        texts[f"{_SECTION}.{name}.enabled"] = "true"
    if not texts and not key and key_name is None:
        raise typer.BadParameter(terminal.words("provider_nothing"), param_hint="--base-url")
    _change(terminal, configuration, name, texts, key_name, key=key)


@cli_command
def remove_provider(terminal: Terminal, name: ProviderName) -> None:
    """Remove a provider of your own; one that ships with OpenCrab is disabled."""
    if terminal.options.url is not None:
        remove_remote_provider(terminal, name)
        return
    configuration = open_terminal_configuration(terminal)
    _require_known(terminal, configuration, name)
    prefix = f"{_SECTION}.{name}"
    ships = any(
        each.source == "default.toml" or each.default is not None
        for each in configuration.settings()
        if each.name.startswith(f"{prefix}.")
    )
    configuration.change({f"{prefix}.enabled": "false"} if ships else {prefix: None})
    view = {"name": name, "removed": not ships}
    terminal.print_result(view, "provider_disabled" if ships else "provider_removed", name=name)


@cli_command
def check_provider(terminal: Terminal, name: ProviderName) -> None:
    """Ask a provider for its list of models, which costs nothing."""
    if terminal.options.url is not None:
        check_remote_provider(terminal, name)
        return
    configuration = open_terminal_configuration(terminal)
    _require_known(terminal, configuration, name)
    health = configuration.check_provider(name)
    if terminal.options.json:
        view = {"name": name, "ok": health.ok, "problem": health.problem, "cure": health.cure}
        terminal.json(view | {"models": health.models})
    elif health.ok:
        count = len(health.models or ())
        terminal.print_sentence("provider_ok", name=name, ms=health.latency_ms, count=count)
    else:
        terminal.print_complaint(
            terminal.words("provider_down", name=name, why=terminal.error_text(health.problem))
        )
        if health.cure:
            terminal.print_complaint(f"  → {terminal.error_text(health.cure)}")
    if not health.ok:
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _texts(
    name: str, kind: str | None, base_url: str | None, model: str | None
) -> dict[str, str | None]:
    given = {"kind": kind, "base_url": base_url, "default_model": model}
    return {f"{_SECTION}.{name}.{key}": text for key, text in given.items() if text is not None}


def _change(
    terminal: Terminal,
    configuration: Configuration,
    name: str,
    texts: dict[str, str | None],
    key_name: str | None,
    *,
    key: bool,
) -> None:
    """Write what was given, and store the key under the name of its variable."""
    variable = key_name or variable_of_provider_key(configuration, name)
    if key_name is not None or (key and not _has_variable(configuration, name)):
        texts[f"{_SECTION}.{name}.api_key"] = f"${{{variable}}}"
        texts[f"{_SECTION}.{name}.key_name"] = variable
    secret = ask_provider_key(terminal, name) if key else ""
    if texts:
        configuration.change(texts)
    if secret:
        configuration.keep_secret(variable, secret)
    view = {"name": name, "file": str(configuration.written), "key": variable if key else None}
    if texts:
        terminal.print_result(view, "provider_set", name=name, file=str(configuration.written))
        if secret:
            terminal.print_note("provider_key_kept", variable=variable)
    else:
        terminal.print_result(view, "provider_key_kept", variable=variable)
    terminal.print_note("provider_try", name=name)


def ask_provider_key(terminal: Terminal, name: str, question: str = "provider_key") -> str:
    """Ask for a provider's key, which is not shown, or read it from a pipe.

    `question` is the key of the sentence that asks.
    """
    if not terminal.interactive:
        return terminal_text_argument_or_pipe(
            terminal, None, needed="provider_key_needed", option="--key"
        ).strip()
    with hide_terminal_typing():
        secret = ask_line_on_terminal(terminal.words(question, name=name))
    terminal.line()
    return secret.strip()


def provider_names_in(configuration: Configuration) -> set[str]:
    """Return the names of all providers in the settings."""
    found = (each.name for each in configuration.settings())
    return {name.split(".")[2] for name in found if name.startswith(f"{_SECTION}.")}


def _require_known(terminal: Terminal, configuration: Configuration, name: str) -> None:
    names = provider_names_in(configuration)
    if name not in names:
        raise NotFound(
            terminal.words("provider_unknown", name=name),
            cure=terminal.words("provider_unknown_cure", names=", ".join(sorted(names))),
        )


def _has_variable(configuration: Configuration, name: str) -> bool:
    return any(each.name == f"{_SECTION}.{name}.api_key" for each in configuration.settings())


def variable_of_provider_key(configuration: Configuration, name: str) -> str:
    """Return the variable of a provider's key: its key_name, or NAME_API_KEY."""
    wanted = f"{_SECTION}.{name}.key_name"
    named = next((each.value for each in configuration.settings() if each.name == wanted), "")
    return str(named) or f"{re.sub(r'[^A-Z0-9]', '_', name.upper())}_API_KEY"


COMMANDS = {
    "add": add_provider,
    "set": set_provider,
    "remove": remove_provider,
    "test": check_provider,
}
