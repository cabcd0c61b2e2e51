"""The provider of a setup: chosen, completed and tried before anything is written."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.models.fault import Fault
from opencrab.gateways.cli.configuration.providers import (
    PROVIDER_NAME,
    ask_provider_key,
    provider_names_in,
    variable_of_provider_key,
)
from opencrab.gateways.cli.setup.search import (
    LOCAL_SERVERS,
    SECTION,
    VENDORS,
    FoundProvider,
    chat_models_of_listing,
    own_setup_setting,
    setup_setting,
)
from opencrab.gateways.cli.terminal.command import print_cli_error
from opencrab.gateways.cli.terminal.input import (
    ask_choice_on_terminal,
    ask_line_on_terminal,
    ask_needed_on_terminal,
    ask_yes_or_no_on_terminal,
)
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.installation.configuration import Configuration, SettingsDraft, SettingView
from opencrab.ports.models.readiness import ProviderHealth

_OTHER, _NONE = "other", "none"
_UNKEYED = ("bedrock",)
_WITHOUT = {_OTHER: "setup_other", _NONE: "setup_none", "bedrock": "setup_needs_profile"}
"""What is said of a choice that is not usable as it is; all others need a key."""

_FAULTS = {
    Fault.AUTH: ("setup_auth", "setup_auth_cure"),
    Fault.UNREACHABLE: ("setup_unreachable", "setup_unreachable_cure"),
    Fault.TIMEOUT: ("setup_timeout", "setup_timeout_cure"),
}
"""Failures of a first call that have sentences of their own here."""

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")
_USUAL_REGION = "us-east-1"
_LISTED = 12
_LEAST_NAME = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True)
class SetupProvider:
    """A provider with what is to be written for it; without a name none was chosen."""

    name: str = ""
    draft: SettingsDraft = field(default_factory=SettingsDraft)
    models: tuple[str, ...] = ()
    usual_model: str = ""


STAND_IN = SetupProvider("scripted", usual_model="rules")
"""What answers by simple rules, where a model could answer and is not wanted."""


def ask_for_setup_provider(
    terminal: Terminal, configuration: Configuration, found: Sequence[FoundProvider]
) -> SetupProvider:
    """Ask for a provider and what it needs, until one answers or is wanted all the same."""
    settings, refused, choice = configuration.settings(), SetupProvider(), ""
    while True:
        choice = name = _ask_name(terminal, configuration, found, settings, choice)
        if name == _NONE:
            is_kept = not found and not own_setup_setting(settings, "llm.default_provider")
            return SetupProvider() if is_kept else STAND_IN
        try:
            name, draft = _ask_details(terminal, configuration, settings, name, refused)
            health = configuration.check_provider(name, draft)
        except Invalid as error:
            print_cli_error(terminal, error)
            continue
        chosen = _provider(settings, name, draft, health)
        if health.ok:
            _tell(terminal, name, health)
            return chosen
        _complain(terminal, name, health, asks=True)
        if ask_yes_or_no_on_terminal(terminal.words("setup_all_the_same"), default=False):
            return chosen
        refused = chosen


def setup_provider_of_options(
    terminal: Terminal,
    configuration: Configuration,
    name: str,
    base_url: str | None,
    *,
    key: bool,
    asks: bool,
) -> tuple[SetupProvider, ProviderHealth]:
    """Return the provider that options describe, and what it says; raises NotFound.

    A key that is missing is asked for if `asks`.
    """
    names = provider_names_in(configuration)
    if name not in names and base_url is None:
        raise NotFound(
            terminal.words("provider_unknown", name=name),
            cure=terminal.words("provider_unknown_cure", names=", ".join(sorted(names))),
        )
    settings = configuration.settings()
    lacks_key = name in VENDORS and not setup_setting(settings, f"{SECTION}.{name}.api_key")
    wants_key = key or (asks and lacks_key and base_url is None and name not in _UNKEYED)
    secret = ask_provider_key(terminal, name) if wants_key else ""
    draft = _draft(configuration, settings, name, {"base_url": base_url}, secret)
    health = configuration.check_provider(name, draft)
    if health.ok:
        _tell(terminal, name, health)
    else:
        _complain(terminal, name, health)
    return _provider(settings, name, draft, health), health


def ask_for_setup_model(terminal: Terminal, chosen: SetupProvider, current: str) -> str:
    """Ask for a model of a provider; servers of one's own have only those that they list."""
    default = current or chosen.usual_model
    is_short = 0 < len(chosen.models) <= _LISTED
    if not is_short:
        return ask_line_on_terminal(
            terminal.words("setup_model"), default
        ) or ask_needed_on_terminal(terminal, terminal.words("setup_model"))
    for number, each in enumerate(chosen.models, start=1):
        terminal.line(f"  {number:>2}  {each}")
    if default not in chosen.models:
        default = chosen.models[0]
    while True:
        answer = ask_line_on_terminal(terminal.words("setup_model"), default)
        if answer.isdecimal() and 1 <= int(answer) <= len(chosen.models):
            return chosen.models[int(answer) - 1]
        if answer in chosen.models or f"{answer}:latest" in chosen.models:
            return answer
        terminal.print_sentence("one_of", choices=f"1-{len(chosen.models)}")


