"""Commands about money: what model calls came to, where a turn's went, what may be spent."""

from decimal import Decimal
from typing import Annotated, Any

import typer

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.terminal.amounts import parse_terminal_amount
from opencrab.gateways.cli.terminal.arguments import TURNS, GroupingOption, PeriodOption, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.lookup import AgentView, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

_MOST, _STEP = Decimal(1_000_000), Decimal("0.000001")
_WHOLE, _ONE = Decimal(100), Decimal(1)
_SESSION, _NO_LIMIT = "session", "none"
_PERCENT = "heartbeat"
_LIMITS = {
    "turn": "turn_micro_usd",
    _SESSION: "session_micro_usd",
    "agent_day": "agent_day_micro_usd",
    "installation_day": "installation_day_micro_usd",
    _PERCENT: "heartbeat_percent",
    "public_user_day": "public_user_day_micro_usd",
    "block": "block_micro_usd",
}


Agent = Annotated[
    str | None, typer.Option("--agent", metavar="AGENT", help="Only this agent: an id or a name.")
]


@cli_command
def show_usage_costs(
    terminal: Terminal,
    agent: Agent = None,
    period: Annotated[PeriodOption, cli_option("How far back.")] = PeriodOption.LAST_MONTH,
    by: Annotated[
        GroupingOption | None, cli_option("Group calls by this.", show_default=False)
    ] = None,
    turn: Annotated[
        str | None, cli_option("Show the cost of this turn, to the micro-dollar.", "ID"), TURNS
    ] = None,
) -> None:
    """Show what model calls cost, or the cost of one turn in detail."""
    if turn is not None:
        if agent is not None or by is not None:
            raise typer.BadParameter(terminal.words("turn_alone"), param_hint="--turn")
        _explain(terminal, turn)
        return
    agents = (
        [find_agent_for_terminal(terminal, agent)]
        if agent
        else list(terminal.client.items("agents"))
    )
    query = {"period": period.value, "group_by": None if by is None else by.value}
    reports = [
        terminal.client.get("agents", one["id"], "llm", "metrics", "summary", **query)
        for one in agents
    ]
    if terminal.options.json:
        pairs = zip(agents, reports, strict=True)
        terminal.json(
            [{"agent_id": one["id"], "agent": one["name"], **report} for one, report in pairs]
        )
        return
    _draw(terminal, agents, reports, by)


@cli_command
def show_usage_budgets(
    terminal: Terminal,
    agent: Agent = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=USD",
            help="Older form of `costs set-budget`.",
            hidden=True,
        ),
    ] = None,
    *,
    reset: Annotated[bool, cli_option("Older form of `costs reset-budgets`.", hidden=True)] = False,
) -> None:
    """Show budgets and what is drawn today."""
    change_usage_budgets(terminal, agent, change, reset=reset)


def change_usage_budgets(
    terminal: Terminal,
    agent: str | None,
    change: list[str] | None,
    *,
    reset: bool,
    option: str = "--set",
) -> None:
    """Set limits, or reset those that are not set, if any are wanted; then show the budgets."""
    wanted: dict[str, int | None] = dict.fromkeys(_LIMITS.values()) if reset else {}
    wanted |= dict(_limit(terminal, text, option) for text in change or ())
    if wanted and agent is not None:
        raise typer.BadParameter(terminal.words("limit_agent"), param_hint="--agent")
    found = None if agent is None else find_agent_for_terminal(terminal, agent)
    if wanted:
        terminal.client.put("budgets", body={"limits": wanted if change else None})
    shown = terminal.client.get("budgets", agent=None if found is None else found["id"])
    terminal.show(shown, _draw_budgets)


def _limit(terminal: Terminal, text: str, option: str) -> tuple[str, int]:
    """Parse NAME=USD into the limit's field and its value; heartbeats have a percentage."""
    name, _, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if name not in _LIMITS:
        known = ", ".join(_LIMITS)
        raise typer.BadParameter(terminal.words("limit_name", names=known), param_hint=option)
    if name == _SESSION and value == _NO_LIMIT:
        return _LIMITS[name], 0
    share = name == _PERCENT
    amount = (
        parse_terminal_amount(value, _ONE, _WHOLE)
        if share
        else parse_terminal_amount(value, _STEP, _MOST)
    )
    if amount is None:
        said = terminal.words("limit_percent" if share else "limit_value", name=name)
        raise typer.BadParameter(said, param_hint=option)
    return _LIMITS[name], amount


