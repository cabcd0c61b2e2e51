"""The `opencrab` program: its commands put together.

`opencrab up` reaches what it launches without loading anything that the other commands need.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from opencrab import __version__
from opencrab.gateways.cli.access import keys
from opencrab.gateways.cli.agents import agents, presets
from opencrab.gateways.cli.approvals import approvals
from opencrab.gateways.cli.autonomy import heartbeats, schedules
from opencrab.gateways.cli.backup import backup
from opencrab.gateways.cli.conversation import chat, sessions, turns
from opencrab.gateways.cli.discord import discord
from opencrab.gateways.cli.doctor import doctor
from opencrab.gateways.cli.goals import goals, tasks
from opencrab.gateways.cli.insight import analytics, export, live_panes, what_if
from opencrab.gateways.cli.learning import feedback, learning, model_trial
from opencrab.gateways.cli.memory import memory
from opencrab.gateways.cli.models import models
from opencrab.gateways.cli.money import freeze
from opencrab.gateways.cli.simulation import day
from opencrab.gateways.cli.skills import skills
from opencrab.gateways.cli.terminal.command import (
    cli_parameter,
    common_cli_options,
    environment_options,
    root_cli_options,
    with_typer_signature,
)
from opencrab.gateways.cli.terminal.help_pages import TranslatedCommand, TranslatedGroup
from opencrab.gateways.cli.terminal.options import (
    Launch,
    Options,
    UpOptions,
)
from opencrab.gateways.cli.usage import aws_cost, reconcile, usage
from opencrab.gateways.cli.workspace import workspace

_GROUPS: dict[str, tuple[str, dict[str, Callable[..., None]]]] = {
    "agents": (
        "List, create, show, edit and retire agents.",
        {
            "list": agents.list_agents,
            "create": agents.create_agent,
            "show": agents.show_agent,
            "edit": agents.edit_agent,
            "retire": agents.retire_agent,
        },
    ),
    "sessions": (
        "List, show, share and end conversations (sessions).",
        {
            "list": sessions.list_sessions,
            "show": sessions.show_session,
            "rename": sessions.rename_session,
            "end": sessions.end_session,
            "invite": sessions.invite,
            "uninvite": sessions.uninvite,
            "speak-freely": sessions.let_speak_freely,
        },
    ),
    "turns": (
        "Show a turn step by step, stop it, decide its approval, rate it.",
        {
            "show": turns.show_turn,
            "cancel": turns.cancel_turn,
            "decide": turns.decide_turn,
        },
    ),
    "task": ("Give an agent an instruction, watch it work, and steer it.", tasks.COMMANDS),
    "export": ("Write an agent's state and history to files.", export.COMMANDS),
    "workspace": (
        "List, read, write, download, upload and delete an agent's files.",
        {
            "list": workspace.list_files,
            "read": workspace.read_file,
            "write": workspace.write_file,
            "get": workspace.get_file,
            "put": workspace.put_file,
            "delete": workspace.delete_file,
            "versions": workspace.list_versions,
            "delete-versions": workspace.delete_versions,
        },
    ),
    "skills": (
        "See an agent's skills; add, approve, switch and retire them.",
        skills.COMMANDS,
    ),
    "memory": ("Search, list, add and delete what an agent remembers.", memory.COMMANDS),
    "discord": (
        "Set up and check the Discord bot, and run the relay for ordinary messages.",
        discord.COMMANDS,
    ),
    "goals": ("See an agent's goals and their reasons; add and abandon goals.", goals.COMMANDS),
    "schedules": (
        "Give an agent instructions for set times; pause, run and delete them.",
        schedules.COMMANDS,
    ),
    "meta": ("Run an agent's learning now instead of at night.", learning.COMMANDS),
    "eval": ("Compare models on an agent's work; this costs money.", model_trial.COMMANDS),
    "heartbeats": ("Show and set how agents act on their own.", heartbeats.COMMANDS),
    "seed": ("Create agents from presets.", presets.COMMANDS),
    "cost": (
        "Estimate what an installation on AWS costs.",
        {"estimate": aws_cost.estimate_cost},
    ),
    "keys": (
        "Create, list and revoke API keys.",
        {"create": keys.create_key, "list": keys.list_keys, "revoke": keys.revoke_key},
    ),
}

_LISTS: dict[str, tuple[str, Callable[..., None], dict[str, Callable[..., None]]]] = {
    "models": (
        "List the models with their prices, or update the prices.",
        models.list_models,
        {"refresh-prices": models.refresh_prices},
    ),
    "costs": (
        "Show what model calls cost, or settle calls that may have been billed.",
        usage.costs,
        {"reconcile": reconcile.reconcile_costs},
    ),
    "approvals": (
        "See and decide approvals; grant permission in advance.",
        approvals.list_approvals,
        approvals.COMMANDS,
    ),
    "simulate": (
        "Simulate some hours of the preset agents, without a model.",
        day.simulate,
        day.COMMANDS,
    ),
}

_COMMANDS: dict[str, Callable[..., None]] = {
    "providers": models.list_providers,
    "budgets": usage.budgets,
    "freeze": freeze.freeze,
    "unfreeze": freeze.unfreeze,
    "mentor": sessions.mentor,
    "feedback": feedback.give_feedback,
    "watch": live_panes.watch,
    "analytics": analytics.show_analytics,
    "experiments": learning.show_experiments,
    "changes": learning.show_changes,
    "whatif": what_if.what_if,
    "doctor": doctor.doctor,
    "backup": backup.back_up,
    "restore": backup.restore,
    "verify": backup.verify,
}


def build_cli(launch: Launch, outside: Options | None = None) -> typer.Typer:
    """Return the program; `launch` runs OpenCrab, `outside` has settings that no option sets."""
    app = _group("Autonomous agents on your own computer or on serverless AWS.")
    app.callback()(_root(outside or Options()))
    app.command("up", cls=TranslatedCommand)(_up(launch))
    app.command("chat", cls=TranslatedCommand)(chat.chat)
    for name, (purpose, commands) in _GROUPS.items():
        group = _group(purpose)
        for verb, run in commands.items():
            group.command(verb, cls=TranslatedCommand)(run)
        app.add_typer(group, name=name)
    for name, (purpose, listed, commands) in _LISTS.items():
        app.add_typer(_listing(purpose, listed, commands), name=name)
    for name, run in _COMMANDS.items():
        app.command(name, cls=TranslatedCommand)(run)
    return app


def _listing(
    purpose: str, listed: Callable[..., None], commands: dict[str, Callable[..., None]]
) -> typer.Typer:
    """Return a command group that lists its items when no subcommand is named."""
    group = _group(purpose)
    group.info.no_args_is_help = False
    group.callback(invoke_without_command=True)(listed)
    for verb, run in commands.items():
        group.command(verb, cls=TranslatedCommand)(run)
    return group


def _group(purpose: str) -> typer.Typer:
    return typer.Typer(
        cls=TranslatedGroup,
        help=purpose,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _root(outside: Options) -> Callable[..., None]:
    def root(context: typer.Context, **given: Any) -> None:
        context.obj = root_cli_options(given, outside)

    version = cli_parameter(
        "version",
        bool,
        default=False,
        is_eager=True,
        callback=_show_version,
        help="Show the version.",
    )
    return with_typer_signature(
        root, common_cli_options(root=True) | environment_options() | version
    )


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        typer.echo(f"opencrab {__version__}")
        raise typer.Exit


def _up(launch: Launch) -> Callable[..., None]:
    def up(
        context: typer.Context,
        port: Annotated[
            int | None,
            typer.Option(
                "--port",
                min=1,
                max=65_535,
                show_default="8080, or the next free one",
                help="The port to listen on.",
            ),
        ] = None,
        host: Annotated[
            str, typer.Option("--host", help="The address to listen on.")
        ] = "127.0.0.1",
        data: Annotated[
            Path | None,
            typer.Option("--data", show_default="data", help="The folder for all data."),
        ] = None,
        provider: Annotated[
            str | None,
            typer.Option("--provider", metavar="NAME[:MODEL]", help="The model to use."),
        ] = None,
    ) -> None:
        """Run OpenCrab on this computer."""
        options = UpOptions(
            port=port,
            host=host,
            data=data or context.obj.data,
            provider=provider,
            language=context.obj.language,
        )
        raise typer.Exit(launch(options))

    return up
