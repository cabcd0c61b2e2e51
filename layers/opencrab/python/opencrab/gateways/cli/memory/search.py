"""Commands about an agent's past: search it, list its conversations and people, see its index."""

from collections.abc import Mapping
from inspect import Parameter
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import SESSIONS, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command, cli_command_with, cli_parameter
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal, parse_terminal_time
from opencrab.gateways.cli.terminal.lookup import agent_named_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import (
    clean_terminal_text,
    truncate_terminal_line,
    visible_terminal_text,
)

FoundView = dict[str, Any]

Agent = Annotated[
    str | None,
    typer.Option(
        "--agent", metavar="AGENT", help="An agent's id or name; optional if there is only one."
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME", help="From this day or time on, for example 2026-02-17."
    ),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Until this day or time.")
]
PERIOD = {
    name: Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
    for name, annotation in (("since", Since), ("until", Until))
}
_FILTERS = {
    **cli_parameter(
        "session",
        str | None,
        ids=SESSIONS,
        metavar="SESSION",
        help="Only in this conversation.",
    ),
    **cli_parameter(
        "kind",
        list[str] | None,
        help="speech, instruction, inner_voice, memory, experience or summary; repeatable.",
    ),
    **cli_parameter("speaker", str | None, help="Only lines of this speaker: a name or an id."),
    **PERIOD,
}

HEARINGS = {
    "private": "hearing_private",
    "session": "hearing_session",
    "guild": "hearing_guild",
    "public": "hearing_public",
}
_KINDS = {
    "instruction": "kind_instruction",
    "inner_voice": "kind_inner_voice",
    "memory": "kind_memory",
    "experience": "kind_experience",
    "summary": "kind_summary",
}
_REASONS = {
    "words": "found_by_words",
    "neighbour": "found_by_neighbour",
    "speaker": "found_by_speaker",
    "time": "found_by_time",
    "meaning": "found_by_meaning",
}

_HIT, _AROUND = "> ", "  "
_SHOWN = 400


@cli_command_with(_FILTERS)
def search_memories(
    terminal: Terminal,
    /,
    query: Annotated[str, cli_argument("Words, or a question.", "QUERY")],
    agent: Agent = None,
    *,
    limit: Annotated[int, cli_option("Number of results.", min=1, max=50)] = 10,
    why: Annotated[bool, cli_option("Also show why each result matched.")] = False,
    **filters: Any,
) -> None:
    """Search an agent's conversations and memories."""
    if not query.strip():
        raise typer.BadParameter(terminal.words("query_needed"), param_hint="QUERY")
    found = agent_named_on_terminal(terminal, agent)
    given = {
        "query": query,
        "limit": limit,
        "session_id": filters["session"],
        "kinds": filters["kind"] or None,
        "speaker": filters["speaker"],
        **period_of_memory_search(terminal, filters),
    }
    body = {name: value for name, value in given.items() if value is not None}
    items = terminal.client.post("agents", found["id"], "memory", "search", body=body)["items"]
    if terminal.options.json:
        terminal.json(items)
    elif not items:
        terminal.print_sentence("nothing_found")
    else:
        for same in _grouped_by_excerpt(items):
            _draw_found(terminal, same, why=why)


@cli_command
def list_conversations_in_agent_memory(terminal: Terminal, agent: Agent = None) -> None:
    """List an agent's conversations with their size."""
    found = agent_named_on_terminal(terminal, agent)
    logs = list(terminal.client.items("agents", found["id"], "memory", "sessions"))
    terminal.show_list(logs, _draw_logs, "no_sessions")


