"""The price of a setup's models: asked for if no list has it, as no budget would hold without."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.setup.search import SECTION
from opencrab.gateways.cli.terminal.command import print_cli_error
from opencrab.gateways.cli.terminal.input import ask_needed_on_terminal, ask_yes_or_no_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.installation.configuration import Configuration, SettingsDraft

_EXAMPLE = "0.15/0.60"


def setup_price_texts(
    terminal: Terminal,
    configuration: Configuration,
    draft: SettingsDraft,
    models: Iterable[str],
    given: str | None,
    *,
    asks: bool,
) -> Mapping[str, str]:
    """Return the settings without which a provider's models would not be called.

    `models` are `provider:model`, and `given` is the price of an option. Raises Invalid for a price
    that is none, and if one is needed and neither given nor asked for.
    """
    texts: dict[str, str] = {}
    for each in models:
        provider, _, model = each.partition(":")
        if given is not None and not texts:
            texts |= _check_price(configuration, provider, given)
        tried = replace(draft, texts={**draft.texts, **texts})
        if not configuration.is_model_priced(provider, model, tried):
            texts |= _price_of(terminal, configuration, tried, provider, model, asks=asks)
    return texts


def _price_of(
    terminal: Terminal,
    configuration: Configuration,
    draft: SettingsDraft,
    provider: str,
    model: str,
    *,
    asks: bool,
) -> Mapping[str, str]:
    """Ask whether a server on a private network is one's own, else for the price."""
    name = f"{provider}:{model}"
    if not asks:
        raise Invalid(terminal.words("setup_no_price", name=name), cure=f"--price {_EXAMPLE}")
    private = {f"{SECTION}.{provider}.private": "true"}
    tried = replace(draft, texts={**draft.texts, **private})
    if configuration.is_model_priced(provider, model, tried) and ask_yes_or_no_on_terminal(
        terminal.words("setup_own_server", name=provider), default=True
    ):
        return private
    terminal.print_sentence("setup_no_price", name=name)
    while True:
        answer = ask_needed_on_terminal(terminal, terminal.words("setup_price", example=_EXAMPLE))
        try:
            return _check_price(configuration, provider, answer)
        except Invalid as error:
            print_cli_error(terminal, error)


def _check_price(configuration: Configuration, provider: str, text: str) -> Mapping[str, str]:
    name, price = f"{SECTION}.{provider}.usd_per_million", text.replace("$", "").strip()
    configuration.require_value(name, price)
    return {name: price}
