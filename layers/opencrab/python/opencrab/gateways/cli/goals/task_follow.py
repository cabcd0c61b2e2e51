"""Following: one task on the screen until it ends, waits, or the person leaves.

At a terminal it is a panel, elsewhere plain lines. The task itself does not need anybody to watch.
"""

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import typer

from opencrab.domain.errors import Conflict, Refused, Unavailable
from opencrab.gateways.cli.goals.task_panel import (
    MARKS,
    goal_task_figures,
    goal_task_mark,
    goal_task_panel,
    goal_task_status_text,
    task_place_text,
)
from opencrab.gateways.cli.scripting.exit_code import ExitCode, exit_code_of_task
from opencrab.gateways.cli.terminal.approval_call import print_approval_call_on_terminal
from opencrab.gateways.cli.terminal.command import print_cli_error
from opencrab.gateways.cli.terminal.exchange import TRIES
from opencrab.gateways.cli.terminal.input import ask_line_on_terminal, ask_yes_or_no_on_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView
from opencrab.gateways.cli.terminal.tables import indent_terminal_text, render_markdown_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import truncate_terminal_line, visible_terminal_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

TaskView = dict[str, Any]

_AGAIN_SECONDS = 1.0
_THOUGHT = 300
_PAUSE, _CANCEL = {"p", "pause", "一時停止"}, {"c", "cancel", "中止"}
_REPORTED = {"done": "DONE", "fail": "FAIL"}


def follow_goal_task(terminal: Terminal, agent: AgentView, task: TaskView) -> None:
    """Show a task until it ends or waits; exits with the code of its status."""
    task = _Follower(terminal, agent, task).run()
    if terminal.options.json:
        terminal.json(task)
    else:
        print_end_of_goal_task(terminal, agent, task)
    raise typer.Exit(exit_code_of_task(task["status"]))


def print_end_of_goal_task(terminal: Terminal, agent: AgentView, task: TaskView) -> None:
    """Print the report of a task, or what it waits for and how to continue it."""
    name, task_id = agent["name"], task["id"]
    if task["report"] and terminal.interactive:
        terminal.draw(indent_terminal_text(render_markdown_for_terminal(task["report"])))
    elif task["report"]:
        terminal.line(task["report"])
    for what in _untold(task):
        terminal.print_sentence("task_unconfirmed", what=what)
    if task["status"] == "paused":
        terminal.print_dim(terminal.words("task_why_paused", reason=task["pause_reason"]))
        terminal.print_dim(terminal.words("task_next_paused", agent=name, id=task_id))
    elif task["behind"]:
        terminal.line(task_place_text(terminal.words, task))
        told = {"agent": name, "id": task["behind"]["id"]}
        terminal.print_dim(terminal.words("task_next_behind", **told))
    elif task["approval"] and not task["over"]:
        told = {"agent": name, "id": task_id, "approval": task["approval"]["approval_id"]}
        _tell_question(terminal, task["approval"])
        terminal.print_dim(terminal.words("task_next_waiting", **told))


def _untold(task: TaskView) -> Iterator[str]:
    """Return the unconfirmed results that the report does not mention."""
    for what in task["unconfirmed"]:
        if what not in task["report"]:
            yield what


def _tell_question(terminal: Terminal, asked: TaskView) -> None:
    terminal.print_sentence("task_asks", what=visible_terminal_text(asked["what"]))
    if asked["touches"]:
        terminal.print_sentence("task_touches", touches=visible_terminal_text(asked["touches"]))


class Screen(Protocol):
    """A display of a task as it changes."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def show(self, task: TaskView) -> None:
        """Show the task's progress."""


