"""Commands: what all of them share, which is their common options and the one error boundary."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, get_args

import typer
from typer.models import OptionInfo

from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.cli.language.sentences import CliLanguage, cli_languages
from opencrab.gateways.cli.terminal.options import DATA, Options
from opencrab.gateways.cli.terminal.terminal import Terminal

P = ParamSpec("P")

Parameters = dict[str, inspect.Parameter]
"""A command's parameters by name, as typer reads them."""


def cli_parameter(
    name: str, kind: Any, *flags: str, default: Any = None, **details: Any
) -> Parameters:
    """One option of a command whose signature is put together from parts."""
    option = typer.Option(*flags or (f"--{name}",), show_default=False, **details)
    annotation = Annotated[kind, option]
    place = inspect.Parameter.KEYWORD_ONLY
    return {name: inspect.Parameter(name, place, default=default, annotation=annotation)}


def common_cli_options(*, root: bool = False) -> Parameters:
    """The options of every command; before the command they may also come from the environment."""

    def variable(*names: str) -> dict[str, Any]:
        return {"envvar": list(names)} if root else {}

    return {
        **cli_parameter(
            "url", str | None, help="The address of OpenCrab.", **variable("OPENCRAB_URL")
        ),
        **cli_parameter(
            "key",
            str | None,
            help="The API key to use.",
            **variable("OPENCRAB_KEY", "OPENCRAB_OWNER_KEY"),
        ),
        **cli_parameter("data", Path | None, help="The data folder.", **variable("OPENCRAB_DATA")),
        **cli_parameter(
            "language",
            str | None,
            is_eager=True,
            callback=_existing_language,
            metavar="|".join(cli_languages()),
            help="The language of messages and help.",
        ),
        **cli_parameter("json", bool, "--json", default=False, help="Print JSON, for scripts."),
    }


def _existing_language(said: str | None) -> CliLanguage | None:
    if said is not None and said not in cli_languages():
        message = f"{said!r} is not one of {', '.join(cli_languages())}"
        raise typer.BadParameter(message)
    return None if said is None else CliLanguage(said)


def environment_options() -> Parameters:
    """What else the environment says; nobody needs to say it by hand."""
    return {
        **cli_parameter(
            "locale", str, default="", hidden=True, envvar=["LC_ALL", "LC_MESSAGES", "LANG"]
        ),
        **cli_parameter("editor", str, default="vi", hidden=True, envvar=["VISUAL", "EDITOR"]),
        **cli_parameter("state", Path | None, hidden=True, envvar="XDG_STATE_HOME"),
    }


def root_cli_options(given: Mapping[str, Any], outside: Options) -> Options:
    """The options as they stand before the command's own; `outside` holds what nobody types."""
    return replace(
        outside,
        url=given["url"],
        key=given["key"],
        data=given["data"] or DATA,
        language=CliLanguage.of(given["language"] or given["locale"]),
        json=given["json"],
        editor=given["editor"],
        state=given["state"],
    )


def cli_command(run: Callable[Concatenate[Terminal, P], None]) -> Callable[..., None]:
    """A function as a command: with the common options, a terminal, and errors as sentences.

    An option that the function itself takes, such as an agent's `language`, is its own. A function
    that stands for a group runs only where no command of the group is named.
    """
    return cli_command_with({})(run)


def cli_command_with(
    more: Parameters,
) -> Callable[[Callable[Concatenate[Terminal, P], None]], Callable[..., None]]:
    """The same for a function that takes some of its options by `**`, as several commands do."""

    def decorate(run: Callable[Concatenate[Terminal, P], None]) -> Callable[..., None]:
        _, *signature = inspect.signature(run).parameters.values()
        own = {found.name: found for found in signature if found.kind is not found.VAR_KEYWORD}
        for found in own.values():
            _set_switch_name(found)
        own |= more
        shared = {name: option for name, option in common_cli_options().items() if name not in own}

        @wraps(run)
        def wrapper(context: typer.Context, **values: Any) -> None:
            said = {name: value for name in shared if (value := values.pop(name))}
            if context.invoked_subcommand is not None:
                context.obj = replace(context.obj, **said)
                return
            terminal = Terminal(replace(context.obj, **said))
            with _sentences_for_errors(terminal):
                run(terminal, **values)  # type: ignore[call-arg]

        return with_typer_signature(wrapper, own | shared)

    return decorate


def _set_switch_name(found: inspect.Parameter) -> None:
    """Name a switch that has no name yet: typer would give it an opposite."""
    kind, *details = get_args(found.annotation) or (None,)
    for each in details:
        if kind is bool and isinstance(each, OptionInfo) and each.default is ...:
            each.param_decls = (f"--{found.name.replace('_', '-')}",)


def with_typer_signature(
    wrapper: Callable[..., None], parameters: Parameters
) -> Callable[..., None]:
    """A function that typer reads as one with a context and these parameters."""
    context = inspect.Parameter(
        "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    named = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in parameters.values()]
    signature = inspect.Signature([context, *named])
    wrapper.__signature__ = signature  # type: ignore[attr-defined]
    wrapper.__annotations__ = {
        name: option.annotation for name, option in signature.parameters.items()
    }
    return wrapper


@contextmanager
def _sentences_for_errors(terminal: Terminal) -> Iterator[None]:
    try:
        yield
    except OpenCrabError as error:
        print_cli_error(terminal, error)
        raise typer.Exit(1) from error


def print_cli_error(terminal: Terminal, error: OpenCrabError) -> None:
    """Say what is wrong, where, and what to do about it."""
    place = f" ({error.field})" if error.field and error.field not in error.message else ""
    terminal.print_complaint(f"opencrab: {error.message}{place}")
    if error.cure:
        terminal.print_complaint(f"  → {error.cure}")
