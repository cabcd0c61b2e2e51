"""Commands about an agent's schedules: list, show, add, edit, pause, resume, run and delete."""

from typing import Annotated, Any

import typer

from opencrab.domain.errors import Conflict, NotFound
from opencrab.gateways.cli.terminal.arguments import (
    ID_PREFIX,
    SESSIONS,
    AgentName,
    Yes,
    cli_argument,
    cli_option,
)
from opencrab.gateways.cli.terminal.command import cli_command, cli_command_with, cli_parameter
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.input import confirm_on_terminal, terminal_text_argument_or_pipe
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import visible_terminal_text

ScheduleView = dict[str, Any]
ScheduleName = Annotated[str, typer.Argument(metavar="SCHEDULE", help="A schedule's id or name.")]

_WRITTEN = ("name", "when", "zone", "instructions", "enabled", "session_id", "channel")
_PLACE = {
    **cli_parameter(
        "zone",
        str | None,
        help="The time zone of a cron line, for example Asia/Tokyo; default: the agent's.",
    ),
    **cli_parameter("text", str | None, help="The instructions; default: standard input."),
    **cli_parameter(
        "session",
        str | None,
        ids=SESSIONS,
        help="The session to run in, or own for the agent's own session.",
    ),
    **cli_parameter("channel", str | None, help="Where messages are sent: KIND:ADDRESS, or none."),
}
_WHEN = "@every 5m, @every 2h or @every 1d, or five cron fields: minute hour day month weekday."
_CHANGES = {
    **cli_parameter("name", str | None, help="The schedule's name."),
    **cli_parameter("when", str | None, help=_WHEN),
    **_PLACE,
}


@cli_command
def list_schedules(terminal: Terminal, agent: AgentName) -> None:
    """List an agent's schedules with their next times."""
    found = find_agent_for_terminal(terminal, agent)
    schedules = list(terminal.client.items("agents", found["id"], "schedules"))
    terminal.show_list(schedules, _draw, "no_schedules", name=found["name"])


@cli_command
def show_schedule(terminal: Terminal, agent: AgentName, schedule: ScheduleName) -> None:
    """Show one schedule with its instructions."""
    shown = _find_schedule(terminal, agent, schedule)[1]
    terminal.show(shown, _tell)


@cli_command_with(_PLACE)
def add_schedule(
    terminal: Terminal,
    /,
    agent: AgentName,
    schedule: Annotated[str, cli_argument("The schedule's name.", "NAME")],
    *,
    when: Annotated[str, cli_option(_WHEN)],
    **place: Any,
) -> None:
    """Add instructions that run at set times."""
    found = find_agent_for_terminal(terminal, agent)
    text = terminal_text_argument_or_pipe(
        terminal, place["text"], needed="schedule_text_needed", option="--text"
    )
    body = _schedule_body(terminal, {"name": schedule, "when": when, **place, "text": text})
    _print_next_run(terminal, terminal.client.post("agents", found["id"], "schedules", body=body))


@cli_command_with(_CHANGES)
def edit_schedule(
    terminal: Terminal, /, agent: AgentName, schedule: ScheduleName, **changes: Any
) -> None:
    """Change a schedule by options or in your editor; this does not run it."""
    place, shown = _find_schedule(terminal, agent, schedule)
    if any(value is not None for value in changes.values()):
        wanted = _schedule_body(terminal, changes)
    elif terminal.interactive:
        from opencrab.gateways.cli.terminal.editor import edit_in_terminal_editor

        wanted = edit_in_terminal_editor(terminal, {name: shown[name] for name in _WRITTEN})
    else:
        raise typer.BadParameter(terminal.words("schedule_nothing"), param_hint="--when")
    _change(terminal, place, shown, wanted)


@cli_command
def pause_schedule(terminal: Terminal, agent: AgentName, schedule: ScheduleName) -> None:
    """Pause a schedule until it is resumed."""
    _change(terminal, *_find_schedule(terminal, agent, schedule), {"enabled": False})


@cli_command
def resume_schedule(terminal: Terminal, agent: AgentName, schedule: ScheduleName) -> None:
    """Resume a schedule with its next time from now."""
    _change(terminal, *_find_schedule(terminal, agent, schedule), {"enabled": True})


@cli_command
def run_schedule(terminal: Terminal, agent: AgentName, schedule: ScheduleName) -> None:
    """Run a schedule now; its next scheduled run does not move."""
    begun = terminal.client.post(*_find_schedule(terminal, agent, schedule)[0], "run")
    terminal.print_result(begun, "schedule_begun", turn=", ".join(begun["turn_ids"]))


@cli_command
def delete_schedule(
    terminal: Terminal,
    agent: AgentName,
    schedule: ScheduleName,
    *,
    yes: Yes = False,
) -> None:
    """Delete a schedule; running turns continue."""
    place, shown = _find_schedule(terminal, agent, schedule)
    question = terminal.words("really_delete_schedule", name=shown["name"])
    if not confirm_on_terminal(terminal, question, yes=yes, needed="schedule_yes"):
        terminal.print_sentence("unchanged", name=shown["name"])
        return
    gone = terminal.client.delete(*place)
    terminal.print_result(gone, "schedule_deleted", name=gone["name"])


