"""Panes: the five views of an agent, each in its frame."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.tables import terminal_fact_table
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text, truncate_terminal_line

_LINE = 160
_MARKS = {"pending": "·", "active": "▶", "done": "✓", "fail": "✗"}
_NAMES = {
    "chat": "pane_chat",
    "cli": "pane_cli",
    "plan": "pane_plan",
    "inspector": "pane_inspector",
    "vitals": "pane_vitals",
}
_PHASES = {"approving": "phase_approving", "executing": "phase_executing"}
_RESULTS = {"done": "result_done", "fail": "result_fail"}
_MIB = 1 << 20

Pair = tuple[str, object]


def render_panes(
    terminal: Terminal, name: str, panes: Sequence[dict[str, Any]], *, unfolded: bool
) -> Group:
    """Return all panes, one below the other."""
    words, shown = terminal.words, {pane["pane"]: pane["data"] for pane in panes}
    inside: dict[str, RenderableType] = {
        "chat": _truncate_lines(shown["chat"]),
        "cli": _truncate_lines(shown["cli"]),
        "plan": _plan(words, shown["plan"], unfolded=unfolded),
        "inspector": _pairs(_inspection_rows(words, shown["inspector"])),
        "vitals": _pairs(_vitals_rows(words, shown["vitals"])),
    }
    framed = (
        Panel(content, title=words(_NAMES[pane]), title_align="left", border_style="dim")
        for pane, content in inside.items()
    )
    return Group(Text(clean_terminal_text(words("watch_title", name=name)), style="bold"), *framed)


def _truncate_lines(text: str) -> Text:
    return Text("\n".join(truncate_terminal_line(line, _LINE) for line in text.splitlines()))


def _plan(words: SentenceCatalog, plan: dict[str, Any], *, unfolded: bool) -> Text:
    """Format the purpose and the open goals, with their tasks if `unfolded`."""
    rows = [f"{words('view_purpose')}: {plan['purpose']}"] if plan["purpose"] else []
    for goal in plan["goals"]:
        tasks = goal["tasks"]
        done = sum(task["status"] == "done" for task in tasks)
        rows.append(f"{'▾' if unfolded else '▸'} {goal['id']} {goal['name']} {done}/{len(tasks)}")
        if unfolded:
            rows += (f"  {_MARKS[task['status']]} {task['id']} {task['name']}" for task in tasks)
    return Text("\n".join(_row(row) for row in rows))


def _row(row: str) -> str:
    """Cut a row to the maximum length, keeping its indentation."""
    indent = len(row) - len(row.lstrip())
    return " " * indent + truncate_terminal_line(row, _LINE)


def _inspection_rows(words: SentenceCatalog, seen: dict[str, Any]) -> Iterator[Pair]:
    thought, action, result = seen["thought"], seen["action"], seen["result"]
    yield words("view_judgment"), thought["judgment"]
    yield words("view_intent"), thought["intent"]
    phase = f" ({words(_PHASES[action['phase']])})" if action["phase"] else ""
    yield words("view_action"), f"{action['summary']}{phase}" if action["summary"] else None
    status = f"{words(_RESULTS[result['status']])}: " if result["status"] else ""
    yield words("view_result"), f"{status}{result['summary'] or ''}"


def _vitals_rows(words: SentenceCatalog, vitals: dict[str, Any]) -> Iterator[Pair]:
    age, errors = vitals["queue_age_seconds"], vitals["error_rate"]
    yield words("vital_queue_age_seconds"), None if age is None else f"{age:.0f} s"
    yield words("vital_last_beat"), format_time_for_terminal(vitals["last_beat"])
    yield words("vital_idle_streak"), str(vitals["idle_streak"])
    yield words("vital_budget_left_micro_usd"), format_micro_usd(vitals["budget_left_micro_usd"])
    yield words("vital_error_rate"), None if errors is None else f"{errors:.0%}"
    yield words("vital_open_approvals"), str(vitals["open_approvals"])
    yield words("vital_goals"), f"{vitals['open_goals']} / {vitals['goal_slots']}"
    machine = vitals["machine"]
    if machine:
        cpu, used, received = (
            machine[name] for name in ("cpu_percent", "memory_used_bytes", "received_bytes")
        )
        total, sent = machine["memory_total_bytes"], machine["sent_bytes"]
        yield words("vital_cpu"), None if cpu is None else f"{cpu} %"
        yield words("vital_memory"), None if used is None else f"{_mib(used)} / {_mib(total)}"
        yield words("vital_network"), None if sent is None else f"↓ {_mib(received)} ↑ {_mib(sent)}"


def _mib(size: int) -> str:
    return f"{size / _MIB:,.0f} MiB"


def _pairs(pairs: Iterator[Pair]) -> Table:
    known = ((name, value) for name, value in pairs if value not in (None, ""))
    return terminal_fact_table(
        (name, Text(truncate_terminal_line(value, _LINE * 2))) for name, value in known
    )
