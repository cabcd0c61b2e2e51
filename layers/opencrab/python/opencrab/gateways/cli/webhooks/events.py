"""Commands about subscriptions to events; a secret is shown once."""

from typing import Annotated, Any

from opencrab.gateways.cli.terminal.arguments import Yes, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import confirm_on_terminal
from opencrab.gateways.cli.terminal.lookup import agent_names_for_terminal, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_ROUTE = "webhook-events"

SubscriptionName = Annotated[str, cli_argument("The subscription's name.", "NAME")]


@cli_command
def add_event_webhook(
    terminal: Terminal,
    name: SubscriptionName,
    *,
    url: Annotated[str, cli_option("The address that events are posted to: https://….", "URL")],
    events: Annotated[
        str,
        cli_option(
            "Comma-separated: turn.completed, turn.failed, turn.stopped, approval.requested, "
            "goal.finished.",
            "EVENTS",
        ),
    ],
    agent: Annotated[
        str, cli_option("Only of this agent, by id or name; default: of all.", "AGENT")
    ] = "",
) -> None:
    """Add an address to which events are posted, and show its secret once."""
    body: dict[str, Any] = {
        "name": name,
        "url": url,
        "events": [each.strip() for each in events.split(",") if each.strip()],
    }
    if agent:
        body["agent_id"] = find_agent_for_terminal(terminal, agent)["id"]
    _show_secret(terminal, terminal.client.post(_ROUTE, body=body), "event_webhook_added")


@cli_command
def list_event_webhooks(terminal: Terminal) -> None:
    """List the addresses to which events are posted, without their secrets."""
    found = terminal.client.get(_ROUTE)["items"]
    terminal.show_list(found, _draw, "event_webhooks_none")


@cli_command
def try_event_webhook(terminal: Terminal, name: SubscriptionName) -> None:
    """Post an event of the type webhook.test, and say whether it was confirmed."""
    told = terminal.client.post(_ROUTE, name, "test")
    terminal.print_result(told, "event_webhook_confirmed", name=name)


@cli_command
def rotate_event_webhook(
    terminal: Terminal,
    name: SubscriptionName,
    hours: Annotated[
        int, cli_option("How many hours events are signed with both, 0 to 168.", "HOURS")
    ] = 24,
) -> None:
    """Sign events with a new secret, and show it once."""
    rotated = terminal.client.post(_ROUTE, name, "rotate", body={"hours": hours})
    _show_secret(terminal, rotated, "event_webhook_rotated", hours=hours)


@cli_command
def remove_event_webhook(terminal: Terminal, name: SubscriptionName, *, yes: Yes = False) -> None:
    """Post no more events to an address."""
    question = terminal.words("event_webhook_really_remove", name=name)
    if not confirm_on_terminal(terminal, question, yes=yes, needed="event_webhook_yes_needed"):
        terminal.print_sentence("unchanged", name=name)
        return
    terminal.client.delete(_ROUTE, name)
    terminal.print_result({"name": name, "removed": True}, "event_webhook_removed", name=name)


def _show_secret(terminal: Terminal, found: dict[str, Any], sentence: str, **facts: object) -> None:
    if terminal.options.json:
        terminal.json(found)
        return
    terminal.print_note(sentence, name=found["name"], url=found["url"], **facts)
    terminal.line(found["secret"])
    terminal.print_note("key_shown_once")


def _draw(terminal: Terminal, subscriptions: list[dict[str, Any]]) -> None:
    names = agent_names_for_terminal(terminal)
    rows = [
        (
            each["name"],
            names.get(each["agent_id"], each["agent_id"]) if each["agent_id"] else "-",
            ", ".join(each["events"]),
            each["url"],
            f"{each['problem']} ({each['failed']})" if each["problem"] else "-",
        )
        for each in subscriptions
    ]
    terminal.table(("name", "agent", "events", "url", "problem"), rows)


COMMANDS = {
    "add": add_event_webhook,
    "list": list_event_webhooks,
    "test": try_event_webhook,
    "rotate": rotate_event_webhook,
    "remove": remove_event_webhook,
}
