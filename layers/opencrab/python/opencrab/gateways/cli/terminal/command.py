"""Commands: what all of them share, which is their common options and the one error boundary."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, get_args

import typer
from typer.models import OptionInfo

from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.cli.language.sentences import CliLanguage, cli_languages
from opencrab.gateways.cli.scripting.error_json import error_json_for_scripts
from opencrab.gateways.cli.scripting.exit_code import (
    ExitCode,
    exit_code_of_error,
    exit_code_of_output,
)
from opencrab.gateways.cli.terminal.arguments import ID_PREFIX, IdList
from opencrab.gateways.cli.terminal.input import MissingAnswerError, terminal_questions_allowed
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.terminal import Terminal

P = ParamSpec("P")

Parameters = dict[str, inspect.Parameter]
"""A command's parameters by name, as typer reads them."""


def cli_parameter(
    name: str,
    kind: Any,
    *flags: str,
    default: Any = None,
    ids: IdList | None = None,
    **details: Any,
) -> Parameters:
    """Return one option, for a command whose signature is put together from parts.

    `ids` is the list in which its value is an id, if it is one.
    """
    option = typer.Option(*flags or (f"--{name}",), show_default=False, **details)
    annotation = Annotated[kind, option] if ids is None else Annotated[kind, option, ids]
    place = inspect.Parameter.KEYWORD_ONLY
    return {name: inspect.Parameter(name, place, default=default, annotation=annotation)}


@cache
def common_cli_options(*, root: bool = False) -> Parameters:
    """Return the options of every command; those before the command also read the environment."""

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
        **(_config_option() if root else {}),
        **cli_parameter(
            "language",
            str | None,
            is_eager=True,
            callback=_existing_language,
            metavar="|".join(cli_languages()),
            help="The language of messages and help.",
        ),
        **cli_parameter("json", bool, "--json", default=False, help="Print JSON, for scripts."),
        **cli_parameter(
            "quiet", bool, "--quiet", default=False, help="Print results and errors only."
        ),
        **cli_parameter(
            "no_input",
            bool,
            "--no-input",
            default=False,
            help="Never ask: a missing answer is an error.",
        ),
    }


def _config_option() -> Parameters:
    """Return the option that names the owner's settings file, before the command only."""
    return cli_parameter(
        "config", Path | None, help="Your settings file.", envvar="OPENCRAB_CONFIG"
    )


def _existing_language(said: str | None) -> CliLanguage | None:
    if said is not None and said not in cli_languages():
        message = f"{said!r} is not one of {', '.join(cli_languages())}"
        raise typer.BadParameter(message)
    return None if said is None else CliLanguage(said)


def terminal_environment_options() -> Parameters:
    """Return hidden options that only the environment sets: locale, editor, colours, and so on."""
    return {
        **cli_parameter(
            "locale", str, default="", hidden=True, envvar=["LC_ALL", "LC_MESSAGES", "LANG"]
        ),
        **cli_parameter("editor", str, default="vi", hidden=True, envvar=["VISUAL", "EDITOR"]),
        **cli_parameter("config_home", str, default="", hidden=True, envvar="XDG_CONFIG_HOME"),
        **cli_parameter("data_home", str, default="", hidden=True, envvar="XDG_DATA_HOME"),
        **cli_parameter("state", Path | None, hidden=True, envvar="XDG_STATE_HOME"),
        **cli_parameter("no_color", str, default="", hidden=True, envvar="NO_COLOR"),
        **cli_parameter("term", str, default="", hidden=True, envvar="TERM"),
    }


def root_cli_options(given: Mapping[str, Any], outside: Options) -> Options:
    """Return the options that stand before the command; `outside` has those that no option sets."""
    # Whoever asks for the version or for help needs no place.
    from opencrab.gateways.cli.connection.paths import usual_data_folder, usual_settings_file

    usual, config = usual_data_folder(given["data_home"]), given["config"]
    return replace(
        outside,
        url=given["url"],
        key=given["key"],
        data=given["data"] or usual,
        usual_data=usual,
        data_named=bool(given["data"]),
        data_home=given["data_home"] or "",
        config=Path(config) if config else usual_settings_file(given["config_home"]),
        config_named=bool(config),
        language=CliLanguage.of(given["language"] or given["locale"]),
        json=given["json"],
        quiet=given["quiet"],
        no_input=given["no_input"],
        plain=bool(given["no_color"]) or given["term"] == "dumb",
        editor=given["editor"],
        state=given["state"],
    )


def cli_command(run: Callable[Concatenate[Terminal, P], None]) -> Callable[..., None]:
    """Make a command of a function: add the common options, a terminal, and readable errors.

    If the function has an option of the same name itself, such as an agent's `language`, that one
    is used. A function of a command group runs only if no subcommand is named.
    """
    return cli_command_with({})(run)


