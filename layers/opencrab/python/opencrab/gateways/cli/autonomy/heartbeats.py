"""Commands about an agent's heartbeat: how it is set, what it did, and setting it."""

from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import AgentName, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text, truncate_terminal_line

_SHOWN, _WIDTH = 20, 200
_FLAWS = {
    "owner_has_it": "plan_owner_has_it",
    "bad_time": "plan_bad_time",
    "too_often": "plan_too_often",
    "no_room": "plan_no_room",
}


@cli_command
def show_heartbeat(terminal: Terminal, agent: AgentName) -> None:
    """Show an agent's heartbeat and its instructions."""
    found = find_agent_for_terminal(terminal, agent)
    heartbeat = terminal.client.get("agents", found["id"], "heartbeat")
    _tell(terminal, found["name"], heartbeat)
    if not terminal.options.json:
        if heartbeat["initiative"] and heartbeat["instructions"].strip():
            _tell_plan(terminal, terminal.client.get("agents", found["id"], "instruction-plan"))
        status = terminal.client.get("agents", found["id"], "status")["status"]
        if status == "dormant":
            terminal.print_sentence("heartbeat_asleep", name=found["name"])


@cli_command
def wake_agent_for_heartbeats(terminal: Terminal, agent: AgentName) -> None:
    """Wake a dormant agent; an active one does not change."""
    found = find_agent_for_terminal(terminal, agent)
    status = terminal.client.put("agents", found["id"], "status", body={"status": "active"})
    terminal.print_result(status, "heartbeat_awake", name=found["name"])


@cli_command
def set_heartbeat(
    terminal: Terminal,
    agent: AgentName,
    *,
    interval: Annotated[
        int | None, cli_option("Seconds between heartbeats: a prime number, 29 or more.")
    ] = None,
    instructions: Annotated[str | None, cli_option('Standing instructions; "" for none.')] = None,
    enabled: Annotated[
        bool | None, typer.Option("--on/--off", help="Turn the heartbeat on or off.")
    ] = None,
    initiative: Annotated[
        bool | None,
        typer.Option("--initiative/--no-initiative", help="Whether it may set its own goals."),
    ] = None,
    zone: Annotated[str | None, cli_option("The time zone of its active hours.")] = None,
    hours: Annotated[
        str | None, cli_option("Its active hours; - is always.", "HH:MM-HH:MM")
    ] = None,
) -> None:
    """Change an agent's heartbeat; what is left out stays."""
    found = find_agent_for_terminal(terminal, agent)
    place = ("agents", found["id"], "heartbeat")
    heartbeat = dict(terminal.client.get(*place))
    given = {
        "interval_seconds": interval,
        "instructions": instructions,
        "enabled": enabled,
        "initiative": initiative,
    }
    heartbeat |= {name: value for name, value in given.items() if value is not None}
    if hours is not None or zone is not None:
        heartbeat["active_hours"] = _hours(heartbeat.get("active_hours"), hours, zone)
    changed = terminal.client.put(*place, body=heartbeat)
    _tell(terminal, found["name"], changed)


@cli_command
def choose_heartbeat_events(
    terminal: Terminal,
    agent: AgentName,
    events: Annotated[
        list[str], cli_argument("Types of events, such as world.*; - is all.", "TYPE")
    ],
) -> None:
    """Choose the types of events that wake an agent."""
    found = find_agent_for_terminal(terminal, agent)
    place = ("agents", found["id"], "heartbeat")
    chosen = [] if events == ["-"] else [{"type": each} for each in events]
    heartbeat = {**terminal.client.get(*place), "subscriptions": chosen}
    _tell(terminal, found["name"], terminal.client.put(*place, body=heartbeat))


@cli_command
def list_received_events(terminal: Terminal, agent: AgentName) -> None:
    """List the events that an agent received in the last 7 days, newest first."""
    found = find_agent_for_terminal(terminal, agent)
    page = terminal.client.get("agents", found["id"], "received-events", limit=_SHOWN)
    if terminal.options.json:
        terminal.json(page)
        return
    if not page["items"]:
        terminal.print_sentence("no_received_events", name=found["name"])
    for each in page["items"]:
        at = format_time_for_terminal(each["at"])
        source = f" [{each['source']}]" if each["source"] else ""
        told = f"{at} {each['type']}{source} {each['text']}"
        terminal.line(truncate_terminal_line(told, _WIDTH))


