"""Arguments and options that several commands take, each declared once."""

from enum import StrEnum
from typing import Annotated, Any

import typer


def cli_option(told: str, metavar: str | None = None, **details: Any) -> Any:
    """Return an option that is named like its parameter; a switch has no `--no-` form."""
    return typer.Option(help=told, metavar=metavar, **details)


def cli_argument(told: str, metavar: str | None = None, **details: Any) -> Any:
    """Return a positional argument."""
    return typer.Argument(help=told, metavar=metavar, **details)


AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="An agent's id or name.")]
AnyAgent = Annotated[str | None, typer.Argument(metavar="AGENT", help="An agent's id or name.")]
TurnId = Annotated[str, typer.Argument(metavar="ID", help="A turn's id.")]
Reason = Annotated[str, typer.Option("--reason", help="The reason.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


class PeriodOption(StrEnum):
    """The period that a report covers."""

    LAST_HOUR = "last_hour"
    LAST_DAY = "last_day"
    LAST_WEEK = "last_week"
    LAST_MONTH = "last_month"
    ALL = "all"


class GroupingOption(StrEnum):
    """The field by which a report groups calls."""

    MODEL = "model"
    PURPOSE = "purpose"
    TASK_TYPE = "task_type"
    COMPLEXITY = "complexity"
