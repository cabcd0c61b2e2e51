"""Commands about an agent's memory: what it keeps, is given, and must forget."""

from collections.abc import Mapping
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.memory import adoption, archive, search
from opencrab.gateways.cli.memory.search import HEARINGS, PERIOD, Agent, period_of_memory_search
from opencrab.gateways.cli.terminal.arguments import (
    SESSIONS,
    IdList,
    Yes,
    cli_argument,
    cli_option,
)
from opencrab.gateways.cli.terminal.command import cli_command, cli_command_with
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.input import (
    ask_yes_or_no_on_terminal,
    require_terminal_user,
    terminal_text_argument_or_pipe,
)
from opencrab.gateways.cli.terminal.lookup import AgentView, agent_named_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import truncate_terminal_line, visible_terminal_text

MemoryView = dict[str, Any]
Wish = dict[str, Any]
MEMORIES = IdList(("memory", "curated"), of_agent=True)
MemoryId = Annotated[str, typer.Argument(metavar="MEMORY", help="A memory's id."), MEMORIES]

_SHOWN = 120
_TIMES = 20
"""How often a wish is said that one request has no time to fulfil."""

_SECONDS = 20
_OUTCOMES = {
    "kept": "memory_new",
    "merged": "memory_merged",
    "superseded": "memory_superseded",
}


class HearingOption(StrEnum):
    """The audience of a memory that an owner adds."""

    PUBLIC = "public"
    PRIVATE = "private"


@cli_command
def list_memories(
    terminal: Terminal,
    agent: Agent = None,
    *,
    category: Annotated[
        str | None, cli_option("Only this category, for example preference.")
    ] = None,
    last: Annotated[int, cli_option("Number of memories.", min=1)] = 50,
) -> None:
    """List an agent's memories, newest first."""
    found = agent_named_on_terminal(terminal, agent)
    listed = terminal.client.items(*_place(found), category=category)
    memories = list(islice(listed, last))
    if terminal.options.json:
        terminal.json(memories)
    elif not memories and category is not None:
        terminal.print_sentence("no_memories_of", name=found["name"], category=category)
    elif not memories:
        terminal.print_sentence("no_memories", name=found["name"])
    else:
        _draw(terminal, memories)


@cli_command
def show_memory(terminal: Terminal, memory: MemoryId, agent: Agent = None) -> None:
    """Show one memory and its source."""
    found = agent_named_on_terminal(terminal, agent)
    shown = terminal.client.get(*_place(found), memory)
    terminal.show(shown, _tell)


@cli_command
def add_memory(
    terminal: Terminal,
    text: Annotated[
        str | None, cli_argument("The text to remember; default: standard input.", "TEXT")
    ] = None,
    agent: Agent = None,
    *,
    category: Annotated[
        str,
        cli_option("For example fact, preference, decision or lesson; core: always in the prompt."),
    ] = "fact",
    importance: Annotated[float | None, cli_option("Between 0 and 1.", min=0, max=1)] = None,
    hearing: Annotated[
        HearingOption,
        cli_option("Visible to: public (everybody) or private (agent and owner)."),
    ] = HearingOption.PUBLIC,
) -> None:
    """Give an agent a memory to keep."""
    found = agent_named_on_terminal(terminal, agent)
    content = terminal_text_argument_or_pipe(
        terminal, text, needed="memory_text_needed", option="TEXT"
    )
    given = {
        "content": content.strip(),
        "category": category,
        "importance": importance,
        "hearing": hearing.value,
    }
    body = {name: value for name, value in given.items() if value is not None}
    kept = terminal.client.post(*_place(found), body=body)
    terminal.print_result(kept, _OUTCOMES[kept["outcome"]], id=kept["memory"]["id"])


@cli_command_with(PERIOD)
def forget_in_memory(
    terminal: Terminal,
    /,
    memory: Annotated[
        str | None, cli_argument("A memory's id.", "MEMORY", show_default=False), MEMORIES
    ] = None,
    agent: Agent = None,
    *,
    session: Annotated[
        str | None, cli_option("Everything of this conversation.", "SESSION"), SESSIONS
    ] = None,
    person: Annotated[str | None, cli_option("Everything about this person.", "ID")] = None,
    everything: Annotated[bool, cli_option("Everything.")] = False,
    yes: Yes = False,
    **stretch: str | None,
) -> None:
    """Delete a memory, a conversation, a person, a period or everything, for good."""
    found = agent_named_on_terminal(terminal, agent)
    wishes = [
        {"scope": "memory", "id": memory} if memory else {},
        {"scope": "session", "id": session} if session else {},
        {"scope": "person", "id": person} if person else {},
        _period(terminal, stretch),
        {"scope": "everything", "confirm": found["id"]} if everything else {},
    ]
    named = [wish for wish in wishes if wish]
    if len(named) != 1:
        raise typer.BadParameter(terminal.words("forget_one"), param_hint="MEMORY")
    wish = named[0]
    place = ("agents", found["id"], "memory", "forget")
    if not yes:
        require_terminal_user(terminal, "forget_needs_yes")
        _foretell(terminal, terminal.client.post(*place, "preview", body=wish))
        if not ask_yes_or_no_on_terminal(_question(terminal, found, wish), default=False):
            terminal.print_sentence("nothing_forgotten")
            return
    report, anything = _carried_out(terminal, place, wish)
    if terminal.options.json:
        terminal.json(report)
    elif report["done"] and not anything:
        terminal.print_sentence("nothing_to_forget")
    else:
        _report(terminal, report)


