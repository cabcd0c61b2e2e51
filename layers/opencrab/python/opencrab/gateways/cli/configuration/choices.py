"""Commands about which model answers: aliases, the fallback chain, and the model of each use."""

from typing import Annotated, Any

from opencrab.gateways.cli.configuration.opening import open_terminal_configuration
from opencrab.gateways.cli.terminal.arguments import cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

_CHAIN = "llm.fallback.chain"

AliasName = Annotated[str, cli_argument("The alias, such as fast.", "ALIAS")]
ModelName = Annotated[str, cli_argument("PROVIDER:MODEL, or an alias.", "MODEL")]
UseName = Annotated[
    str,
    cli_argument("thinking, conversation, analysis, tool_calling, creative or embedding.", "USE"),
]


@cli_command
def list_model_aliases(terminal: Terminal) -> None:
    """List the aliases of models in the settings."""
    _show(terminal, "llm.aliases", "alias")


@cli_command
def set_model_alias(terminal: Terminal, name: AliasName, model: ModelName) -> None:
    """Set an alias: a short name for a model, usable wherever a model is named."""
    _change(terminal, f"llm.aliases.{name}", model)


@cli_command
def remove_model_alias(terminal: Terminal, name: AliasName) -> None:
    """Remove an alias of yours; one that ships has its own model again."""
    _change(terminal, f"llm.aliases.{name}", None)


@cli_command
def show_model_fallback(terminal: Terminal) -> None:
    """Show who answers, in this order, when a model fails."""
    found = open_terminal_configuration(terminal).settings()
    chain = next((each.value for each in found if each.name == _CHAIN), [])
    names = [str(each) for each in chain] if isinstance(chain, list) else []
    terminal.show_list(names, lambda _, items: terminal.line(" → ".join(items)), "no_fallback")


@cli_command
def set_model_fallback(
    terminal: Terminal,
    models: Annotated[list[str], cli_argument("Providers, aliases or PROVIDER:MODEL.", "MODEL…")],
) -> None:
    """Set who answers, in this order, when a model fails."""
    _change(terminal, _CHAIN, ",".join(models))


@cli_command
def reset_model_fallback(terminal: Terminal) -> None:
    """Return the fallback chain to the one that ships."""
    _change(terminal, _CHAIN, None)


@cli_command
def list_model_uses(terminal: Terminal) -> None:
    """List the model of each use in the settings."""
    _show(terminal, "llm.models", "use")


@cli_command
def set_model_of_use(terminal: Terminal, use: UseName, model: ModelName) -> None:
    """Set the model of a use."""
    _change(terminal, f"llm.models.{use}", model)


@cli_command
def reset_model_of_use(terminal: Terminal, use: UseName) -> None:
    """Return a use to the model that ships."""
    _change(terminal, f"llm.models.{use}", None)


def _change(terminal: Terminal, name: str, text: str | None) -> None:
    (change,) = open_terminal_configuration(terminal).change({name: text})
    view = {"name": name, "value": change.value, "file": str(change.file)}
    key = "setting_unset" if text is None else "setting_set"
    terminal.print_result(view, key, name=name, value=text, file=str(change.file))
    if change.overridden_by:
        terminal.print_note("setting_overridden", name=name, source=change.overridden_by)
    else:
        terminal.print_note("setting_at_once")


def _show(terminal: Terminal, section: str, head: str) -> None:
    """Show the models of a section, one for each name."""
    found: dict[str, dict[str, Any]] = {}
    for each in open_terminal_configuration(terminal).settings():
        if not each.name.startswith(f"{section}."):
            continue
        name, _, part = each.name.removeprefix(f"{section}.").partition(".")
        view = found.setdefault(name, {"name": name, "model": "", "from": each.source})
        if part == "provider":
            view["model"] = f"{each.value}:{view['model']}"
        elif part == "model":
            view["model"] = f"{view['model']}{each.value}"
        else:
            view["model"] = str(each.value)

    def draw(shown: Terminal, rows: list[dict[str, Any]]) -> None:
        cells = [(each["name"], each["model"], each["from"]) for each in rows]
        shown.table((head, "model", "from"), cells)

    terminal.show(list(found.values()), draw)


ALIASES = {"list": list_model_aliases, "set": set_model_alias, "remove": remove_model_alias}
FALLBACK = {
    "show": show_model_fallback,
    "set": set_model_fallback,
    "reset": reset_model_fallback,
}
USES = {"list": list_model_uses, "set": set_model_of_use, "reset": reset_model_of_use}