def _ask_name(
    terminal: Terminal,
    configuration: Configuration,
    found: Sequence[FoundProvider],
    settings: Sequence[SettingView],
    last: str,
) -> str:
    """Show what can be chosen, those first that need nothing more, and ask for one of them.

    `last` was chosen before and refused: whoever corrects a key just presses Enter.
    """
    current = own_setup_setting(settings, "llm.default_provider")
    usable = {each.name: each.why for each in found}
    names = provider_names_in(configuration)
    offered = [*usable, *(name for name in VENDORS if name in names and name not in usable)]
    if current in names and current not in offered:
        offered.insert(0, current)
    choices = [*offered, _OTHER, _NONE]
    terminal.line()
    width = max(map(len, choices))
    for number, name in enumerate(choices, start=1):
        words = usable.get(name) or terminal.words(_WITHOUT.get(name, "setup_needs_key"))
        mark = terminal.words("setup_current") if name == current else ""
        terminal.line(f"  {number:>2}  {name:<{width}}  {words}{mark}")
    default = current if current in choices else next(iter(usable), _NONE)
    default = last or default
    return ask_choice_on_terminal(terminal, terminal.words("setup_provider"), choices, default)


def _ask_details(
    terminal: Terminal,
    configuration: Configuration,
    settings: Sequence[SettingView],
    name: str,
    refused: SetupProvider,
) -> tuple[str, SettingsDraft]:
    """Ask for what a provider lacks: its address, its key, its profile, or what was refused."""
    given: dict[str, str | None] = {}
    again = refused.name
    if name == _OTHER:
        before = refused.draft.texts.get(f"{SECTION}.{again}.base_url", "")
        address = ask_line_on_terminal(terminal.words("setup_url"), before)
        configuration.require_value(f"{SECTION}.other.base_url", address or "-")
        given["base_url"] = address
        usual = _LEAST_NAME.sub("-", (urlsplit(address).hostname or "server").lower()).strip("-")
        usual = again if address == before else usual
        while not PROVIDER_NAME.fullmatch(
            name := ask_line_on_terminal(terminal.words("setup_name"), usual)
        ):
            terminal.print_sentence("provider_name", name=name)
        secret = ask_provider_key(terminal, name, "setup_key_optional")
        return name, _draft(configuration, settings, name, given, secret)
    if name == "bedrock":
        given |= _ask_profile(terminal, configuration, settings)
        return name, _draft(configuration, settings, name, given, "")
    address = str(setup_setting(settings, f"{SECTION}.{name}.base_url"))
    if name == "azure" and (not address or again == name):
        given["base_url"] = ask_line_on_terminal(terminal.words("setup_azure"), address)
    has_key = bool(setup_setting(settings, f"{SECTION}.{name}.api_key"))
    secret = ""
    if name not in LOCAL_SERVERS and (not has_key or again == name):
        secret = ask_provider_key(terminal, name, "setup_key_kept" if has_key else "provider_key")
    return name, _draft(configuration, settings, name, given, secret)