COMMANDS = {
    "search": search.search_memories,
    "list": list_memories,
    "show": show_memory,
    "add": add_memory,
    "adopt": adoption.adopt_memories,
    "forget": forget_in_memory,
    "export": archive.export_memory,
    "import": archive.import_memory,
    "status": search.show_memory_status,
    "retry": search.retry_memory_summary,
    "sessions": search.list_conversations_in_agent_memory,
    "impressions": search.impressions,
}


def _place(agent: AgentView) -> tuple[str, str, str, str]:
    return "agents", agent["id"], "memory", "curated"


def _period(terminal: Terminal, stretch: Mapping[str, str | None]) -> Wish:
    if stretch["since"] is None and stretch["until"] is None:
        return {}
    ends = period_of_memory_search(terminal, stretch)
    return {"scope": "period", **{name: end for name, end in ends.items() if end is not None}}


def _question(terminal: Terminal, agent: AgentView, wish: Wish) -> str:
    """Return the question that asks to confirm an erasure; it quotes a memory in full."""
    name = agent["name"]
    if wish["scope"] == "memory":
        shown = terminal.client.get(*_place(agent), wish["id"])
        return terminal.words(
            "really_forget_memory", name=name, content=visible_terminal_text(shown["content"])
        )
    if wish["scope"] == "period":
        ends = {"since": wish.get("since", "…"), "until": wish.get("until", "…")}
        return terminal.words("really_forget_period", name=name, **ends)
    if wish["scope"] == "session":
        return terminal.words(
            "really_forget_session", name=name, id=visible_terminal_text(wish["id"])
        )
    if wish["scope"] == "person":
        return terminal.words(
            "really_forget_person", name=name, id=visible_terminal_text(wish["id"])
        )
    return terminal.words("really_forget_everything", name=name)


def _carried_out(
    terminal: Terminal, place: tuple[str, ...], wish: Wish
) -> tuple[dict[str, Any], bool]:
    """Send the erasure until done, a few times at most; also returns whether data was erased."""
    report: dict[str, Any] = {"done": False}
    anything = False
    for _ in range(_TIMES):
        if not report["done"]:
            report = terminal.client.post(*place, body=wish, wait=_SECONDS)
            anything |= any(report[what] for what in ("lines", "turns", "removed"))
    return report, anything


def _foretell(terminal: Terminal, lineage: dict[str, Any]) -> None:
    """Print what an erasure would remove, before asking."""
    kept = len(lineage["kept"])
    lines = lineage["lines"] + lineage["repeated"]
    terminal.print_sentence("forget_preview", lines=lines, turns=lineage["turns"], kept=kept)
    _remains(terminal, lineage)


def _report(terminal: Terminal, report: dict[str, Any]) -> None:
    if report["done"]:
        terminal.print_sentence("forgotten")
    else:
        terminal.print_sentence("forget_left", left=report["left"])
    _remains(terminal, report)
    for kind in report.get("out_of_reach", ()):
        terminal.print_sentence(f"out_of_reach_{kind}")


_REMAINING = {
    "files": "forget_files",
    "skills": "forget_skills",
    "schedules": "forget_schedules",
}


def _remains(terminal: Terminal, told: dict[str, Any]) -> None:
    """Print the related files, skills and schedules that remain for their owner to decide on."""
    for kind, sentence in _REMAINING.items():
        if names := told[kind]:
            terminal.print_sentence(sentence, names=", ".join(map(visible_terminal_text, names)))


def _draw(terminal: Terminal, memories: list[MemoryView]) -> None:
    words = terminal.words
    heads = ("id", "category", "memory", "provenance", "hearing", "changed")
    rows = [
        (
            memory["id"],
            memory["category"],
            truncate_terminal_line(memory["content"], _SHOWN),
            words.term(memory["provenance"]),
            words(HEARINGS[memory["hearing"]]),
            format_time_for_terminal(memory["updated_at"]),
        )
        for memory in memories
    ]
    terminal.table(heads, rows)


def _tell(terminal: Terminal, memory: MemoryView) -> None:
    words = terminal.words
    pairs = [
        ("id", memory["id"]),
        ("category", memory["category"]),
        ("provenance", words.term(memory["provenance"])),
        ("hearing", words(HEARINGS[memory["hearing"]])),
        ("confidence", memory["confidence"]),
        ("importance", memory["importance"]),
        ("taint", words("memory_tainted") if memory["tainted"] else ""),
        ("session", memory["session_id"]),
        ("path", memory["path"]),
        ("links", ", ".join(memory["links"])),
        ("merged", memory["merged"] or ""),
        ("created", format_time_for_terminal(memory["created_at"])),
        ("changed", format_time_for_terminal(memory["updated_at"])),
    ]
    terminal.print_fields(pairs, exact=True)
    terminal.line()
    terminal.line(visible_terminal_text(memory["content"]))
    for earlier in memory["earlier"]:
        terminal.line()
        terminal.print_sentence(
            "memory_earlier",
            at=format_time_for_terminal(earlier["at"]),
            content=visible_terminal_text(earlier["content"]),
        )
