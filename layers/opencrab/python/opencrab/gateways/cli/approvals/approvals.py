"""Commands about approvals: see and decide what waits, sign links, and give leave beforehand."""

import re
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, TypeVar

import typer

from opencrab.domain.errors import Invalid, NotFound
from opencrab.gateways.cli.terminal.approval_call import (
    print_approval_call_on_terminal,
    terminal_call_lines,
)
from opencrab.gateways.cli.terminal.arguments import (
    AgentName,
    IdList,
    Reason,
    cli_argument,
    cli_option,
)
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import agent_names_for_terminal, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import visible_terminal_text

T = TypeVar("T")

ApprovalView = dict[str, Any]
ApprovalId = Annotated[
    str,
    typer.Argument(metavar="ID", help="An approval's id, or the id of the turn that waits."),
    IdList(("approvals",), states=("open", "decided"), also="turn_id"),
]
ShownCallHash = Annotated[
    str, typer.Option("--hash", help="The hash of the call that you read; another is not approved.")
]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHORT_HASH = 16
_PENDING, _SHOWN_PENDING = "pending", "waiting"


class ImpactName(StrEnum):
    """The impacts that a grant may allow."""

    READ = "read"
    SELF = "self"
    SHARED = "shared"
    EXTERNAL = "external"


@cli_command
def list_approvals(
    terminal: Terminal,
    *,
    decided: Annotated[bool, cli_option("Decisions of the last 35 days.")] = False,
) -> None:
    """List approvals that are waiting or decided."""
    state = "decided" if decided else "open"
    found = list(terminal.client.items("approvals", state=state))
    if terminal.options.json:
        terminal.json(found)
    elif not found:
        terminal.print_sentence("no_decided" if decided else "no_approvals")
    else:
        _draw(terminal, found, decided=decided)
        if not decided:
            terminal.print_note("approvals_in_short")


@cli_command
def show_approval(terminal: Terminal, approval: ApprovalId) -> None:
    """Show one approval with the exact arguments of its tool call."""
    approval = _validate_approval_id(terminal, approval)
    found = _or_by_turn(terminal, approval, lambda each: terminal.client.get("approvals", each))
    terminal.show(found, _tell)


@cli_command
def give_approval_to_call(
    terminal: Terminal, approval: ApprovalId, reason: Reason = "", shown: ShownCallHash = ""
) -> None:
    """Show the whole tool call and approve it, with exactly these arguments."""
    approval = _validate_approval_id(terminal, approval)
    decide = partial(_decide, terminal, reason=reason, shown=shown, approved=True)
    _or_by_turn(terminal, approval, decide)


@cli_command
def refuse_approval_of_call(terminal: Terminal, approval: ApprovalId, reason: Reason = "") -> None:
    """Reject the tool call; its turn ends."""
    approval = _validate_approval_id(terminal, approval)
    decide = partial(_decide, terminal, reason=reason, shown="", approved=False)
    _or_by_turn(terminal, approval, decide)


@cli_command
def make_approval_link(
    terminal: Terminal,
    approval: ApprovalId,
    hours: Annotated[int, cli_option("How many hours the link is valid.", min=1, max=168)] = 24,
) -> None:
    """Create a signed link by which somebody without a key can decide."""
    approval = _validate_approval_id(terminal, approval)
    link = terminal.client.post("approvals", approval, "link", body={"hours": hours})
    # This program knows by which address the server is reached better than the server does.
    link["url"] = f"{terminal.client.address.url.rstrip('/')}{link['path']}"
    if terminal.options.json:
        terminal.json(link)
        return
    terminal.print_note("link_made", until=format_time_for_terminal(link["expires_at"]))
    terminal.line(link["url"])


@cli_command
def give_approval_grant(
    terminal: Terminal,
    agent: AgentName,
    *,
    action: Annotated[list[str] | None, cli_option("An action to allow; repeatable.")] = None,
    impact: Annotated[
        list[ImpactName] | None, cli_option("An impact to allow; repeatable.")
    ] = None,
    touches: Annotated[str, cli_option("Only calls whose targets all begin with this.")] = "",
    calls: Annotated[int, cli_option("How many calls.", min=1, max=100_000)] = 1,
    hours: Annotated[int, cli_option("How many hours it is valid.", min=1, max=8_784)] = 24,
) -> None:
    """Let an agent act without asking, a number of times, until a time."""
    if not action and not impact:
        raise typer.BadParameter(terminal.words("grant_needs"), param_hint="--action / --impact")
    found = find_agent_for_terminal(terminal, agent)
    body = {
        "actions": action or [],
        "impacts": [name.value for name in impact or ()],
        "touches": touches,
        "calls": calls,
        "hours": hours,
    }
    made = terminal.client.post("agents", found["id"], "grants", body=body)
    until = format_time_for_terminal(made["until"])
    facts = {"name": found["name"], "calls": calls, "until": until, "id": made["id"]}
    terminal.print_result(made, "grant_made", **facts)