@cli_command
def list_heartbeats(terminal: Terminal, agent: AgentName) -> None:
    """List the heartbeats that led to a turn, newest first."""
    found = find_agent_for_terminal(terminal, agent)
    page = terminal.client.get("agents", found["id"], "heartbeats", limit=_SHOWN)
    if terminal.options.json:
        terminal.json(page)
        return
    for beat in page["items"]:
        row = (
            format_time_for_terminal(beat["at"]),
            ", ".join(beat["reasons"]),
            _result(terminal, beat),
            beat.get("turn_id") or "",
        )
        terminal.line("  ".join(row).rstrip())
    totals = page["totals"]
    terminal.print_sentence(
        "beats_so_far", beats=totals["beats"], idle=totals["idle"], turns=totals["turns"]
    )


def _result(terminal: Terminal, beat: dict[str, Any]) -> str:
    """Return what the agent decided, how its turn ended, and what it did."""
    if not beat.get("decision"):
        return terminal.words("beat_no_result")
    done = f" ({', '.join(beat['actions'])})" if beat["actions"] else ""
    decided = terminal.words.term(f"beat_{beat['decision']}")
    return f"→ {decided}, {terminal.words.term(beat['status'])}{done}"


def _hours(before: Any, hours: str | None, zone: str | None) -> dict[str, Any] | None:
    changed = dict(before or {})
    if hours == "-":
        # The zone of the hours is the agent's time zone, which stays.
        if not changed and zone is None:
            return None
        changed |= {"start": "00:00", "end": "00:00"}
    elif hours is not None:
        start, _, end = hours.partition("-")
        changed |= {"start": start.strip(), "end": end.strip()}
    if zone is not None:
        changed["zone"] = zone
    return changed


def _tell(terminal: Terminal, name: str, heartbeat: dict[str, Any]) -> None:
    if terminal.options.json:
        terminal.json(heartbeat)
        return
    key = "heartbeat_on" if heartbeat["enabled"] else "heartbeat_off"
    terminal.print_sentence(key, name=name, seconds=heartbeat["interval_seconds"])
    hours = heartbeat.get("active_hours")
    if hours and hours["start"] != hours["end"]:
        terminal.print_sentence(
            "heartbeat_hours", **{k: hours[k] for k in ("start", "end", "zone")}
        )
    if heartbeat.get("subscriptions"):
        types = ", ".join(each["type"] for each in heartbeat["subscriptions"])
        terminal.print_sentence("heartbeat_events", types=types)
    acts = heartbeat["initiative"] and heartbeat["instructions"].strip()
    terminal.print_sentence("heartbeat_unasked" if acts else "heartbeat_asked")
    if heartbeat["instructions"]:
        terminal.line(clean_terminal_text(heartbeat["instructions"]))


def _tell_plan(terminal: Terminal, plan: dict[str, Any]) -> None:
    """Print what an agent makes of its instructions: each goal with its time."""
    if plan["state"] in {"none", "waiting"}:
        terminal.print_sentence("plan_waiting")
    elif plan["state"] == "failed":
        terminal.print_sentence(
            "plan_failed", why=terminal.error_text(clean_terminal_text(plan["why"]))
        )
    elif plan["state"] == "planned":
        terminal.print_sentence("plan_head")
    for goal in plan["goals"]:
        name, when = clean_terminal_text(goal["name"]), _when(terminal, goal)
        if goal["done"]:
            terminal.print_sentence("plan_goal_done", name=name, when=when)
        else:
            terminal.line(f"- {name} ({when})")
    if plan["note"]:
        terminal.print_sentence("plan_note", note=clean_terminal_text(plan["note"]))


def _when(terminal: Terminal, goal: dict[str, Any]) -> str:
    if goal["flaw"] in _FLAWS:
        return terminal.words(_FLAWS[goal["flaw"]])
    if goal["event"]:
        return terminal.words("plan_event", event=goal["event"])
    if goal["times"]:
        return str(goal["times"])
    return terminal.words("plan_once" if goal["once"] else "plan_again")


COMMANDS = {
    "show": show_heartbeat,
    "set": set_heartbeat,
    "subscribe": choose_heartbeat_events,
    "wake": wake_agent_for_heartbeats,
    "list": list_heartbeats,
    "events": list_received_events,
}