@cli_command
def impressions(
    terminal: Terminal,
    person: Annotated[
        str | None, cli_argument("Only this person: an id.", "PERSON", show_default=False)
    ] = None,
    agent: Agent = None,
) -> None:
    """List an agent's impressions of people, or show one in full."""
    found = agent_named_on_terminal(terminal, agent)
    place = ("agents", found["id"], "memory", "impressions")
    if person is not None:
        shown = terminal.client.get(*place, person)
        terminal.show(shown, _tell_impression)
        return
    items = list(terminal.client.items(*place))
    terminal.show_list(items, _draw_impressions, "no_impressions", name=found["name"])


@cli_command
def show_memory_status(terminal: Terminal, agent: Agent = None) -> None:
    """Show the state of an agent's memory: index, pending work, failures."""
    found = agent_named_on_terminal(terminal, agent)
    stands = terminal.client.get("agents", found["id"], "memory", "status")
    terminal.show(stands, _tell_status)


@cli_command
def retry_memory_summary(
    terminal: Terminal,
    session: Annotated[str, cli_argument("A conversation's id.", "SESSION"), SESSIONS],
    agent: Agent = None,
) -> None:
    """Retry the failed summary of a conversation."""
    found = agent_named_on_terminal(terminal, agent)
    place = ("agents", found["id"], "memory", "summaries", "retry")
    terminal.client.post(*place, body={"session_id": session})
    terminal.print_result({"session_id": session}, "retry_begun")


def period_of_memory_search(
    terminal: Terminal, given: Mapping[str, str | None]
) -> dict[str, str | None]:
    """Return both ends of the period as the server takes them; raises BadParameter."""
    return {
        "since": parse_terminal_time(terminal, "--since", given["since"]),
        "until": parse_terminal_time(terminal, "--until", given["until"], whole_day=True),
    }


def _grouped_by_excerpt(items: list[FoundView]) -> list[list[FoundView]]:
    """Group results that show the same lines of a session, each group where its best one stands.

    A result that is there only as the neighbour of another joins whichever already shows its line.
    """
    groups = list[list[FoundView]]()
    for item in items:
        joined = [group for group in groups if _is_shown_by(group[0], item)]
        if joined:
            min(joined, key=lambda group: abs(group[0]["sequence"] - item["sequence"])).append(item)
        else:
            groups.append([item])
    return groups


def _is_shown_by(best: FoundView, item: FoundView) -> bool:
    if not item["session_id"] or item["session_id"] != best["session_id"]:
        return False
    is_near = item["why"] == ["neighbour"]
    if not is_near and item["excerpt"] != best["excerpt"]:
        return False
    return _line_of_hit(_lines_of_excerpt(best), item) is not None


def _draw_found(terminal: Terminal, same: list[FoundView], *, why: bool) -> None:
    """Draw results of the same lines: time, session, speaker, and the hits among these lines."""
    from rich.text import Text

    words, item = terminal.words, same[0]
    kind = words(_KINDS[item["kind"]]) if item["kind"] in _KINDS else ""
    parts = (format_time_for_terminal(item["at"]), item["session_id"], item["speaker"], kind)
    shown = "  ".join(clean_terminal_text(part) for part in parts if part)
    terminal.draw(Text(shown, style="bold cyan"))
    for line, hit in _excerpt_lines(same):
        mark, style = (_HIT, "bold") if hit else (_AROUND, "dim")
        terminal.draw(Text(f"{mark}{line}", style=style))
    for each in same if why else ():
        known = (_REASONS.get(reason) for reason in each["why"])
        given = zip(each["why"], known, strict=True)
        reasons = ", ".join(words(key) if key else reason for reason, key in given)
        told = words("found_why", why=reasons, score=_score(each), id=each["id"])
        terminal.draw(Text(f"{_AROUND}{clean_terminal_text(told)}", style="dim"))
    terminal.line()


def _score(item: FoundView) -> str:
    """Format the score, which the server returns to owners only."""
    score = item["score"]
    return "-" if score is None else f"{score:.2f}"


