"""Command by which an owner adopts untrusted memories: from then on they count as trusted."""

from typing import Annotated, Any

import typer

from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused
from opencrab.gateways.cli.memory.search import Agent
from opencrab.gateways.cli.terminal.arguments import Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import confirm_on_terminal
from opencrab.gateways.cli.terminal.lookup import agent_named_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import visible_terminal_text


@cli_command
def adopt_memories(
    terminal: Terminal,
    memories: Annotated[
        list[str] | None,
        typer.Argument(metavar="MEMORY", help="Ids of memories; default: all untrusted ones."),
    ] = None,
    agent: Agent = None,
    *,
    category: Annotated[
        str | None, cli_option("Only this category, for example import_openclaw.")
    ] = None,
    yes: Yes = False,
) -> None:
    """Adopt untrusted memories: read them, and let them count as your own words."""
    found = agent_named_on_terminal(terminal, agent)
    place = ("agents", found["id"], "memory", "curated")
    waiting = [
        each
        for each in terminal.client.items(*place, category=category)
        if each["tainted"] and (not memories or each["id"] in memories)
    ]
    missing = set(memories or ()) - {each["id"] for each in waiting}
    if missing or not waiting:
        raise NotFound(
            terminal.words("nothing_to_adopt", ids=", ".join(sorted(missing))),
            cure=terminal.words("nothing_to_adopt_cure", id=found["id"]),
        )
    if not (yes or terminal.options.json):
        for each in waiting:
            terminal.line(f"{each['id']}  {visible_terminal_text(each['content'])}")
    question = terminal.words("really_adopt", count=len(waiting), name=found["name"])
    if not confirm_on_terminal(terminal, question, yes=yes, needed="adopt_needs_yes"):
        terminal.print_sentence("nothing_adopted")
        return
    adopted, refused = _adopt(terminal, place, waiting)
    terminal.print_result(
        {"adopted": adopted, "refused": refused}, "memories_adopted", count=len(adopted)
    )
    for each in refused:
        terminal.print_note("memory_not_adopted", **each)


def _adopt(
    terminal: Terminal, place: tuple[str, ...], waiting: list[dict[str, Any]]
) -> tuple[list[str], list[dict[str, str]]]:
    """Send each text as the owner's own; return the ids of the adopted, and why others were not."""
    adopted, refused = list[str](), list[dict[str, str]]()
    for each in waiting:
        try:
            terminal.client.patch(*place, each["id"], body={"content": each["content"]})
        except (Invalid, Refused, Conflict) as error:
            refused.append({"id": each["id"], "why": error.message})
        else:
            adopted.append(each["id"])
    return adopted, refused
