"""The command that shows what an agent's models, skills and memories came to, in numbers."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

from opencrab.gateways.cli.terminal.amounts import (
    UNKNOWN,
    format_count_for_terminal,
    format_dollars_for_terminal,
    format_estimate_for_terminal,
    format_percent_for_terminal,
    format_seconds_for_terminal,
    terminal_effect_text,
)
from opencrab.gateways.cli.terminal.arguments import (
    AgentName,
    GroupingOption,
    PeriodOption,
    cli_argument,
    cli_option,
)
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

Found = dict[str, Any]

_LISTED = 14
"""Days and weeks that are shown, the newest."""

_USELESS = 5


class AnalyticsPart(StrEnum):
    """The parts of the analytics report."""

    USAGE = "usage"
    SKILLS = "skills"
    LLM = "llm"
    MEMORY = "memory"


@cli_command
def show_analytics(
    terminal: Terminal,
    agent: AgentName,
    part: Annotated[
        AnalyticsPart | None, cli_argument("Only this part.", show_default="all parts")
    ] = None,
    *,
    period: Annotated[PeriodOption, cli_option("How far back.")] = PeriodOption.LAST_MONTH,
    by: Annotated[GroupingOption, cli_option("Group calls by this.")] = GroupingOption.MODEL,
) -> None:
    """Show an agent's usage, and whether its models, skills and memories help."""
    found = find_agent_for_terminal(terminal, agent)
    parts = tuple(AnalyticsPart) if part is None else (part,)
    read = {each: _fetch_analytics(terminal, found["id"], each, period, by) for each in parts}
    if terminal.options.json:
        terminal.json(read[part] if part is not None else read)
        return
    for each, shown in read.items():
        if part is None:
            terminal.print_sentence(_TITLES[each], name=found["name"])
        _DRAWN[each](terminal, shown)
        if part is None and each is not AnalyticsPart.MEMORY:
            terminal.line()


def _fetch_analytics(
    terminal: Terminal, agent_id: str, part: AnalyticsPart, period: PeriodOption, by: GroupingOption
) -> Found:
    asked: dict[AnalyticsPart, dict[str, object]] = {
        AnalyticsPart.USAGE: {"period": period.value},
        AnalyticsPart.LLM: {"period": period.value, "group_by": by.value},
        AnalyticsPart.MEMORY: {"limit": 1},
    }
    return terminal.client.get("agents", agent_id, "analytics", part.value, **asked.get(part, {}))


def _usage(terminal: Terminal, shown: Found) -> None:
    words, totals = terminal.words, shown["totals"]
    _period(terminal, shown["since"], shown["as_of"])
    if not totals["calls"]:
        terminal.print_sentence("no_calls")
    else:
        _totals(terminal, totals)
        rows = [
            (
                each["model"],
                format_count_for_terminal(each["calls"]),
                format_percent_for_terminal(each["share_of_calls"]),
                format_dollars_for_terminal(each["cost_micro_usd"]),
                format_percent_for_terminal(each["share_of_cost"]),
            )
            for each in shown["models"]
        ]
        terminal.table(("model", "calls", "share", "cost", "share_of_cost"), rows)
        days = [
            (
                each["day"],
                format_count_for_terminal(each["calls"]),
                format_count_for_terminal(each["failed"]),
                format_dollars_for_terminal(each["cost_micro_usd"]),
                format_count_for_terminal(each["turns"]),
                format_count_for_terminal(each["spoke"]),
            )
            for each in shown["days"][-_LISTED:]
        ]
        heads = ("day_utc", "calls", "failed", "cost", "turns", "spoke")
        terminal.table(heads, days)
    turns = shown["turns"]
    if turns["turns"]:
        begun = ", ".join(
            f"{words.term(name)} {count}" for name, count in sorted(turns["triggers"].items())
        )
        terminal.print_sentence(
            "turns_told",
            turns=turns["turns"],
            spoke=turns["spoke"],
            a_day=f"{turns['spoke_a_day']:.1f}",
            begun=begun,
        )
        if not turns["complete"]:
            terminal.print_sentence("turns_incomplete")


def _skills(terminal: Terminal, shown: Found) -> None:
    words = terminal.words
    _period(terminal, None, shown["as_of"])
    if not shown["skills"]:
        terminal.print_sentence("no_acquired")
    else:
        rows = list[tuple[object, ...]]()
        for each in shown["skills"]:
            trial, effect = each["trial"], each["effect"]
            waits = words("skill_queued") if each["waits"] else words.term(each["status"])
            turns = f"{trial['turns']} / {trial['most_turns']}" if trial else UNKNOWN
            compared = f"{effect['given']} / {effect['held']}"
            rows.append(
                (
                    each["name"],
                    waits,
                    each["uses"],
                    terminal_effect_text(words, effect),
                    compared,
                    turns,
                )
            )
        heads = ("skill", "status", "usage", "effect", "with_without", "trial")
        terminal.table(heads, rows)
    weeks = [
        (each["week"], each["learned"], each["promoted"], each["retired"], each["taken_back"])
        for each in shown["weeks"][-_LISTED:]
    ]
    if weeks:
        terminal.table(("week", "learned", "promoted", "retired", "taken_back"), weeks)