def _explain(terminal: Terminal, turn: str) -> None:
    explanation = terminal.client.get("costs", "explain", turn=turn)
    if terminal.options.json:
        terminal.json(explanation)
        return
    from opencrab.gateways.cli.usage.cost_explanation import print_usage_costs_of_turn

    print_usage_costs_of_turn(terminal, explanation)


def _draw(
    terminal: Terminal,
    agents: list[AgentView],
    reports: list[dict[str, Any]],
    by: GroupingOption | None,
) -> None:
    from opencrab.gateways.cli.terminal.tables import draw_table_on_terminal

    words = terminal.words
    rows: list[tuple[str, ...]] = []
    for agent, report in zip(agents, reports, strict=True):
        name = agent["name"]
        if by is None:
            rows.append((name, *_figures(report["total"])))
        else:
            groups = report["groups"].get(by.value, {})
            rows += ((name, words.term(key), *_figures(one)) for key, one in groups.items())
    totals = [report["total"] for report in reports]
    sums = {key: sum(one.get(key, 0) for one in totals) for key in _FIGURES}
    group = [] if by is None else [words(f"head_{by.value}")]
    named = terminal.column_headings(
        "agent", "calls", "failed", "input", "cached", "output", "cost"
    )
    total = (words("cost_total"), *([""] if group else []), *_figures(sums))
    draw_table_on_terminal(terminal.console, [named[0], *group, *named[1:]], [*rows, total])
    _print_unconfirmed(terminal, sum(one.get("unconfirmed_micro_usd", 0) for one in totals))
    if not all(report["complete"] for report in reports):
        terminal.print_note("costs_incomplete")
    days = [since[:10] for report in reports if (since := report.get("calls_listed_since"))]
    if days:
        terminal.print_note("costs_calls_deleted", day=max(days))


_FIGURES = (
    "calls", "failed", "unknown", "input_tokens", "cached_tokens", "output_tokens",
    "cost_micro_usd",
)  # fmt: skip


def _figures(summary: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{summary['calls']:,}",
        f"{summary['failed'] + summary['unknown']:,}",
        f"{summary['input_tokens']:,}",
        _cached_share(summary),
        f"{summary['output_tokens']:,}",
        format_micro_usd(summary["cost_micro_usd"]),
    )


def _cached_share(summary: dict[str, Any]) -> str:
    """Return the share of the input that came from prompt caches; "–" without input."""
    tokens = summary["input_tokens"]
    return f"{summary.get('cached_tokens', 0) / tokens:.0%}" if tokens else "–"


def _draw_budgets(terminal: Terminal, shown: dict[str, Any]) -> None:
    from opencrab.gateways.cli.terminal.tables import draw_table_on_terminal

    words, limits, configured = terminal.words, shown["limits"], shown["configured"]

    def amount(name: str, value: int | None) -> str:
        if value is None:
            return words("no_limit")
        return f"{value}%" if name == _PERCENT else format_micro_usd(value)

    rows = [
        (name, amount(name, limits[field]), amount(name, configured[field]))
        for name, field in _LIMITS.items()
    ]
    terminal.table(("limit", "now", "configured"), rows)
    terminal.line()
    drawn = [
        (
            one["scope"],
            format_micro_usd(one["drawn_micro_usd"]),
            format_micro_usd(one["limit_micro_usd"]),
        )
        for one in shown["drawn"]
    ]
    heads = [words("head_scope_budget"), words("head_drawn", day=shown["day"]), words("head_limit")]
    draw_table_on_terminal(terminal.console, heads, drawn)
    _print_unconfirmed(terminal, shown.get("unconfirmed_micro_usd", 0))


def _print_unconfirmed(terminal: Terminal, micro_usd: int) -> None:
    """Print what is held for calls that were perhaps billed, if anything is."""
    if micro_usd:
        terminal.line()
        terminal.print_sentence("costs_unconfirmed", amount=format_micro_usd(micro_usd))
