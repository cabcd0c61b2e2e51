"""Commands about what an agent wants: its goals, why it wants them, giving and abandoning them."""

from itertools import islice
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.arguments import AgentName, Reason, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal, parse_terminal_time
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

GoalView = dict[str, Any]
GoalName = Annotated[str, typer.Argument(metavar="GOAL", help="A goal, for example G3.")]

_TERMS = ("urgency", "expected_reward", "capability_match", "novelty", "social_value")


@cli_command
def list_goals(
    terminal: Terminal,
    agent: AgentName,
    last: Annotated[int, cli_option("Number of goals.", min=1)] = 20,
) -> None:
    """List an agent's goals, newest first."""
    found = find_agent_for_terminal(terminal, agent)
    goals = list(islice(terminal.client.items("agents", found["id"], "goals"), last))
    words = terminal.words
    if terminal.options.json:
        terminal.json(goals)
        return
    if not goals:
        terminal.print_sentence("no_goals", name=found["name"])
        return
    heads = ("id", "name", "origin", "horizon", "status", "completion", "deadline")
    rows = [
        (
            goal["id"],
            goal["name"],
            words.term(goal["source"]),
            words.term(goal["horizon"]),
            words.term(goal["status"]),
            f"{goal['completion']}%",
            format_time_for_terminal(goal["deadline"]),
        )
        for goal in goals
    ]
    terminal.table(heads, rows)


@cli_command
def show_goal(terminal: Terminal, agent: AgentName, goal: GoalName) -> None:
    """Show a goal with its plan."""
    found = find_agent_for_terminal(terminal, agent)
    shown = terminal.client.get("agents", found["id"], "goals", goal, explain=1)
    terminal.show(shown, _draw)


@cli_command
def add_goal(
    terminal: Terminal,
    agent: AgentName,
    name: Annotated[str, cli_argument("The goal, in one line.", "NAME")],
    *,
    description: Annotated[str | None, cli_option("A longer description.")] = None,
    aspiration: Annotated[
        bool, cli_option("Add it as an aspiration: it is never started, and leads to objectives.")
    ] = False,
    deadline: Annotated[str | None, cli_option("Deadline: a day or a time.", "WHEN")] = None,
    reward: Annotated[float | None, cli_option("Expected reward, 0 to 1.", min=0, max=1)] = None,
) -> None:
    """Add a goal; the agent starts it by its priority."""
    found = find_agent_for_terminal(terminal, agent)
    given = {
        "name": name,
        "description": description,
        "horizon": "aspiration" if aspiration else None,
        "deadline": parse_terminal_time(terminal, "--deadline", deadline, whole_day=True),
        "expected_reward": reward,
    }
    body = {field: value for field, value in given.items() if value is not None}
    _tell(terminal, "goal_added", terminal.client.post("agents", found["id"], "goals", body=body))


@cli_command
def abandon_goal(
    terminal: Terminal,
    agent: AgentName,
    goal: GoalName,
    reason: Reason = "",
) -> None:
    """Abandon a goal; finished work stays."""
    found = find_agent_for_terminal(terminal, agent)
    place = ("agents", found["id"], "goals", goal, "abandon")
    _tell(terminal, "goal_abandoned", terminal.client.post(*place, body={"reason": reason}))


@cli_command
def explain_goals(terminal: Terminal, agent: AgentName) -> None:
    """Show the priority of each open goal and how it is computed."""
    from opencrab.gateways.cli.terminal.tables import draw_table_on_terminal

    found, words = find_agent_for_terminal(terminal, agent), terminal.words
    every = terminal.client.items("agents", found["id"], "goals", explain=1)
    goals = [goal for goal in every if goal.get("score")]
    goals.sort(key=lambda goal: -goal["score"]["priority"])
    if terminal.options.json:
        terminal.json(goals)
        return
    if not goals:
        terminal.print_sentence("no_scores", name=found["name"])
        return
    rows = [(goal["id"], goal["name"], *_numbers(goal["score"])) for goal in goals]
    heads = [*terminal.column_headings("id", "name", "priority"), *map(words.term, _TERMS)]
    draw_table_on_terminal(terminal.console, heads, rows)


COMMANDS = {
    "list": list_goals,
    "show": show_goal,
    "add": add_goal,
    "abandon": abandon_goal,
    "explain": explain_goals,
}


def _numbers(score: dict[str, Any]) -> list[str]:
    """Format the priority, and each term as its value times its weight."""
    terms = (
        f"{score[term]:.3f} = {score['values'][term]:.2f} x {score['weights'][term]:.2f}"
        for term in _TERMS
    )
    return [f"{score['priority']:.3f}", *terms]


def _tell(terminal: Terminal, key: str, goal: GoalView) -> None:
    terminal.print_result(goal, key, id=goal["id"], name=goal["name"])


def _draw(terminal: Terminal, goal: GoalView) -> None:
    words, came, score = terminal.words, goal["satisfaction"], goal["score"]
    pairs = [
        ("id", goal["id"]),
        ("name", goal["name"]),
        ("origin", words.term(goal["source"])),
        ("horizon", words.term(goal["horizon"])),
        ("status", words.term(goal["status"])),
        ("completion", f"{goal['completion']}%"),
        ("deadline", format_time_for_terminal(goal["deadline"])),
        ("waits", goal["waits"]),
        ("revision", str(goal["revision"])),
        ("priority", f"{score['priority']:.3f}" if score else ""),
        ("reward", f"{_reward_text(came)}" if came else ""),
    ]
    terminal.print_fields(pairs)
    rows = [
        (task["id"], task["name"], words.term(task["status"]), task["cause"])
        for task in goal["tasks"]
    ]
    if rows:
        terminal.table(("id", "name", "status", "cause"), rows)
    else:
        terminal.print_dim(goal["instruction"])


def _reward_text(came: dict[str, Any]) -> str:
    return f"{came['reward_expected']:.2f} → {came['reward_actual']:.2f}"