def _llm(terminal: Terminal, shown: Found) -> None:
    from opencrab.gateways.cli.terminal.tables import draw_table_on_terminal

    words, analysis = terminal.words, shown["analysis"]
    _period(terminal, analysis["since"], shown["as_of"])
    if not analysis["totals"]["calls"]:
        terminal.print_sentence("no_calls")
        return
    _totals(terminal, analysis["totals"])
    heads = terminal.column_headings("calls", "failed", "cost", "latency", "quality", "per_dollar")
    group = words(f"head_{analysis['group_by']}")
    rows = [(words.term(key), *_figures(terminal, of)) for key, of in analysis["groups"].items()]
    draw_table_on_terminal(terminal.console, [group, *heads], rows)
    by_task = [
        (*_task(terminal, key), *_figures(terminal, of)) for key, of in analysis["tasks"].items()
    ]
    draw_table_on_terminal(
        terminal.console, [*terminal.column_headings("for", "model"), *heads], by_task[:_LISTED]
    )
    _print_learning(terminal, shown)


def _print_learning(terminal: Terminal, shown: Found) -> None:
    """Print the weekly quality, how far model grades can be trusted, and recommendations."""
    words = terminal.words
    if shown["reason"]:
        terminal.print_sentence("no_quality_yet")
    weeks = [
        (
            each["week"],
            each["turns"],
            each["judged"],
            format_estimate_for_terminal(words, each["quality"]),
        )
        for each in shown["weeks"][-_LISTED:]
    ]
    if weeks:
        terminal.table(("week", "turns", "judged", "quality"), weeks)
    for model, curve in shown["calibration"].items():
        steps = ", ".join(
            " → ".join(format_percent_for_terminal(each[end]) for end in ("said", "came_to"))
            for each in curve["points"]
        )
        terminal.print_sentence(
            "grades_told", model=model, weight=format_percent_for_terminal(curve["weight"])
        )
        terminal.print_sentence("grades_steps", steps=steps)
    for each in shown["analysis"]["recommendations"]:
        terminal.print_sentence(
            "recommended",
            purpose=words.term(each["purpose"]),
            task_type=words.term(each["task_type"]),
            current=each["current"],
            suggestion=each["suggestion"],
        )
        terminal.print_sentence(
            "recommended_for",
            category=words.term(each["category"]),
            confidence=format_percent_for_terminal(each["confidence"]),
        )


def _memory(terminal: Terminal, shown: Found) -> None:
    words, recalled, graph = terminal.words, shown["recalled"], shown["graph"]
    _period(terminal, None, shown["as_of"])
    if recalled["memories"]:
        facts = {key: recalled[key] for key in ("memories", "found", "useful", "junk")}
        terminal.print_sentence(
            "memories_told", **facts, rate=format_percent_for_terminal(recalled["junk_rate"])
        )
        useless = recalled["useless"]
        for each in useless[:_USELESS]:
            terminal.print_sentence("memory_useless", id=each["id"], found=each["found"])
        if len(useless) > _USELESS:
            terminal.print_sentence("more_left", count=len(useless) - _USELESS)
    else:
        terminal.print_sentence("no_recalled")
    effect = shown["effect"]
    terminal.print_sentence(
        "memories_change",
        effect=terminal_effect_text(words, effect),
        given=effect["given"],
        held=effect["held"],
        percent=shown["withheld_percent"],
    )
    people = f"{len(graph['people'])}{'' if graph['people_complete'] else '+'}"
    terminal.print_sentence(
        "graph_told", nodes=graph["nodes_in_all"], edges=graph["edges_in_all"], people=people
    )


def _period(terminal: Terminal, since: str | None, as_of: str | None) -> None:
    if since is not None:
        terminal.print_sentence("counted_since", since=format_time_for_terminal(since))
    if as_of is None:
        terminal.print_sentence("no_evidence")
    else:
        terminal.print_sentence("evidence_to", day=as_of)


def _totals(terminal: Terminal, of: Found) -> None:
    terminal.print_sentence(
        "calls_told",
        calls=format_count_for_terminal(of["calls"]),
        failed=format_count_for_terminal(of["failed"]),
        input=format_count_for_terminal(of["input_tokens"]),
        output=format_count_for_terminal(of["output_tokens"]),
        cost=format_dollars_for_terminal(of["cost_micro_usd"]),
        latency=format_seconds_for_terminal(of["mean_latency_ms"]),
    )


def _figures(terminal: Terminal, of: Found) -> tuple[str, ...]:
    worth = of["cost_efficiency"]
    per_dollar = UNKNOWN if worth is None else worth
    return (
        format_count_for_terminal(of["calls"]),
        format_count_for_terminal(of["failed"]),
        format_dollars_for_terminal(of["cost_micro_usd"]),
        format_seconds_for_terminal(of["mean_latency_ms"]),
        format_estimate_for_terminal(terminal.words, of["quality"]),
        terminal.words("ground_free") if worth == "free" else clean_terminal_text(per_dollar),
    )


def _task(terminal: Terminal, key: str) -> tuple[str, str]:
    """Format a key `purpose/task type/model` as a readable task, and the model."""
    purpose, task_type, model = key.split("/", 2)
    kinds = dict.fromkeys(map(terminal.words.term, (purpose, task_type)))
    return " / ".join(kinds), model


_TITLES = {
    AnalyticsPart.USAGE: "title_usage",
    AnalyticsPart.SKILLS: "title_skills",
    AnalyticsPart.LLM: "title_llm",
    AnalyticsPart.MEMORY: "title_memory",
}
_DRAWN: dict[AnalyticsPart, Callable[[Terminal, Found], None]] = {
    AnalyticsPart.USAGE: _usage,
    AnalyticsPart.SKILLS: _skills,
    AnalyticsPart.LLM: _llm,
    AnalyticsPart.MEMORY: _memory,
}
