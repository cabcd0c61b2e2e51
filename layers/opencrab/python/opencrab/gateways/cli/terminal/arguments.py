"""Arguments and options that several commands take, each declared once."""

from enum import StrEnum
from typing import Annotated, Any

import typer


def cli_option(told: str, metavar: str | None = None, **details: Any) -> Any:
    """An option named like its parameter; a switch has no opposite."""
    return typer.Option(help=told, metavar=metavar, **details)


def cli_argument(told: str, metavar: str | None = None, **details: Any) -> Any:
    """A value that is told by its place."""
    return typer.Argument(help=told, metavar=metavar, **details)


AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="An agent's id or name.")]
AnyAgent = Annotated[str | None, typer.Argument(metavar="AGENT", help="An agent's id or name.")]
TurnId = Annotated[str, typer.Argument(metavar="ID", help="A turn's id.")]
Reason = Annotated[str, typer.Option("--reason", help="The reason.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


class PeriodOption(StrEnum):
    """How far back a report looks."""

    LAST_HOUR = "last_hour"
    LAST_DAY = "last_day"
    LAST_WEEK = "last_week"
    LAST_MONTH = "last_month"
    ALL = "all"


class GroupingOption(StrEnum):
    """By what a report sorts calls."""

    MODEL = "model"
    PURPOSE = "purpose"
    TASK_TYPE = "task_type"
    COMPLEXITY = "complexity"
