"""The guided setup: language, provider, models, budget and a first agent, asked or by options.

Nothing is written until all is answered; then all of it is, also if somebody presses Ctrl-C.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import typer

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.configuration.opening import (
    configuration_fault_line,
    open_terminal_configuration,
)
from opencrab.gateways.cli.language.sentences import cli_languages, sentences_of_language
from opencrab.gateways.cli.scripting.exit_code import ExitCode
from opencrab.gateways.cli.server.temporary import server_for_command
from opencrab.gateways.cli.setup.agent import (
    SetupAgent,
    ask_for_setup_agent,
    call_models_of_setup,
    create_setup_agent_after,
    try_to_create_setup_agent,
)
from opencrab.gateways.cli.setup.price import setup_price_texts
from opencrab.gateways.cli.setup.provider import (
    STAND_IN,
    SetupProvider,
    ask_for_setup_model,
    ask_for_setup_provider,
    setup_provider_of_options,
)
from opencrab.gateways.cli.setup.search import (
    find_providers_for_setup,
    own_setup_setting,
    setup_setting,
)
from opencrab.gateways.cli.terminal.arguments import Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command_with, cli_parameter, print_cli_error
from opencrab.gateways.cli.terminal.input import (
    ask_choice_on_terminal,
    ask_line_on_terminal,
    ask_yes_or_no_on_terminal,
    interruption_delayed,
)
from opencrab.gateways.cli.terminal.lookup import AgentView
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.installation.configuration import Configuration, SettingChange, SettingView

_DEFAULT = ("llm.default_provider", "llm.default_model")
_THINKING, _DAY = "llm.models.thinking", "budget.agent_day_usd"
_SAME = "same"


@dataclass(frozen=True)
class SetupPlan:
    """All that a setup writes, and the agent that it creates."""

    provider: SetupProvider
    texts: dict[str, str | None] = field(default_factory=dict)
    agent: SetupAgent = field(default_factory=SetupAgent)


_OPTIONS = {
    **cli_parameter(
        "base_url", str | None, "--base-url", metavar="URL", help="Address of its API."
    ),
    **cli_parameter("model", str | None, metavar="MODEL", help="Its model."),
    **cli_parameter(
        "thinking", str | None, metavar="MODEL", help="Model for difficult tasks, or 'same'."
    ),
    **cli_parameter(
        "price",
        str | None,
        metavar="IN/OUT",
        help="Its price in US dollars per million tokens, if no list has it.",
    ),
    **cli_parameter(
        "day_usd",
        str | None,
        "--day-usd",
        metavar="USD",
        help="Most that an agent may spend in a day.",
    ),
    **cli_parameter("agent", str | None, metavar="NAME", help="Create an agent of this name."),
    **cli_parameter("purpose", str | None, metavar="TEXT", help="Its purpose, in one sentence."),
}


@cli_command_with(_OPTIONS)
def set_up(
    terminal: Terminal,
    /,
    *,
    provider: Annotated[str | None, cli_option("The provider to use.", "NAME")] = None,
    key: Annotated[bool, cli_option("Ask for its API key, or read it from a pipe.")] = False,
    no_call: Annotated[bool, cli_option("Do not call the model.")] = False,
    yes: Yes = False,
    **given: str | None,
) -> None:
    """Choose provider, models, budget and a first agent, and test them; run it again to change."""
    if terminal.options.url is not None:
        raise Invalid(
            terminal.words("setup_elsewhere"), cure=terminal.words("setup_elsewhere_cure")
        )
    asks = terminal.interactive and not yes
    try:
        terminal = _ask_language(terminal) if asks else terminal
        configuration = open_terminal_configuration(terminal)
        _require_sound(configuration)
        wanted = SetupAgent(given["agent"] or "", given["purpose"] or "")
        if asks and provider is None:
            plan = _ask(terminal, configuration, wanted)
        else:
            plan = _of_options(
                terminal, configuration, provider, given["base_url"], wanted, key=key, asks=asks
            )
        models = (given["model"], given["thinking"], given["day_usd"])
        plan = _with_models(terminal, configuration, plan, models, given["price"], asks=asks)
        plan = _with_agent(terminal, plan, wanted, asks=asks)
    except (KeyboardInterrupt, EOFError):
        _leave(terminal, "setup_left")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    try:
        _carry_out(terminal, configuration, plan, asks=asks, calls=not no_call)
    except (KeyboardInterrupt, EOFError):
        _leave(terminal, "setup_left_done")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _leave(terminal: Terminal, key: str) -> None:
    """Print what an interruption leaves, below the line in which it was typed."""
    terminal.line()
    terminal.print_note(key)


def _ask_language(terminal: Terminal) -> Terminal:
    """Ask for the language of the questions that follow, in all of them."""
    languages = cli_languages()
    terminal.line(" / ".join(_of_language(each, "setup_welcome") for each in languages))
    terminal.line()
    for number, each in enumerate(languages, start=1):
        terminal.line(f"  {number}  {_of_language(each, 'setup_language_name')}")
    question = " / ".join(_of_language(each, "setup_language") for each in languages)
    current = terminal.options.language
    default = str(languages.index(current) + 1)
    names = [str(each) for each in languages]
    chosen = ask_choice_on_terminal(terminal, question, names, default)
    return Terminal(replace(terminal.options, language=languages[names.index(chosen)]))


def _of_language(language: str, key: str) -> str:
    return sentences_of_language(language)["sentences"][key]


def _require_sound(configuration: Configuration) -> None:
    """Raise Invalid if the settings are wrong: on these nothing can be tested."""
    for each in configuration.faults():
        raise Invalid(
            configuration_fault_line(each), field=each.name or None, cure=each.cure or None
        )


def _ask(terminal: Terminal, configuration: Configuration, wanted: SetupAgent) -> SetupPlan:
    terminal.print_sentence("setup_keys")
    terminal.print_note("setup_looks")
    found = find_providers_for_setup(terminal, configuration)
    return SetupPlan(ask_for_setup_provider(terminal, configuration, found), agent=wanted)


def _of_options(
    terminal: Terminal,
    configuration: Configuration,
    name: str | None,
    base_url: str | None,
    wanted: SetupAgent,
    *,
    key: bool,
    asks: bool,
) -> SetupPlan:
    """Return the provider that was named, or the first that can be used as it is."""
    if name is None:
        found = find_providers_for_setup(terminal, configuration)
        for each in found:
            terminal.print_note("setup_found", name=each.name, why=each.why)
        current = own_setup_setting(configuration.settings(), _DEFAULT[0])
        names = [current, *(each.name for each in found)] if current else [e.name for e in found]
        if not names:
            raise Invalid(
                terminal.words("setup_nothing"), cure="opencrab setup --provider openai --key"
            )
        name = names[0]
    chosen, health = setup_provider_of_options(
        terminal, configuration, name, base_url, key=key, asks=asks
    )
    if not health.ok:
        raise typer.Exit(ExitCode.UNAVAILABLE)
    return SetupPlan(chosen, agent=wanted)


def _with_models(
    terminal: Terminal,
    configuration: Configuration,
    plan: SetupPlan,
    given: tuple[str | None, str | None, str | None],
    price: str | None,
    *,
    asks: bool,
) -> SetupPlan:
    """Add models, price and budget: those given, asked for, or usual."""
    (model, thinking, day), chosen = given, plan.provider
    settings = configuration.settings()
    texts: dict[str, str | None] = dict(chosen.draft.texts)
    if chosen.name:
        is_kept = own_setup_setting(settings, _DEFAULT[0]) == chosen.name
        current = own_setup_setting(settings, _DEFAULT[1]) if is_kept else ""
        asks_models = asks and chosen.name != STAND_IN.name
        if asks_models and model is None:
            model = ask_for_setup_model(terminal, chosen, current)
        texts |= zip(_DEFAULT, (chosen.name, model or current or chosen.usual_model), strict=True)
        thinking = thinking or (_ask_thinking(terminal, settings) if asks_models else None)
        if thinking == _SAME and own_setup_setting(settings, _THINKING):
            texts[_THINKING] = None
        elif thinking and thinking != _SAME:
            texts[_THINKING] = thinking if ":" in thinking else f"{chosen.name}:{thinking}"
        models = [":".join(str(texts[each]) for each in _DEFAULT), texts.get(_THINKING)]
        texts |= setup_price_texts(
            terminal, configuration, chosen.draft, filter(None, models), price, asks=asks
        )
    if asks and day is None:
        day = _ask_day(terminal, configuration, settings)
    if day is not None:
        configuration.require_value(_DAY, day)
        texts[_DAY] = day
    return replace(plan, texts=texts)


def _ask_thinking(terminal: Terminal, settings: Sequence[SettingView]) -> str | None:
    """Ask for the model of difficult tasks; None keeps what is set."""
    current = own_setup_setting(settings, _THINKING) or _SAME
    answer = ask_line_on_terminal(terminal.words("setup_thinking", same=_SAME), current)
    return None if answer == current else answer


def _ask_day(
    terminal: Terminal, configuration: Configuration, settings: Sequence[SettingView]
) -> str | None:
    """Ask for the daily limit until it is one; None keeps what is set."""
    current = f"{setup_setting(settings, _DAY):g}"
    while True:
        answer = ask_line_on_terminal(terminal.words("setup_day"), current).removeprefix("$")
        if answer == current:
            return None
        try:
            configuration.require_value(_DAY, answer)
        except Invalid as error:
            print_cli_error(terminal, error)
        else:
            return answer


def _with_agent(
    terminal: Terminal, plan: SetupPlan, wanted: SetupAgent, *, asks: bool
) -> SetupPlan:
    if not asks:
        return plan
    is_first = not _may_have_agents(terminal)
    return replace(plan, agent=ask_for_setup_agent(terminal, wanted, is_first=is_first))


def _may_have_agents(terminal: Terminal) -> bool:
    return (terminal.options.data / "opencrab.db").is_file()


def _carry_out(
    terminal: Terminal, configuration: Configuration, plan: SetupPlan, *, asks: bool, calls: bool
) -> None:
    """Write and create everything, then call the model, and talk to the agent if that is wanted."""
    has_agents = bool(plan.agent.name) or _may_have_agents(terminal)
    if terminal.options.start_server is None or not has_agents:
        with interruption_delayed():
            changes = _write(configuration, plan)
        _print_done(terminal, plan, changes, None, [])
        terminal.print_note("setup_next")
        return
    with ExitStack() as stack:
        with interruption_delayed():
            changes = _write(configuration, plan)
            stack.enter_context(server_for_command(terminal, "setup_starts"))
            created, trouble = try_to_create_setup_agent(terminal, plan.agent)
        if trouble is not None:
            if not asks:
                raise trouble
            created = create_setup_agent_after(terminal, plan.agent, trouble)
        is_model = plan.provider.name not in {"", STAND_IN.name}
        checks = call_models_of_setup(terminal) if calls and is_model else []
        _print_done(terminal, plan, changes, created, checks)
        if not asks and any(each["state"] != "ok" for each in checks):
            raise typer.Exit(ExitCode.UNAVAILABLE)
        if asks and created is not None:
            _offer_chat(terminal, created)
        elif created is not None:
            terminal.print_note("agent_created_next", name=created["name"])


def _write(configuration: Configuration, plan: SetupPlan) -> Sequence[SettingChange]:
    """Write the settings, all or none, and store the keys."""
    changes = configuration.change(plan.texts) if plan.texts else ()
    for variable, secret in plan.provider.draft.secrets.items():
        configuration.keep_secret(variable, secret)
    return changes


def _print_done(
    terminal: Terminal,
    plan: SetupPlan,
    changes: Sequence[SettingChange],
    created: AgentView | None,
    checks: list[dict[str, Any]],
) -> None:
    for variable in plan.provider.draft.secrets:
        terminal.print_note("provider_key_kept", variable=variable)
    for each in changes:
        if each.overridden_by:
            terminal.print_note("setting_overridden", name=each.name, source=each.overridden_by)
    written = str(changes[0].file) if changes else None
    provider, model = (plan.texts.get(name) for name in _DEFAULT)
    view: dict[str, Any] = {"provider": provider, "model": model, "file": written}
    view |= {"agent": None if created is None else created["name"], "checks": checks}
    if provider in {None, STAND_IN.name}:
        terminal.print_result(view, "setup_done_none")
    else:
        terminal.print_result(view, "setup_done", model=f"{provider}:{model}", file=written)


def _offer_chat(terminal: Terminal, created: AgentView) -> None:
    if not ask_yes_or_no_on_terminal(
        terminal.words("setup_talk", name=created["name"]), default=True
    ):
        terminal.print_note("setup_later")
        return
    from opencrab.gateways.cli.conversation.chat import converse_at_terminal

    converse_at_terminal(terminal, created["name"])