def _ask_profile(
    terminal: Terminal, configuration: Configuration, settings: Sequence[SettingView]
) -> Mapping[str, str | None]:
    """Ask for an AWS profile if there are several, and for the region if none is known."""
    profiles = configuration.aws_profiles()
    current = str(setup_setting(settings, f"{SECTION}.bedrock.profile"))
    given: dict[str, str | None] = {}
    if len(profiles) > 1:
        default = current if current in profiles else profiles[0]
        for number, each in enumerate(profiles, start=1):
            terminal.line(f"  {number:>2}  {each}")
        question = terminal.words("setup_profile")
        given["profile"] = ask_choice_on_terminal(terminal, question, profiles, default)
    elif profiles and profiles[0] != "default":
        given["profile"] = profiles[0]
    address = str(setup_setting(settings, f"{SECTION}.bedrock.base_url"))
    if not address or given:
        known = _REGION.search(address)
        usual = known[0] if known else _USUAL_REGION
        region = ask_line_on_terminal(terminal.words("setup_region"), usual)
        if not known or region != usual:
            given["base_url"] = f"https://bedrock-runtime.{region}.amazonaws.com"
    return given


def _draft(
    configuration: Configuration,
    settings: Sequence[SettingView],
    name: str,
    given: Mapping[str, str | None],
    secret: str,
) -> SettingsDraft:
    """Return what is to be written for a provider: what was given, and what it needs with that."""
    prefix = f"{SECTION}.{name}"
    texts = {f"{prefix}.{key}": text for key, text in given.items() if text}
    is_known = name in provider_names_in(configuration)
    if not is_known:
        texts[f"{prefix}.kind"] = "openai"
    if setup_setting(settings, f"{prefix}.enabled") is False:
        texts[f"{prefix}.enabled"] = "true"
    if not secret:
        return SettingsDraft(texts)
    variable = variable_of_provider_key(configuration, name)
    if not is_known:
        texts[f"{prefix}.api_key"] = f"${{{variable}}}"
    return SettingsDraft(texts, {variable: secret})


def _provider(
    settings: Sequence[SettingView], name: str, draft: SettingsDraft, health: ProviderHealth
) -> SetupProvider:
    """Return a provider with its usual model: its default one, unless it lists others only."""
    usual = str(setup_setting(settings, f"{SECTION}.{name}.default_model"))
    models = chat_models_of_listing(health.models or ())
    is_listed = any(usual in each for each in models)
    is_own = name in LOCAL_SERVERS or not usual
    if models and is_own and not (usual and is_listed):
        usual = models[0]
    return SetupProvider(name, draft, models, usual)


def _tell(terminal: Terminal, name: str, health: ProviderHealth) -> None:
    count = len(health.models or ())
    terminal.print_note("provider_ok", name=name, ms=health.latency_ms, count=count)


def _complain(terminal: Terminal, name: str, health: ProviderHealth, *, asks: bool = False) -> None:
    """Print why a provider cannot be used: in words of the setup if they say it, else its own."""
    words = _FAULTS.get(health.fault) if health.fault is not None else None
    said = health.problem.partition(": ")[2] or health.problem
    why = terminal.words(words[0], why=said) if words else terminal.error_text(health.problem)
    terminal.print_complaint(terminal.words("provider_down", name=name, why=why))
    cure = terminal.error_text(health.cure or "") or terminal.words("setup_again")
    if asks and words:
        cure = terminal.words(words[1])
    terminal.print_complaint(f"  → {cure}")
