"""Task panel: a task's progress as a person watches it, drawn anew each time that it changes."""

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.tables import indent_terminal_text
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import (
    clean_terminal_text,
    truncate_terminal_line,
    visible_terminal_text,
)

TaskView = dict[str, Any]

MARKS = {"pending": "·", "running": "…", "waiting": "?", "done": "✓", "failed": "✗"}
_TASK_MARKS = {"pending": "·", "active": "▸", "done": "✓", "fail": "✗"}
_STYLES = {"pending": "dim", "done": "green", "failed": "red", "fail": "red", "waiting": "yellow"}
_STATUSES = {
    "pending": "task_pending",
    "active": "task_active",
    "waiting": "task_waiting",
    "paused": "task_paused",
    "completed": "task_completed",
    "answered": "task_answered",
    "abandoned": "task_abandoned",
}
_COLOURS = {
    "waiting": "yellow",
    "paused": "yellow",
    "completed": "green",
    "answered": "yellow",
    "abandoned": "red",
}
_BAR = 30
_ACTIONS = 8
_THOUGHT = 300
_REASON = 120
_RESULT = 200


def goal_task_status_text(words: SentenceCatalog, task: TaskView) -> str:
    """Return the task's status as a word in the user's language."""
    key = _STATUSES.get(task["status"])
    return words(key) if key else str(task["status"])


def task_place_text(words: SentenceCatalog, task: TaskView) -> str:
    """Say behind which task a queued one waits; empty for other tasks."""
    front = task["behind"]
    if front is None:
        return ""
    return words(
        "task_behind",
        id=front["id"],
        name=front["name"],
        status=goal_task_status_text(words, front),
    )


def goal_task_panel(words: SentenceCatalog, task: TaskView, deeds: list[TaskView]) -> Panel:
    """Return a panel with a task's plan, current action, latest actions and last thought."""
    title = Text(clean_terminal_text(f"{task['id']} {task['name']} "), style="bold")
    style = _COLOURS.get(task["status"], "cyan")
    title.append(f"[{goal_task_status_text(words, task)}]", style=style)
    hint = None if task["over"] else Text(words("task_keys"), style="dim")
    inner = Group(*_rows(words, task, deeds))
    return Panel(
        inner,
        title=title,
        title_align="left",
        subtitle=hint,
        subtitle_align="right",
        border_style=style,
    )


def draw_goal_task(terminal: Terminal, task: TaskView, *, details: bool = False) -> None:
    """Draw a task once; with `details` also the arguments and results of its actions."""
    words = terminal.words
    told = words(
        "task_title", id=task["id"], name=task["name"], status=goal_task_status_text(words, task)
    )
    terminal.draw(Text(clean_terminal_text(told), style="bold"))
    terminal.draw(Text(goal_task_figures(words, task)), style="dim")
    for row in _plan(words, task):
        terminal.draw(indent_terminal_text(row))
    for deed in task["actions"]:
        terminal.draw(indent_terminal_text(action_text_in_goal_panel(deed)))
        for text in _tool_call_lines(deed) if details else ():
            terminal.draw(Padding.indent(Text(clean_terminal_text(text), style="dim"), 4))
    if task["thinking"]:
        terminal.draw(indent_terminal_text(_thinking_text(words, task)))


def goal_task_figures(words: SentenceCatalog, task: TaskView) -> str:
    """Format the progress in numbers: task of the plan, step and cost."""
    numbers = {
        "step": task["step"],
        "steps": task["max_steps"],
        "money": format_micro_usd(task["spent_micro_usd"]),
    }
    if not task["tasks_total"]:
        return words("task_steps" if _is_task_over(task) else "task_unplanned", **numbers)
    place = min(task["tasks_over"] + (not task["over"]), task["tasks_total"])
    return words("task_figures", task=place, tasks=task["tasks_total"], **numbers)


def _is_task_over(task: TaskView) -> bool:
    """True if nothing more will be done for a task."""
    return task["status"] in {"completed", "answered", "abandoned"}


def _rows(
    words: SentenceCatalog, task: TaskView, deeds: list[TaskView]
) -> Iterator[RenderableType]:
    head = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=100, completed=task["completion"], width=_BAR)
    head.add_row(
        bar, Text(f"{task['completion']}%", style="bold"), Text(goal_task_figures(words, task))
    )
    yield head
    if place := task_place_text(words, task):
        yield Text(clean_terminal_text(place), style="yellow")
    yield from _plan(words, task)
    current = task["current"]
    running = current is not None and current["mark"] == "running"
    if deeds or running:
        yield Text()
    yield from map(
        action_text_in_goal_panel, [deed for deed in deeds if deed["mark"] != "running"][-_ACTIONS:]
    )
    if running:
        yield Spinner("dots", text=Text(clean_terminal_text(current["sentence"])), style="cyan")
    if task["approval"]:
        yield from _question(words, task["approval"])
    if task["thinking"]:
        yield Text()
        yield _thinking_text(words, task)


def goal_task_mark(words: SentenceCatalog, part: TaskView) -> str:
    """Return the remark behind a task's name: why it failed, or that nothing confirms it."""
    if part["status"] == "done" and not part["confirmed"]:
        return f" ({words('unconfirmed')})"
    return f" / {part['cause']}" if part["cause"] else ""


def _plan(words: SentenceCatalog, task: TaskView) -> Iterator[Text]:
    for part in task["tasks"]:
        style = "bold" if part["status"] == "active" else _STYLES.get(part["status"], "")
        mark = _TASK_MARKS.get(part["status"], "·")
        more = goal_task_mark(words, part)
        yield Text(clean_terminal_text(f"{mark} {part['id']} {part['name']}{more}"), style=style)


def action_text_in_goal_panel(deed: TaskView) -> Text:
    """Return an action in one line: its mark, what it does, how long it took, and why."""
    mark, style = MARKS.get(deed["mark"], "·"), _STYLES.get(deed["mark"], "")
    row = Text(f"{mark} ", style=style).append(
        clean_terminal_text(deed["sentence"]), style="default"
    )
    if deed["seconds"] is not None:
        row.append(f" {deed['seconds']:.1f} s", style="dim")
    if deed.get("reason"):
        row.append(f" ({truncate_terminal_line(deed['reason'], _REASON)})", style="italic dim")
    if deed["mark"] == "failed" and deed["result"]:
        row.append(f" → {truncate_terminal_line(deed['result'], _RESULT)}", style="red")
    return row


def _tool_call_lines(deed: TaskView) -> Iterator[str]:
    if deed["arguments"]:
        yield deed["arguments"]
    if deed["result"] and deed["mark"] != "failed":
        yield f"→ {deed['result']}"


def _question(words: SentenceCatalog, asked: TaskView) -> Iterator[Text]:
    yield Text(words("task_asks", what=visible_terminal_text(asked["what"])), style="yellow")
    if asked["touches"]:
        yield Text(
            words("task_touches", touches=visible_terminal_text(asked["touches"])), style="yellow"
        )


def _thinking_text(words: SentenceCatalog, task: TaskView) -> Text:
    text = words("task_thinks", text=truncate_terminal_line(task["thinking"], _THOUGHT))
    return Text(text, style="italic dim")