def _excerpt_lines(same: list[FoundView]) -> list[tuple[str, bool]]:
    """Split the excerpt into lines and mark the hits; without an excerpt, the hit alone."""
    lines = _lines_of_excerpt(same[0])
    places = [_line_of_hit(lines, each) for each in same]
    if places[0] is None:
        return [(truncate_terminal_line(same[0]["text"], _SHOWN), True)]
    return [(line, number in places) for number, line in enumerate(lines)]


def _lines_of_excerpt(item: FoundView) -> list[str]:
    lines = item["excerpt"].split("\n")
    return [truncate_terminal_line(line, _SHOWN) for line in lines if line.strip()]


def _line_of_hit(lines: list[str], item: FoundView) -> int | None:
    said = f"{item['speaker']}: {item['text']}" if item["speaker"] else item["text"]
    first = " ".join(clean_terminal_text(said).split())
    return next((place for place, line in enumerate(lines) if _is_same(line, first)), None)


def _is_same(line: str, said: str) -> bool:
    """Check whether a line of an excerpt, which may be cut short, begins the text of the hit."""
    return said.startswith(line.rstrip("…")) if line.rstrip("…") else False


def _draw_logs(terminal: Terminal, logs: list[dict[str, Any]]) -> None:
    words = terminal.words
    heads = ("id", "theme", "status", "hearing", "lines", "created", "changed")
    rows = [
        (
            log["id"],
            log["theme"] or log["name"],
            words.term(log["status"]),
            words(HEARINGS[log["hearing"]]),
            f"{log['lines']:,}",
            format_time_for_terminal(log["created_at"]),
            format_time_for_terminal(log["last_at"]),
        )
        for log in logs
    ]
    terminal.table(heads, rows)


def _draw_impressions(terminal: Terminal, items: list[dict[str, Any]]) -> None:
    heads = ("id", "name", "personality", "agreement", "changed")
    rows = [
        (
            item["target_id"],
            item["target_name"],
            truncate_terminal_line(item["personality"], 80),
            truncate_terminal_line(item["agreement"], 40),
            format_time_for_terminal(item["updated_at"]),
        )
        for item in items
    ]
    terminal.table(heads, rows)


def _tell_impression(terminal: Terminal, shown: dict[str, Any]) -> None:
    own = ("personality", "communication_style", "recent_behavior", "agreement", "notes")
    pairs = [("id", shown["target_id"]), ("name", shown["target_name"])]
    pairs += [(name, shown[name]) for name in own]
    pairs += [
        ("session", shown["session_id"]),
        ("changed", format_time_for_terminal(shown["updated_at"])),
    ]
    terminal.print_fields(pairs, exact=True)
    for each in shown["history"]:
        terminal.line()
        terminal.line(
            f"{format_time_for_terminal(each['at'])}  {visible_terminal_text(each['session_id'])}"
        )
        terminal.print_fields([(name, each[name]) for name in own if name in each], exact=True)


def _tell_status(terminal: Terminal, stands: dict[str, Any]) -> None:
    words, index = terminal.words, stands["index"]
    refused = ", ".join(f"{words.term(why)} {n}" for why, n in stands["refusals"].items())
    pairs = [
        ("backend", index["backend"]),
        ("rows", f"{index['rows']:,}"),
        ("size", f"{index['bytes']:,}"),
        ("published", format_time_for_terminal(index["published_at"])),
        ("memories", f"{stands['memories']:,}"),
        ("core", stands["core"] or ""),
        ("refusals", refused),
    ]
    terminal.print_fields(pairs)
    failing = [each for each in stands["sessions"] if each["failures"] or each["passed"]]
    if not failing:
        return
    terminal.line()
    terminal.print_sentence("compaction_fails", count=len(failing))
    heads = ("id", "failures", "passed", "changed", "error")
    rows = [
        (
            each["session_id"],
            each["failures"],
            each["passed"],
            format_time_for_terminal(each["failed_at"]),
            each["error"],
        )
        for each in failing
    ]
    terminal.table(heads, rows)
