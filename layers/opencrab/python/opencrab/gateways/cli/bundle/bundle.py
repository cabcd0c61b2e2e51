"""Commands that write an agent to a bundle, and take one in."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import (
    AnyAgent,
    Force,
    IdList,
    cli_argument,
    cli_option,
)
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import (
    agent_named_on_terminal,
    require_unused_name_for_terminal,
)
from opencrab.gateways.cli.terminal.terminal import Terminal


class BundleForm(StrEnum):
    """The form in which an agent is written."""

    BUNDLE = "bundle"
    CARD = "character-card"
    LETTA = "letta"


_ENDINGS = {BundleForm.CARD: "card.json", BundleForm.LETTA: "af"}


@cli_command
def bundle_agent(
    terminal: Terminal,
    agent: AnyAgent = None,
    to: Annotated[
        Path | None, cli_option("The file to write; default: AGENT.opencrab.zip.", "FILE")
    ] = None,
    *,
    people: Annotated[
        bool, cli_option("Also what it learned from and about other people.")
    ] = False,
    sessions: Annotated[bool, cli_option("Also its conversations, to read.")] = False,
    form: Annotated[
        BundleForm, typer.Option("--format", help="For other programs: character-card or letta.")
    ] = BundleForm.BUNDLE,
    force: Force = False,
) -> None:
    """Write an agent to a file that another installation takes in."""
    from opencrab.gateways.cli.bundle.plan import draw_left_out
    from opencrab.gateways.cli.bundle.receiving import write_bundle_file

    found = agent_named_on_terminal(terminal, agent)
    if form is not BundleForm.BUNDLE:
        from opencrab.gateways.cli.bundle.foreign_forms import write_agent_for_others

        place = to or Path(f"{found['id']}.{_ENDINGS[form]}")
        made = write_agent_for_others(terminal, found["id"], place, form=form.value, replace=force)
        terminal.print_result(made, "agent_written_for_others", place=place, size=made["size"])
        return
    target = to or Path(f"{found['id']}.opencrab.zip")
    written = write_bundle_file(
        terminal, found["id"], target, people=people, sessions=sessions, replace=force
    )
    if terminal.options.json:
        terminal.json(written)
        return
    terminal.print_sentence(
        "bundle_written", place=target, size=written["size"], files=written["rows"].get("file", 0)
    )
    draw_left_out(terminal, written["left_out"])
    terminal.print_sentence("bundle_never")


@cli_command
def show_unfinished_imports(
    terminal: Terminal,
    *,
    remove: Annotated[
        str | None,
        cli_option("Remove what the import of this id left.", "ID"),
        IdList(("agent-imports",)),
    ] = None,
) -> None:
    """List the imports that were interrupted and not continued, or remove what one left."""
    if remove is not None:
        terminal.client.delete("agent-imports", remove)
        terminal.print_result({"undone": 1}, "bundle_undone", count=1)
        return
    found = terminal.client.get("agent-imports")["items"]
    terminal.show_list(found, _draw_imports, "bundle_none_unfinished")


def _draw_imports(terminal: Terminal, imports: list[dict[str, Any]]) -> None:
    rows = [
        (each["id"], each["name"], format_time_for_terminal(each["begun_at"]), each["state"])
        for each in imports
    ]
    terminal.table(("id", "name", "begun", "status"), rows)
    terminal.print_note("bundle_unfinished_next")


@cli_command
def import_agent(
    terminal: Terminal,
    file: Annotated[Path, cli_argument("A file that `agents bundle` wrote.", "FILE")],
    *,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for the agent.")
    ] = None,
    trust: Annotated[bool, cli_option("It is my own agent: take it in as it was.")] = False,
    dry_run: Annotated[bool, cli_option("Only show what becomes what.")] = False,
    undo: Annotated[bool, cli_option("Remove what an interrupted import of it left.")] = False,
) -> None:
    """Take an agent in from a bundle: all of it, or nothing."""
    from opencrab.gateways.cli.bundle.plan import draw_import_plan, plan_bundle_import
    from opencrab.gateways.cli.bundle.sending import (
        open_bundle_file,
        send_bundle,
        undo_bundle_import,
        unfinished_bundle_import,
    )

    with open_bundle_file(terminal, file) as bundle:
        if undo:
            undo_bundle_import(terminal, bundle)
            return
        agent = bundle.reader.agent
        wanted = name or agent.name
        if unfinished_bundle_import(terminal, bundle, name=wanted, trusted=trust) is None:
            require_unused_name_for_terminal(terminal, wanted)
        plan = plan_bundle_import(terminal, bundle, name=wanted, trusted=trust)
        if dry_run:
            terminal.show(plan, draw_import_plan)
            return
        made = send_bundle(terminal, bundle, name=wanted, trusted=trust)
    terminal.print_result(made | {"plan": plan}, "bundle_imported", **made)
    if terminal.options.json or terminal.options.quiet:
        return
    draw_import_plan(terminal, plan)
    if not trust:
        terminal.print_sentence("bundle_untrusted", **made)