@cli_command
def list_grants(terminal: Terminal, agent: AgentName) -> None:
    """List an agent's grants."""
    found = find_agent_for_terminal(terminal, agent)
    grants = list(terminal.client.items("agents", found["id"], "grants"))
    terminal.show_list(grants, _draw_grants, "no_grants", name=found["name"])


@cli_command
def revoke_grant(
    terminal: Terminal,
    agent: AgentName,
    grant: Annotated[
        str, cli_argument("A grant's id.", "GRANT"), IdList(("grants",), of_agent=True)
    ],
) -> None:
    """Revoke a grant."""
    grant = _validate_approval_id(terminal, grant)
    found = find_agent_for_terminal(terminal, agent)
    revoked = terminal.client.delete("agents", found["id"], "grants", grant)
    terminal.print_result(revoked, "grant_revoked", id=revoked["id"])


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_approvals,
    "show": show_approval,
    "approve": give_approval_to_call,
    "reject": refuse_approval_of_call,
    "link": make_approval_link,
    "grant": give_approval_grant,
    "grants": list_grants,
    "revoke": revoke_grant,
}


def _validate_approval_id(terminal: Terminal, wanted: str) -> str:
    """Return the id; raises Invalid before any request if it is malformed."""
    if _ID.fullmatch(wanted) is None:
        raise Invalid(
            terminal.words("no_id", id=visible_terminal_text(wanted)),
            cure=terminal.words("no_id_cure"),
        )
    return wanted


def _or_by_turn(terminal: Terminal, wanted: str, act: Callable[[str], T]) -> T:
    """Call `act` with an approval's id; if there is none, with the one for which a turn waits."""
    try:
        return act(wanted)
    except NotFound:
        waiting = terminal.client.items("approvals", state="open")
        asked = next((each["id"] for each in waiting if each["turn_id"] == wanted), None)
        if asked is None:
            raise
        return act(asked)


def _decide(terminal: Terminal, approval: str, reason: str, shown: str, *, approved: bool) -> None:
    body: dict[str, object] = {"approved": approved, "reason": reason}
    if approved:
        body["argument_hash"] = shown or print_approval_call_on_terminal(terminal, approval)
        if not shown and terminal.interactive and not terminal.options.json:
            _require_agreement(terminal)
    decided = terminal.client.post("approvals", approval, "decide", body=body)
    key = "approval_approved" if approved else "approval_rejected"
    terminal.print_result(decided, key, what=visible_terminal_text(decided["what"]))


def _require_agreement(terminal: Terminal) -> None:
    """Ask whoever sits there, now that the whole call is shown; raises Exit without a yes."""
    from opencrab.gateways.cli.terminal.input import ask_yes_or_no_on_terminal

    if not ask_yes_or_no_on_terminal(terminal.words("may_it"), default=False):
        raise typer.Exit(1)


def _draw(terminal: Terminal, found: list[ApprovalView], *, decided: bool) -> None:

    words = terminal.words
    names = agent_names_for_terminal(terminal)
    heads = ["id", "agent", "what", "touches"]
    heads += ["status", "by", "decided"] if decided else ["impact", "since", "until"]
    rows = []
    for one in found:
        row = [one["id"], names.get(one["agent_id"], one["agent_id"])]
        row += [visible_terminal_text(one["what"]), visible_terminal_text(one["touches"])]
        if decided:
            row += [
                words.term(one["state"]),
                one["by"],
                format_time_for_terminal(one["decided_at"]),
            ]
        else:
            times = [
                format_time_for_terminal(one["created_at"]),
                format_time_for_terminal(one["expires_at"]),
            ]
            row += [words.term(one["impact"]), *times]
        rows.append(row)
    terminal.table(heads, rows)


def _tell(terminal: Terminal, found: ApprovalView) -> None:
    words = terminal.words
    waits = found["state"] == _PENDING
    pairs: list[tuple[str, object]] = [
        ("what", found["what"]),
        ("touches", found["touches"]),
        ("impact", words.term(found["impact"])),
        ("agent", found["agent_id"]),
        ("goal", found["goal"]),
        ("status", words.term(_SHOWN_PENDING if waits else found["state"])),
        ("since", format_time_for_terminal(found["created_at"])),
        ("until", format_time_for_terminal(found["expires_at"])),
        ("decided", format_time_for_terminal(found["decided_at"])),
        ("by", found["by"]),
        ("reason", found["reason"]),
    ]
    terminal.print_fields(pairs, exact=True)
    for line in terminal_call_lines(terminal, found):
        terminal.line(line)
    if waits:
        if found["tainted"]:
            terminal.print_note("approval_tainted")
        hashed = (found["argument_hash"] or "")[:_SHORT_HASH]
        terminal.print_note("approval_next", id=found["id"], hash=hashed)


def _draw_grants(terminal: Terminal, grants: list[dict[str, Any]]) -> None:
    words = terminal.words
    rows = [
        (
            grant["id"],
            ", ".join([*grant["actions"], *map(words.term, grant["impacts"])]),
            grant["touches"],
            f"{grant['used']} / {grant['calls']}",
            format_time_for_terminal(grant["until"]),
        )
        for grant in grants
    ]
    terminal.table(("id", "allows", "touches", "used", "until"), rows)
