"""Arguments and options that several commands take, each declared once."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer


def cli_option(told: str, metavar: str | None = None, **details: Any) -> Any:
    """Return an option that is named like its parameter; a switch has no `--no-` form."""
    return typer.Option(help=told, metavar=metavar, **details)


def cli_argument(told: str, metavar: str | None = None, **details: Any) -> Any:
    """Return a positional argument."""
    return typer.Argument(help=told, metavar=metavar, **details)


ID_PREFIX = re.compile(r"[0-9a-z]{4,25}")
"""The beginning of an id, which has 26 characters; a shorter text is taken as it is."""


@dataclass(frozen=True)
class IdList:
    """Marks a parameter that is an id in a list of the server: its first characters are enough.

    The list is at these parts of a path, below the agent of the command if `of_agent`; `states` are
    the states in which it is listed, if the list shows one at a time. `also` names a field whose
    id stands for the item as well.
    """

    parts: tuple[str, ...]
    of_agent: bool = False
    states: tuple[str, ...] = ()
    also: str = ""


AgentName = Annotated[str, typer.Argument(metavar="AGENT", help="An agent's id or name.")]
AnyAgent = Annotated[str | None, typer.Argument(metavar="AGENT", help="An agent's id or name.")]
TURNS, SESSIONS = IdList(("turns",)), IdList(("sessions",))
TurnId = Annotated[str, typer.Argument(metavar="ID", help="A turn's id."), TURNS]
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
