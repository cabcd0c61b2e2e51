"""Moments: a time as somebody types it, as the server is told it, and as a person reads it."""

from datetime import datetime, timedelta

import typer

from opencrab.gateways.cli.terminal.terminal import Terminal

_DAY = len("2026-02-17")


def parse_terminal_time(
    terminal: Terminal, option: str, text: str | None, *, whole_day: bool = False
) -> str | None:
    """Parse a day or time that the user typed; without a zone it is in this computer's.

    A day means its beginning, or with `whole_day` its end. Raises BadParameter.
    """
    if text is None:
        return None
    typed = text.strip()
    try:
        moment = datetime.fromisoformat(typed)
        if whole_day and len(typed) <= _DAY:
            moment += timedelta(days=1)
        return moment.astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        raise typer.BadParameter(terminal.words("no_moment"), param_hint=option) from None


_UNITS = (
    ("day_ago", "days_ago", 86_400),
    ("hour_ago", "hours_ago", 3_600),
    ("minute_ago", "minutes_ago", 60),
)


def format_age_for_terminal(terminal: Terminal, text: str, now: datetime) -> str:
    """Say how long ago a time of the server was, in the largest unit of which there is one."""
    seconds = (now - datetime.fromisoformat(text)).total_seconds()
    for one, several, length in _UNITS:
        count = int(seconds // length)
        if count >= 1:
            return terminal.words(several if count > 1 else one, count=count)
    return terminal.words("just_now")


def format_time_for_terminal(text: str | None) -> str:
    """Convert a time of the server to this computer's zone, to the minute."""
    if not text:
        return ""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