class _Follower:
    """The display of one task to one person or script."""

    def __init__(self, terminal: Terminal, agent: AgentView, task: TaskView) -> None:
        self._terminal = terminal
        self._place = ("agents", agent["id"], "tasks", task["id"])
        self._agent = agent
        self._task = task
        self._asks = terminal.interactive and not terminal.options.json
        self._left_to_others: set[str] = set()
        self._screen = self._new_screen()

    def run(self) -> TaskView:
        """Follow the task and return it once nothing more can be shown."""
        while True:
            try:
                with self._screen:
                    self._watch()
                if not self._decided():
                    return self._task
            except KeyboardInterrupt:
                self._interrupted()
                if self._task["status"] in {"paused", "abandoned"}:
                    return self._task

    def _watch(self) -> None:
        """Show every change until the task has ended, is paused, or asks something new."""
        for task in _changes(self._terminal, self._place):
            self._task = task
            self._screen.show(task)
            if task["over"] or task["status"] == "paused" or self._question() is not None:
                return
            if self._is_stuck() and not self._asks:
                return

    def _is_stuck(self) -> bool:
        """Check whether the task is queued behind one that is paused or waits for approval."""
        front = self._task["behind"]
        return front is not None and front["status"] in {"waiting", "paused"}

    def _question(self) -> TaskView | None:
        """Return the approval that the user has to decide, or None."""
        asked: TaskView | None = self._task["approval"]
        if asked is None or self._task["status"] != "waiting":
            return None
        return None if asked["approval_id"] in self._left_to_others else asked

    def _decided(self) -> bool:
        """Ask the user to decide the approval; returns False if there is none, or no one to ask."""
        asked = self._question()
        if asked is None or not self._asks:
            return False
        _tell_question(self._terminal, asked)
        try:
            hashed = print_approval_call_on_terminal(self._terminal, asked["approval_id"])
            approved = ask_yes_or_no_on_terminal(self._terminal.words("may_it"), default=False)
            body = {"approved": approved, "argument_hash": hashed}
            self._terminal.client.post("approvals", asked["approval_id"], "decide", body=body)
        except (Refused, Conflict) as error:
            self._left_to_others.add(asked["approval_id"])
            print_cli_error(self._terminal, error)
        return True

    def _interrupted(self) -> None:
        """Ask what to do after an interruption; raises Exit if the user leaves."""
        if not self._asks:
            raise typer.Exit(ExitCode.INTERRUPTED)
        self._terminal.line()
        try:
            answer = ask_line_on_terminal(self._terminal.words("task_interrupted"), "l").casefold()
        except (KeyboardInterrupt, EOFError):
            self._terminal.line()
            answer = ""
        if answer in _PAUSE | _CANCEL:
            verb = "pause" if answer in _PAUSE else "cancel"
            task = self._task = self._terminal.client.post(*self._place, verb)
            status = goal_task_status_text(self._terminal.words, task)
            self._terminal.print_sentence(
                "task_title", id=task["id"], name=task["name"], status=status
            )
            return
        name, task_id = self._agent["name"], self._task["id"]
        self._terminal.print_dim(self._terminal.words("task_left", agent=name, id=task_id))
        raise typer.Exit(1)

    def _new_screen(self) -> Screen:
        if self._terminal.options.json:
            return _Nowhere()
        return _Panel(self._terminal) if self._terminal.interactive else _Lines(self._terminal)


class _Nowhere:
    """A display that shows nothing, for scripts that read only the final JSON."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def show(self, task: TaskView) -> None:
        pass


class _Panel(_Nowhere):
    """A panel that is redrawn in place; it keeps the actions of earlier turns.

    On a terminal where nothing may be drawn twice it is drawn once, at the end.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._live: Live | None = None
        self._last: RenderableType | None = None
        self._deeds: dict[tuple[str, str], TaskView] = {}

    def __enter__(self) -> Self:
        if not self._terminal.draws_in_place:
            return self
        from rich.live import Live

        self._live = Live(console=self._terminal.console, refresh_per_second=8)
        self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._last is not None:
            self._terminal.draw(self._last)

    def show(self, task: TaskView) -> None:
        self._deeds |= {(task["turn_id"], deed["id"]): deed for deed in task["actions"]}
        self._last = goal_task_panel(self._terminal.words, task, list(self._deeds.values()))
        if self._live is not None:
            self._live.update(self._last, refresh=True)


class _Lines(_Nowhere):
    """A display that prints a line for each change, for logs and pipes."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._told: set[str] = set()

    def show(self, task: TaskView) -> None:
        # The last step and the end may arrive together: the end comes last.
        if not task["over"]:
            self._show_status(task)
        self._show_steps(task)
        self._show_status(task)

    def _show_status(self, task: TaskView) -> None:
        words = self._terminal.words
        status = goal_task_status_text(words, task)
        named = words("task_title", id=task["id"], name=task["name"], status=status)
        self._tell(f"status {task['status']}", named)
        if place := task_place_text(words, task):
            self._tell(place, place)

    def _show_steps(self, task: TaskView) -> None:
        words = self._terminal.words
        if task["thinking"]:
            thought = truncate_terminal_line(task["thinking"], _THOUGHT)
            self._tell(f"{task['turn_id']} {thought}", f"  ({thought})")
        for deed in task["actions"]:
            if deed["mark"] in {"done", "failed"}:
                result = f" → {deed['result']}" if deed["mark"] == "failed" else ""
                row = f"  {MARKS[deed['mark']]} {deed['sentence']}{result}"
                self._tell(f"{task['turn_id']} {deed['id']}", row)
        for part in task["tasks"]:
            if part["status"] in _REPORTED:
                told = f"{part['name']}{goal_task_mark(words, part)}"
                row = f"[{part['id']}] {_REPORTED[part['status']]} {told}"
                self._tell(part["id"], f"{row} ({goal_task_figures(words, task)})")

    def _tell(self, key: str, row: str) -> None:
        if key not in self._told:
            self._told.add(key)
            self._terminal.line(row)


def _changes(terminal: Terminal, place: tuple[str, ...]) -> Iterator[TaskView]:
    """Stream a task's progress at each change; reconnects when the connection is lost."""
    pause = terminal.pause
    seen, failures = "", 0
    while True:
        try:
            for event_id, task in terminal.client.events(*place, "events", last=seen):
                seen, failures = event_id, 0
                yield task
                if task["over"]:
                    return
            pause(max(_AGAIN_SECONDS, terminal.client.retry_seconds))
        except Unavailable as error:
            failures += 1
            if failures == TRIES:
                raise
            terminal.print_note(
                "task_again", why=terminal.error_text(error.message), attempt=failures
            )
            pause(min(2.0 ** (failures - 1), 8.0))
