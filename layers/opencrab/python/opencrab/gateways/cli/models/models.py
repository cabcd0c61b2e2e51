"""Commands about models: list them and their providers, and take over today's prices."""

from typing import TYPE_CHECKING, Annotated, Any

from opencrab.domain.amounts import format_micro_usd
from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal.arguments import Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import ask_yes_or_no_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.domain.models.price_check import NewPrices

ModelView = dict[str, Any]

_WIDE = 70
"""So many columns a terminal has where all is shown of a model."""

_HEADS = ("name", "provider", "context", "input_price", "output_price", "notes")
_NEEDED = ("name", "input_price", "output_price")
"""What a narrow terminal shows; the provider begins the name."""


@cli_command
def list_models(
    terminal: Terminal,
    provider: Annotated[str | None, cli_option("Only this provider.", "NAME")] = None,
) -> None:
    """List the models with their prices, or update the prices."""
    models = list(terminal.client.items("llm", "models", provider=provider))
    terminal.show_list(models, _draw, "no_models")


@cli_command
def refresh_model_prices(
    terminal: Terminal,
    *,
    allow_lower: Annotated[
        bool, cli_option("Also apply prices that are 0 or less than half.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Fetch today's public prices and apply the changed ones."""
    models = {model["name"]: model for model in terminal.client.items("llm", "models")}
    newest = _newest(terminal, models, allow_lower=allow_lower)
    if terminal.options.json:
        terminal.json(_upload_prices(terminal, newest, allow_lower=allow_lower))
        return
    if newest.taken:
        prices = {name: dated.price.model_dump() for name, dated in newest.taken.items()}
        _draw_changes(terminal, models, prices)
        question = terminal.words("really_prices", count=len(prices))
        if (
            terminal.interactive
            and not yes
            and not ask_yes_or_no_on_terminal(question, default=True)
        ):
            terminal.print_sentence("prices_untouched")
            return
    rows = _upload_prices(terminal, newest, allow_lower=allow_lower)
    low = {row["name"]: row["price"] for row in rows if row.get("refused")}
    taken = len(rows) - len(low)
    terminal.print_sentence("prices_taken" if taken else "prices_same", count=taken)
    if low:
        terminal.print_sentence("prices_low", count=len(low))
        _draw_changes(terminal, models, low)


@cli_command
def list_model_providers(terminal: Terminal) -> None:
    """List the model providers: which answer now, and what the others lack."""
    providers = list(terminal.client.items("llm", "providers"))
    if terminal.options.json:
        terminal.json(providers)
        return

    heads = ("provider", "status", "model", "address")
    rows = [
        (one["name"], _state(terminal, one), one["default_model"], one["base_url"])
        for one in providers
    ]
    terminal.table(heads, rows)


def _upload_prices(
    terminal: Terminal, newest: "NewPrices", *, allow_lower: bool
) -> list[dict[str, Any]]:
    """Send the new prices to the server and return a row for each with its result."""
    rows = {
        name: {"name": name, **dated.model_dump(mode="json")}
        for name, dated in newest.taken.items()
    }
    low = {name: fall.model_dump(mode="json") for name, fall in newest.refused.items()}
    if rows:
        prices = {name: price.model_dump(mode="json") for name, price in newest.taken.items()}
        body = {"prices": prices, **({"allow_lower": True} if allow_lower else {})}
        low |= terminal.client.put("llm", "prices", body=body).get("refused", {})
    for name, fall in low.items():
        rows[name] = {"name": name, "price": fall["refused"], "kept": fall["kept"], "refused": True}
    return list(rows.values())


def _newest(terminal: Terminal, models: dict[str, ModelView], *, allow_lower: bool) -> "NewPrices":
    from opencrab.domain.money.budget import Price

    if terminal.options.prices is None:
        raise Invalid(terminal.words("no_price_list"), cure=terminal.words("no_prices_cure"))
    known = {
        name: None if model["price"] is None else Price(**model["price"])
        for name, model in models.items()
    }
    limits = {name: int(model["max_input_tokens"]) for name, model in models.items()}
    places = terminal.options.places
    return terminal.options.prices(known, limits, allow_lower=allow_lower, places=places)


def _state(terminal: Terminal, provider: dict[str, Any]) -> str:
    if not provider["enabled"]:
        return terminal.words("provider_off")
    if provider["missing"]:
        return terminal.words("provider_lacks", what=provider["missing"])
    if not provider.get("ready", True):
        return terminal.words(
            "provider_silent", problem=terminal.error_text(provider.get("problem") or "?")
        )
    return terminal.words("provider_ready")


def _draw(terminal: Terminal, models: list[ModelView]) -> None:

    heads = _HEADS if terminal.console.width >= _WIDE else _NEEDED
    rows = []
    for model in models:
        input_price, output_price = _prices(terminal, model["price"])
        cells = {
            **model,
            "context": f"{model['max_input_tokens']:,}",
            "input_price": input_price,
            "output_price": output_price,
            "notes": _notes(terminal, model),
        }
        rows.append([cells[head] for head in heads])
    terminal.table(heads, rows)
    if any(model["price"] is None for model in models):
        terminal.print_sentence("price_unknown_cure")


def _notes(terminal: Terminal, model: ModelView) -> str:
    """Return whether a model is free and private, or why it cannot be used now."""
    if model.get("problem"):
        return terminal.words("model_unusable", why=terminal.error_text(model["problem"]))
    told = [word for word in ("free", "private") if model.get(word)]
    return ", ".join(terminal.words.term(word) for word in told)


def _draw_changes(
    terminal: Terminal, models: dict[str, ModelView], newest: dict[str, dict[str, Any]]
) -> None:
    rows = [
        (
            name,
            " / ".join(_prices(terminal, models[name]["price"])),
            " / ".join(_prices(terminal, price)),
        )
        for name, price in newest.items()
    ]
    terminal.table(("name", "before", "now"), rows)


def _prices(terminal: Terminal, price: dict[str, Any] | None) -> tuple[str, str]:
    if price is None:
        unknown = terminal.words("price_unknown")
        return unknown, unknown
    return format_micro_usd(price["input_per_million"]), format_micro_usd(
        price["output_per_million"]
    )
