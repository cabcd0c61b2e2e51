"""Commands about webhooks; a secret is shown once."""

import json
from enum import StrEnum
from typing import Annotated, Any

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal.arguments import Yes, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import confirm_on_terminal
from opencrab.gateways.cli.terminal.lookup import agent_names_for_terminal, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_PROOFS = {
    "standard": "webhook_secret_standard",
    "github": "webhook_secret_github",
    "bearer": "webhook_secret_bearer",
}

WebhookName = Annotated[str, cli_argument("The webhook's name.", "NAME")]


class WebhookSchemeOption(StrEnum):
    """How a sender proves itself."""

    STANDARD = "standard"
    GITHUB = "github"
    BEARER = "bearer"


class WebhookAuthorityOption(StrEnum):
    """On whose behalf the agent acts."""

    PUBLIC = "public"
    USER = "user"
    OWNER = "owner"


@cli_command
def add_webhook(
    terminal: Terminal,
    name: WebhookName,
    *,
    agent: Annotated[str, cli_option("The agent that answers, by id or name.", "AGENT")],
    scheme: Annotated[
        WebhookSchemeOption,
        cli_option("Proof: standard signs (Standard Webhooks), github signs, bearer sends it."),
    ] = WebhookSchemeOption.STANDARD,
    session: Annotated[
        str, cli_option("Key of the session, such as '{{ room }}'; default: one session.", "KEY")
    ] = "",
    template: Annotated[
        str, cli_option("The message for the agent, such as '{{ user }}: {{ text }}'.", "TEXT")
    ] = "",
    authority: Annotated[
        WebhookAuthorityOption, cli_option("On whose behalf the agent acts.")
    ] = WebhookAuthorityOption.PUBLIC,
    reply_to: Annotated[
        str,
        cli_option("Where answers go: discord:CHANNEL or https://…; default: nowhere.", "PLACE"),
    ] = "",
) -> None:
    """Add a webhook, and show its address and its secret once."""
    found = find_agent_for_terminal(terminal, agent)
    body = {
        "name": name,
        "agent_id": found["id"],
        "scheme": scheme.value,
        "session": session,
        "template": template,
        "authority": authority.value,
        "reply_to": reply_to,
    }
    _show_secret(terminal, terminal.client.post("webhooks", body=body), "webhook_added")


@cli_command
def list_webhooks(terminal: Terminal) -> None:
    """List the webhooks, without their secrets."""
    found = terminal.client.get("webhooks")["items"]
    terminal.show_list(found, _draw_webhooks, "webhooks_none")


@cli_command
def try_webhook(
    terminal: Terminal,
    name: WebhookName,
    body: Annotated[
        str, cli_option("The made-up body, as JSON.", "JSON")
    ] = '{"text": "a test of this webhook"}',
) -> None:
    """Send the agent a made-up body, as if it came from a sender."""
    try:
        made_up = json.loads(body)
    except ValueError:
        raise Invalid(
            terminal.words("webhook_body"), field="body", cure=terminal.words("webhook_body_cure")
        ) from None
    told = terminal.client.post("webhooks", name, "test", body={"body": made_up})
    if terminal.options.json:
        terminal.json(told)
        return
    terminal.print_sentence("webhook_sent", session=told["session_id"])
    terminal.line(told["text"])
    terminal.print_note("webhook_follow", turn=told["turn_id"])


@cli_command
def rotate_webhook(
    terminal: Terminal,
    name: WebhookName,
    hours: Annotated[
        int, cli_option("How many hours the secret before still counts, 0 to 168.", "HOURS")
    ] = 24,
) -> None:
    """Give a webhook a new secret, and show it once."""
    rotated = terminal.client.post("webhooks", name, "rotate", body={"hours": hours})
    _show_secret(terminal, rotated, "webhook_rotated", hours=hours)


@cli_command
def remove_webhook(terminal: Terminal, name: WebhookName, *, yes: Yes = False) -> None:
    """Remove a webhook; requests to it are refused from then on."""
    question = terminal.words("webhook_really_remove", name=name)
    if not confirm_on_terminal(terminal, question, yes=yes, needed="webhook_yes_needed"):
        terminal.print_sentence("unchanged", name=name)
        return
    terminal.client.delete("webhooks", name)
    terminal.print_result({"name": name, "removed": True}, "webhook_removed", name=name)


def _show_secret(
    terminal: Terminal, webhook: dict[str, Any], sentence: str, **facts: object
) -> None:
    address = f"{terminal.client.address.url}{webhook['path']}"
    if terminal.options.json:
        terminal.json({**webhook, "url": address})
        return
    terminal.print_note(sentence, name=webhook["name"], **facts)
    terminal.line(address)
    terminal.line(webhook["secret"])
    terminal.print_note(_PROOFS[webhook["scheme"]])
    if webhook.get("reply_secret"):
        terminal.print_note("webhook_reply_secret", place=webhook["reply_to"])
        terminal.line(webhook["reply_secret"])
    terminal.print_note("key_shown_once")


def _draw_webhooks(terminal: Terminal, webhooks: list[dict[str, Any]]) -> None:
    names = agent_names_for_terminal(terminal)
    rows = [
        (
            each["name"],
            names.get(each["agent_id"], each["agent_id"]),
            each["scheme"],
            each["authority"],
            each["session"] or "-",
            each["template"] or "-",
            ": ".join(filter(None, (each["reply_to"], each["reply_problem"]))) or "-",
        )
        for each in webhooks
    ]
    heads = ("name", "agent", "scheme", "authority", "webhook_session", "template", "reply_to")
    terminal.table(heads, rows)