def cli_command_with(
    more: Parameters,
) -> Callable[[Callable[Concatenate[Terminal, P], None]], Callable[..., None]]:
    """Return a decorator like `cli_command`, for functions that take shared options by `**`."""

    def decorate(run: Callable[Concatenate[Terminal, P], None]) -> Callable[..., None]:
        _, *signature = inspect.signature(run).parameters.values()
        own = {found.name: found for found in signature if found.kind is not found.VAR_KEYWORD}
        for found in own.values():
            _set_switch_name(found)
        own |= more
        ids = {name: kind for name, found in own.items() if (kind := _id_list(found)) is not None}
        shared = {name: option for name, option in common_cli_options().items() if name not in own}

        @wraps(run)
        def wrapper(context: typer.Context, **values: Any) -> None:
            said = {name: value for name in shared if (value := values.pop(name))}
            if context.invoked_subcommand is not None:
                context.obj = replace(context.obj, **said)
                return
            terminal = Terminal(replace(context.obj, **said))
            _print_new_name_on_terminal(context, terminal)
            with (
                _exit_code_of_errors(terminal),
                terminal_questions_allowed(allowed=terminal.interactive),
            ):
                values.update(_whole_ids(terminal, ids, values))
                run(terminal, **values)  # type: ignore[call-arg]

        return terminal_command_signature(wrapper, own | shared)

    return decorate


def _id_list(found: inspect.Parameter) -> IdList | None:
    details = get_args(found.annotation)[1:]
    return next((each for each in details if isinstance(each, IdList)), None)


def _whole_ids(
    terminal: Terminal, ids: Mapping[str, IdList], values: Mapping[str, Any]
) -> dict[str, str]:
    """Return the whole ids for those of which only the beginning was typed."""
    typed = {name: values[name] for name in ids if ID_PREFIX.fullmatch(str(values.get(name)))}
    if not typed:
        return {}
    from opencrab.gateways.cli.terminal.lookup import find_id_for_terminal

    agent = values.get("agent")
    return {
        name: find_id_for_terminal(terminal, ids[name], wanted, agent)
        for name, wanted in typed.items()
    }


def _set_switch_name(found: inspect.Parameter) -> None:
    """Name a switch that has no name yet: typer would add a `--no-` form."""
    kind, *details = get_args(found.annotation) or (None,)
    for each in details:
        if kind is bool and isinstance(each, OptionInfo) and each.default is ...:
            each.param_decls = (f"--{found.name.replace('_', '-')}",)


def terminal_command_signature(
    wrapper: Callable[..., None], parameters: Parameters
) -> Callable[..., None]:
    """Give a wrapper the signature that typer reads: a context and these parameters."""
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


def _print_new_name_on_terminal(context: typer.Context, terminal: Terminal) -> None:
    """Tell a person who typed an older name of a command the name of today; scripts are told none.

    The older names are in `command_tree/aliases.py`.
    """
    if not terminal.err.isatty() or getattr(terminal.options, "quiet", False):
        return
    place: Any = context
    rest = list[str]()
    while place.parent is not None:
        if now := getattr(place.command, "replaced_by", ""):
            program = context.find_root().info_name
            new = " ".join((str(program), now, *rest))
            terminal.print_note("renamed", old=context.command_path, new=new)
            return
        rest.insert(0, place.info_name or "")
        place = place.parent


@contextmanager
def _exit_code_of_errors(terminal: Terminal) -> Iterator[None]:
    """Print what goes wrong within the block, and exit with its code; there is no traceback."""
    try:
        yield
        terminal.out.flush()
    except OpenCrabError as error:
        print_cli_error(terminal, error)
        raise typer.Exit(exit_code_of_error(error)) from error
    except MissingAnswerError as error:
        raise typer.BadParameter(
            terminal.words("nobody_to_ask", question=error.question)
        ) from error
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except OSError as error:
        code = exit_code_of_output(error)
        if code is None:
            raise
        if code is ExitCode.FAILED:
            why = error_json_for_scripts(
                "full", terminal.words("output_full", why=error.strerror), None
            )
            with suppress(OSError):
                terminal.print_error(why)
        terminal.discard_output()
        raise typer.Exit(code) from None


def print_cli_error(terminal: Terminal, error: OpenCrabError) -> None:
    """Print an error with its field and what to do about it, in the user's language."""
    message, cure = map(terminal.error_text, (error.message, error.cure or ""))
    if not terminal.options.json and error.field and error.field not in error.message:
        message = f"{message} ({error.field})"
    terminal.print_error(error_json_for_scripts(error.code, message, cure, field=error.field))
