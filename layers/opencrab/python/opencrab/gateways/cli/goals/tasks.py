"""Commands about tasks: give an instruction, watch it carried out, stop, steer and resume it."""

import re
from itertools import islice
from typing import Annotated, Any

import typer

from opencrab.domain.errors import Conflict, NotFound
from opencrab.gateways.cli.terminal.arguments import AgentName, Reason, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

TaskView = dict[str, Any]
TaskId = Annotated[
    str | None,
    typer.Argument(
        metavar="[TASK]",
        show_default=False,
        help="A task, for example G3; optional if only one fits.",
    ),
]

_TASK = re.compile(r"G[1-9][0-9]{0,5}(-T[1-9][0-9]?)?")
_LOOKED_AT = 100
_OPEN = frozenset({"pending", "active", "waiting", "paused"})
_WAITING = frozenset({"pending", "waiting", "paused"})


@cli_command
def run_goal_task(
    terminal: Terminal,
    agent: AgentName,
    instruction: Annotated[str, cli_argument("The instruction.", "INSTRUCTION")],
    *,
    name: Annotated[str | None, cli_option("A name for it; default: its first line.")] = None,
    budget: Annotated[
        float | None, cli_option("The most that its plan may cost, in US dollars.", min=0)
    ] = None,
) -> None:
    """Let an agent plan and carry out an instruction, and watch it."""
    from opencrab.gateways.cli.goals.task_follow import follow_goal_task
    from opencrab.gateways.cli.terminal.exchange import clean_message_from_terminal

    found = find_agent_for_terminal(terminal, agent)
    given = {
        "instruction": clean_message_from_terminal(terminal, instruction),
        "name": name,
        "budget_usd": budget,
    }
    body = {field: value for field, value in given.items() if value is not None}
    follow_goal_task(
        terminal, found, terminal.client.post("agents", found["id"], "tasks", body=body)
    )


@cli_command
def list_tasks(
    terminal: Terminal,
    agent: AgentName,
    last: Annotated[int, cli_option("Number of tasks.", min=1)] = 20,
) -> None:
    """List an agent's tasks, newest first."""
    found = find_agent_for_terminal(terminal, agent)
    tasks = list(islice(terminal.client.items("agents", found["id"], "tasks"), last))
    terminal.show_list(tasks, _draw, "no_tasks", name=found["name"])


@cli_command
def show_task(
    terminal: Terminal,
    agent: AgentName,
    task: TaskId = None,
    *,
    keep: Annotated[bool, typer.Option("--follow", help="Follow it until it ends.")] = False,
    details: Annotated[
        bool, cli_option("Include the arguments and results of its tool calls (owner).")
    ] = False,
) -> None:
    """Show the progress of a task; default: the newest."""
    from opencrab.gateways.cli.goals.task_follow import follow_goal_task, print_end_of_goal_task
    from opencrab.gateways.cli.goals.task_panel import draw_goal_task

    found = find_agent_for_terminal(terminal, agent)
    shown = terminal.client.get("agents", found["id"], "tasks", task or _newest(terminal, found))
    if keep:
        follow_goal_task(terminal, found, shown)
    elif terminal.options.json:
        terminal.json(shown)
    else:
        draw_goal_task(terminal, shown, details=details)
        print_end_of_goal_task(terminal, found, shown)


@cli_command
def cancel_goal_task(
    terminal: Terminal, agent: AgentName, task: TaskId = None, reason: Reason = ""
) -> None:
    """Cancel a task; finished work stays."""
    _change(terminal, agent, task, "cancel", {"reason": reason})


@cli_command
def pause_task(
    terminal: Terminal, agent: AgentName, task: TaskId = None, reason: Reason = ""
) -> None:
    """Pause a task before its next call."""
    _change(terminal, agent, task, "pause", {"reason": reason})


@cli_command
def resume_task(terminal: Terminal, agent: AgentName, task: TaskId = None) -> None:
    """Resume a paused task."""
    _change(terminal, agent, task, "resume", {})


@cli_command
def discard_task(
    terminal: Terminal, agent: AgentName, task: TaskId = None, reason: Reason = ""
) -> None:
    """Discard a paused task."""
    _change(terminal, agent, task, "discard", {"reason": reason})


@cli_command
def steer_goal_task(
    terminal: Terminal,
    agent: AgentName,
    words: Annotated[
        list[str], cli_argument("The task, if there are several, and the message.", "[TASK] TEXT")
    ],
) -> None:
    """Send a message that the agent reads before its next step."""
    from opencrab.gateways.cli.terminal.exchange import clean_message_from_terminal

    first, *more = words
    task = first if more and _TASK.fullmatch(first) else None
    text = clean_message_from_terminal(terminal, " ".join(words if task is None else more))
    found = find_agent_for_terminal(terminal, agent)
    task = task or _only(terminal, found, _OPEN)
    steered = terminal.client.post(
        "agents", found["id"], "tasks", task, "steer", body={"text": text}
    )
    terminal.print_result(steered, "task_steered", id=steered["id"])


COMMANDS = {
    "run": run_goal_task,
    "list": list_tasks,
    "show": show_task,
    "cancel": cancel_goal_task,
    "pause": pause_task,
    "resume": resume_task,
    "discard": discard_task,
    "steer": steer_goal_task,
}

_FITS = {
    "cancel": _OPEN,
    "pause": _OPEN - {"paused"},
    "resume": frozenset({"paused"}),
    "discard": _WAITING,
}


def _change(
    terminal: Terminal, agent: str, task: str | None, verb: str, body: dict[str, str]
) -> None:
    from opencrab.gateways.cli.goals.task_panel import goal_task_status_text

    found = find_agent_for_terminal(terminal, agent)
    task = task or _only(terminal, found, _FITS[verb])
    changed = terminal.client.post("agents", found["id"], "tasks", task, verb, body=body)
    status = goal_task_status_text(terminal.words, changed)
    told = {"id": changed["id"], "name": changed["name"], "status": status}
    terminal.print_result(changed, "task_title", **told)


def _newest(terminal: Terminal, agent: AgentView) -> str:
    newest = next(terminal.client.items("agents", agent["id"], "tasks"), None)
    if newest is None:
        raise NotFound(
            terminal.words("no_tasks", name=agent["name"]),
            cure=terminal.words("no_tasks_cure"),
        )
    return str(newest["id"])


def _only(terminal: Terminal, agent: AgentView, statuses: frozenset[str]) -> str:
    """Return the id of the only task in one of these states; raises NotFound, Conflict."""
    listed = islice(terminal.client.items("agents", agent["id"], "tasks"), _LOOKED_AT)
    ids = [str(task["id"]) for task in listed if task["status"] in statuses]
    words = terminal.words
    if not ids:
        raise NotFound(words("no_task_fits", name=agent["name"]), cure=words("no_task_fits_cure"))
    if len(ids) > 1:
        told = words("which_task", name=agent["name"], ids=", ".join(ids))
        raise Conflict(told, cure=words("which_task_cure"))
    return ids[0]


def _draw(terminal: Terminal, tasks: list[TaskView]) -> None:
    from opencrab.gateways.cli.goals.task_panel import goal_task_status_text

    heads = ("id", "name", "status", "completion", "tasks", "created")
    rows = [
        (
            task["id"],
            task["name"],
            goal_task_status_text(terminal.words, task),
            f"{task['completion']}%",
            f"{task['tasks_over']}/{task['tasks_total']}" if task["tasks_total"] else "",
            format_time_for_terminal(task["created_at"]),
        )
        for task in tasks
    ]
    terminal.table(heads, rows)