COMMANDS = {
    "list": list_schedules,
    "add": add_schedule,
    "show": show_schedule,
    "edit": edit_schedule,
    "pause": pause_schedule,
    "resume": resume_schedule,
    "run": run_schedule,
    "delete": delete_schedule,
}

_Place = tuple[str, str, str, str]


def _find_schedule(terminal: Terminal, agent: str, wanted: str) -> tuple[_Place, ScheduleView]:
    """Find a schedule by its id, or by a name that is unique; raises NotFound, Conflict."""
    owner = find_agent_for_terminal(terminal, agent)
    schedules = list(terminal.client.items("agents", owner["id"], "schedules"))
    found = [each for each in schedules if each["id"] == wanted]
    found = found or [each for each in schedules if each["name"] == wanted]
    if ID_PREFIX.fullmatch(wanted):
        found = found or [each for each in schedules if each["id"].startswith(wanted)]
    if not found:
        raise NotFound(
            terminal.words("unknown_schedule", name=owner["name"], schedule=wanted),
            cure=terminal.words("unknown_schedule_cure"),
        )
    if len(found) > 1:
        raise Conflict(
            terminal.words("schedule_ambiguous", schedule=wanted, count=len(found)),
            cure=terminal.words("ambiguous_cure", ids=", ".join(each["id"] for each in found)),
        )
    return ("agents", owner["id"], "schedules", found[0]["id"]), found[0]


def _schedule_body(terminal: Terminal, given: dict[str, Any]) -> dict[str, Any]:
    """Return the request body of a schedule with the options that were given."""
    body = {name: given[name] for name in ("name", "when", "zone") if given.get(name) is not None}
    if given["text"] is not None:
        body["instructions"] = given["text"]
    if given["session"] is not None:
        body["session_id"] = None if given["session"] == "own" else given["session"]
    if given["channel"] is not None:
        body["channel"] = _channel(terminal, given["channel"])
    return body


def _channel(terminal: Terminal, text: str) -> dict[str, str] | None:
    kind, colon, address = text.partition(":")
    if text == "none":
        return None
    if not (kind and colon and address):
        raise typer.BadParameter(terminal.words("schedule_channel_form"), param_hint="--channel")
    return {"kind": kind, "address": address}


def _change(terminal: Terminal, place: _Place, shown: ScheduleView, wanted: dict[str, Any]) -> None:
    body = {name: shown[name] for name in _WRITTEN} | wanted
    _print_next_run(terminal, terminal.client.put(*place, body=body, version=int(shown["version"])))


def _print_next_run(terminal: Terminal, schedule: ScheduleView) -> None:
    if terminal.options.json:
        terminal.json(schedule)
    elif schedule["enabled"]:
        terminal.print_sentence(
            "schedule_next", name=schedule["name"], at=format_time_for_terminal(schedule["next_at"])
        )
    else:
        terminal.print_sentence("schedule_is_off", name=schedule["name"])


def _status(terminal: Terminal, schedule: ScheduleView) -> str:
    if schedule["why_off"]:
        return terminal.words(_OFF[schedule["why_off"]])
    status = terminal.words("schedule_on" if schedule["enabled"] else "schedule_paused")
    if schedule.get("from_instructions"):
        return terminal.words("schedule_from_instructions", status=status)
    return status


_OFF = {
    "agent_retired": "agent_retired_off",
    "session_over": "session_over_off",
    "never_again": "never_again_off",
}


def _draw(terminal: Terminal, schedules: list[ScheduleView]) -> None:

    rows = [
        (
            each["id"],
            each["name"],
            each["when"],
            each["zone"],
            _status(terminal, each),
            format_time_for_terminal(each["next_at"]),
            each["fired"] or "",
        )
        for each in schedules
    ]
    heads = ("schedule", "name", "times", "zone", "status", "next", "fired")
    terminal.table(heads, rows)


def _tell(terminal: Terminal, schedule: ScheduleView) -> None:
    channel = schedule["channel"]
    pairs = [
        ("schedule", schedule["id"]),
        ("name", schedule["name"]),
        ("times", schedule["when"]),
        ("zone", schedule["zone"]),
        ("status", _status(terminal, schedule)),
        ("next", format_time_for_terminal(schedule["next_at"])),
        ("last", format_time_for_terminal(schedule["last_at"])),
        ("turn", schedule["last_turn_id"]),
        ("fired", schedule["fired"] or ""),
        ("session", schedule["session_id"]),
        ("said_to", f"{channel['kind']}:{channel['address']}" if channel else ""),
        ("changed", format_time_for_terminal(schedule["updated_at"])),
    ]
    terminal.print_fields(pairs, exact=True)
    terminal.line()
    terminal.line(visible_terminal_text(schedule["instructions"]))
