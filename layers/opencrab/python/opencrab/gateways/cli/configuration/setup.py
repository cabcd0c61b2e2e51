"""The guided setup: a provider with its key, its model and the budget, asked or by options."""

from typing import Annotated, Any

import typer

from opencrab.domain.errors import Invalid, NotFound
from opencrab.gateways.cli.configuration.opening import open_terminal_configuration
from opencrab.gateways.cli.configuration.providers import (
    ask_provider_key,
    provider_names_in,
    variable_of_provider_key,
)
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.terminal.arguments import Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import ask_line_on_terminal, ask_number_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.installation.configuration import Configuration
from opencrab.ports.models.readiness import ProviderHealth

_LOCAL = ("ollama", "llamacpp")
"""Servers on this computer, which need no key: they are looked for."""

_ASKED = ("openai", "anthropic", "google", "openrouter", "xai", "deepseek", "ollama")


@cli_command
def set_up(
    terminal: Terminal,
    *,
    provider: Annotated[str | None, cli_option("The provider to use.", "NAME")] = None,
    base_url: Annotated[str | None, cli_option("Address of its API.", "URL")] = None,
    model: Annotated[str | None, cli_option("Its model.", "MODEL")] = None,
    key: Annotated[bool, cli_option("Ask for its API key, or read it from a pipe.")] = False,
    day_usd: Annotated[
        str | None, cli_option("Most that an agent may spend in a day.", "USD")
    ] = None,
    yes: Yes = False,
) -> None:
    """Choose provider, key, model and budget, and test them; run it again to change them."""
    configuration = open_terminal_configuration(terminal)
    asks = terminal.interactive and not yes
    chosen = provider or _choose(terminal, configuration, asks=asks)
    _keep_provider(terminal, configuration, chosen, base_url, asks=asks, key=key)
    health = configuration.check_provider(chosen)
    if not health.ok:
        terminal.print_complaint(terminal.words("provider_down", name=chosen, why=health.problem))
        terminal.print_complaint(f"  → {health.cure or terminal.words('setup_again')}")
        raise typer.Exit(ExitCode.UNAVAILABLE)
    terminal.print_note("provider_ok", name=chosen, ms=health.latency_ms, count=_count(health))
    model = model or _usual_model(configuration, chosen, health)
    if asks:
        model = ask_line_on_terminal(terminal.words("setup_model"), model)
        day_usd = day_usd or ask_line_on_terminal(terminal.words("setup_day"), _day(configuration))
    texts: dict[str, str | None] = {"llm.default_provider": chosen, "llm.default_model": model}
    if day_usd is not None:
        texts["budget.agent_day_usd"] = day_usd
    configuration.change(texts)
    view = {"provider": chosen, "model": model, "file": str(configuration.written)}
    terminal.print_result(view, "setup_done", model=f"{chosen}:{model}", file=view["file"])
    terminal.print_note("setup_next")


def _choose(terminal: Terminal, configuration: Configuration, *, asks: bool) -> str:
    """Return the provider that somebody chooses, or the first that can be used as it is."""
    found = [name for name in _ASKED if _has_key(configuration, name)]
    found += [name for name in _LOCAL if configuration.check_provider(name).ok]
    for name in found:
        terminal.print_note("setup_found", name=name)
    if not asks:
        if not found:
            raise Invalid(
                terminal.words("setup_nothing"),
                cure="opencrab config setup --provider openai --key",
            )
        return found[0]
    choices = [*found, *(name for name in _ASKED if name not in found)]
    for number, name in enumerate(choices, start=1):
        terminal.line(f"  {number}  {name}")
    return choices[
        ask_number_on_terminal(terminal, terminal.words("setup_provider"), len(choices)) - 1
    ]


def _keep_provider(
    terminal: Terminal,
    configuration: Configuration,
    name: str,
    base_url: str | None,
    *,
    asks: bool,
    key: bool,
) -> None:
    """Write a provider's address and store its key, as far as they are given or missing."""
    is_known = name in provider_names_in(configuration)
    if not is_known and base_url is None:
        raise NotFound(
            terminal.words("provider_unknown", name=name),
            cure=terminal.words(
                "provider_unknown_cure", names=", ".join(sorted(provider_names_in(configuration)))
            ),
        )
    texts: dict[str, str | None] = {}
    if base_url is not None:
        texts[f"llm.providers.{name}.base_url"] = base_url
    if not is_known:
        texts[f"llm.providers.{name}.kind"] = "openai"
    variable = variable_of_provider_key(configuration, name)
    needs_key = name not in _LOCAL and base_url is None and not _has_key(configuration, name)
    secret = ask_provider_key(terminal, name) if key or (asks and needs_key) else ""
    if secret and not is_known:
        texts[f"llm.providers.{name}.api_key"] = f"${{{variable}}}"
    if texts:
        configuration.change(texts)
    if secret:
        configuration.keep_secret(variable, secret)
        terminal.print_note("provider_key_kept", variable=variable)


def _value(configuration: Configuration, name: str) -> Any:
    return next((each.value for each in configuration.settings() if each.name == name), "")


def _has_key(configuration: Configuration, name: str) -> bool:
    return bool(_value(configuration, f"llm.providers.{name}.api_key"))


def _day(configuration: Configuration) -> str:
    return f"{_value(configuration, 'budget.agent_day_usd'):g}"


def _usual_model(configuration: Configuration, name: str, health: ProviderHealth) -> str:
    """Return the provider's default model, unless it lists others only."""
    usual = str(_value(configuration, f"llm.providers.{name}.default_model"))
    listed = health.models or ()
    is_listed = any(usual in each for each in listed)
    is_own = name in _LOCAL or not usual
    return listed[0] if listed and is_own and not (usual and is_listed) else usual


def _count(health: ProviderHealth) -> int:
    return len(health.models or ())
