"""Commands about learning: what is tried out on an agent, what was changed, and looking now."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.amounts import (
    format_count_for_terminal,
    format_dollars_for_terminal,
    format_estimate_for_terminal,
    format_percent_for_terminal,
    format_seconds_for_terminal,
    terminal_effect_text,
)
from opencrab.gateways.cli.terminal.arguments import AgentName, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

Found = dict[str, Any]

_SHOWN = 20
_STATES = {
    "running": "experiment_running",
    "waiting": "skill_queued",
    "settled": "experiment_settled",
    "pinned": "experiment_pinned",
}
_LEAVES = {"off": "models_off", "apply": "models_apply", "recommend": "models_recommend"}
_MADE = {
    "proposed": "change_proposed",
    "applied": "change_applied",
    "undone": "change_undone",
    "rolled_back": "change_rolled_back",
    "superseded": "change_superseded",
}


class SpanOption(StrEnum):
    """The period that an evaluation covers."""

    DAILY = "daily"
    WEEKLY = "weekly"
    REVIEW = "review"


@cli_command
def show_learning_experiments(
    terminal: Terminal,
    agent: AgentName,
    *,
    stop: Annotated[
        str | None, cli_option("Older form of `learning stop`.", "SUBJECT", hidden=True)
    ] = None,
    pin: Annotated[
        str | None, cli_option("Older form of `learning pin`.", "SUBJECT", hidden=True)
    ] = None,
    unpin: Annotated[
        str | None, cli_option("Older form of `learning unpin`.", "SUBJECT", hidden=True)
    ] = None,
) -> None:
    """Show an agent's experiments."""
    wanted = {"stop": stop, "pin": pin, "unpin": unpin}
    acts = [(verb, subject) for verb, subject in wanted.items() if subject is not None]
    if len(acts) > 1:
        raise typer.BadParameter(terminal.words("one_act"), param_hint="--stop")
    for verb, subject in acts:
        steer_experiment(terminal, agent, verb, subject)
        return
    found = find_agent_for_terminal(terminal, agent)
    _experiments(terminal, found, terminal.client.get("agents", found["id"], "experiments"))


def steer_experiment(terminal: Terminal, agent: str, verb: str, subject: str) -> None:
    """Stop an experiment, or pin or unpin its subject."""
    place = ("agents", find_agent_for_terminal(terminal, agent)["id"], "experiments")
    # Addresses have a point where a purpose and its task type have a slash.
    done = terminal.client.post(*place, subject.replace("/", "."), verb)
    if terminal.options.json:
        terminal.json(done)
    elif verb == "stop":
        _change(terminal, done)
    else:
        terminal.print_sentence(
            "subject_pinned" if done["pinned"] else "subject_free", name=done["subject"]
        )


@cli_command
def show_learned_changes(
    terminal: Terminal,
    agent: AgentName,
    *,
    undo: Annotated[
        str | None, cli_option("Older form of `learning undo`.", "ID", hidden=True)
    ] = None,
    apply: Annotated[
        str | None, cli_option("Older form of `learning apply`.", "ID", hidden=True)
    ] = None,
) -> None:
    """Show the changes that learning made or proposes, newest first."""
    if undo is not None and apply is not None:
        raise typer.BadParameter(terminal.words("one_change"), param_hint="--undo")
    wanted = undo or apply
    if wanted is not None:
        decide_learned_change(terminal, agent, "undo" if undo else "apply", wanted)
        return
    found = find_agent_for_terminal(terminal, agent)
    page = terminal.client.get("agents", found["id"], "changes", limit=_SHOWN)
    if terminal.options.json:
        terminal.json(page)
    elif not page["items"]:
        terminal.print_sentence("no_changes", name=found["name"])
    else:
        for made in page["items"]:
            _change(terminal, made)
        if page.get("next_cursor"):
            terminal.print_sentence("only_newest", count=_SHOWN)


def decide_learned_change(terminal: Terminal, agent: str, verb: str, change: str) -> None:
    """Apply or undo a change, and print it."""
    place = ("agents", find_agent_for_terminal(terminal, agent)["id"], "changes", change, verb)
    terminal.show(terminal.client.post(*place), _change)


@cli_command
def run_learning_review(
    terminal: Terminal,
    agent: AgentName,
    *,
    period: Annotated[
        SpanOption, cli_option("The last full day or week (UTC), or today's skills so far.")
    ] = SpanOption.DAILY,
    dry_run: Annotated[bool, cli_option("Dry run: only show what would be done.")] = False,
) -> None:
    """Run the daily or weekly evaluation, or the skill review, now instead of at night."""
    found = find_agent_for_terminal(terminal, agent)
    body = {"period": period.value, "dry_run": dry_run}
    looked = terminal.client.post("agents", found["id"], "meta", "runs", body=body)
    terminal.show(looked, lambda terminal, looked: _print_learning_report(terminal, found, looked))


def _experiments(terminal: Terminal, agent: AgentView, shown: Found) -> None:
    if terminal.options.json:
        terminal.json(shown)
        return
    if not shown["items"]:
        terminal.print_sentence("no_experiments", name=agent["name"])
    for each in shown["items"]:
        terminal.line(f"{each['subject']}: {terminal.words(_STATES[each['state']])}")
        _DRAWN[each["kind"]](terminal, each)
        for made in each["decisions"]:
            _print_change_detail(terminal, made)
    if shown["pinned"]:
        terminal.print_sentence("pinned_are", names=", ".join(shown["pinned"]))
    terminal.print_sentence("explores", share=format_percent_for_terminal(shown["explore"]))
    if any((each["subject"], each["state"]) == ("models", "running") for each in shown["items"]):
        terminal.print_sentence("models_tried", name=agent["name"])


def _skill(terminal: Terminal, each: Found) -> None:
    words, effect, trial = terminal.words, each["effect"], each["trial"]
    terminal.print_sentence(
        "trial_shows",
        effect=terminal_effect_text(words, effect),
        given=effect["given"],
        held=effect["held"],
        percent=each["withheld_percent"],
    )
    for task, found in each.get("by_task", {}).items():
        text = terminal_effect_text(words, found)
        given, held = found["given"], found["held"]
        terminal.print_sentence("trial_for_task", task=task, effect=text, given=given, held=held)
    if trial is not None:
        terminal.print_sentence(
            "trial_so_far",
            turns=trial["turns"],
            least=trial["least_turns"],
            most=trial["most_turns"],
            verdict=words.term(each["verdict"]),
            reason=_reason(terminal, each["reason"]),
        )


def _models(terminal: Terminal, each: Found) -> None:

    words = terminal.words
    rows = [
        (
            model["model"],
            model["name"] or words("not_set_up"),
            format_percent_for_terminal(model["weight"]),
            format_count_for_terminal(model["turns"]),
            format_estimate_for_terminal(words, model["quality"]),
            format_estimate_for_terminal(words, model["off_policy"]),
            format_dollars_for_terminal(model["cost_micro_usd"]),
            format_seconds_for_terminal(model["latency_ms"]),
        )
        for model in each["models"]
    ]
    heads = ("alias", "model", "share", "turns", "quality", "off_policy", "per_turn", "latency")
    terminal.table(heads, rows)
    if any(model["off_policy"] for model in each["models"]):
        terminal.print_sentence("off_policy_is")


def _memory(terminal: Terminal, each: Found) -> None:
    effect = each["effect"]
    terminal.print_sentence(
        "memories_change",
        effect=terminal_effect_text(terminal.words, effect),
        given=effect["given"],
        held=effect["held"],
        percent=each["withheld_percent"],
    )


_DRAWN = {"skill": _skill, "models": _models, "memory": _memory}


def _change(terminal: Terminal, made: Found) -> None:
    _print_change_detail(terminal, made)
    for text in (*_evidence(terminal, made["evidence"]), *_says(terminal, made)):
        terminal.line(f"  {text}")
    terminal.line(f"  {made['id']}")


def _says(terminal: Terminal, made: Found) -> Iterator[str]:
    """Quote the experiences that a change is about: the one to retire, then the one that stays."""
    for key, text in zip(("goes_says", "stays_says"), made.get("says", ()), strict=False):
        yield terminal.words(key, text=" ".join(text.split()))


def _print_change_detail(terminal: Terminal, made: Found) -> None:
    terminal.print_sentence(
        "change_is",
        at=format_time_for_terminal(made["at"]),
        subject=made.get("experiment") or f"{made['kind']}:{made['subject']}",
        state=terminal.words(_MADE[made["state"]]),
    )
    terminal.print_sentence(
        "change_made",
        before=_standing(terminal, made["before"]),
        after=_standing(terminal, made["after"]),
        reason=_reason(terminal, made["reason"]),
    )


def _standing(terminal: Terminal, told: Mapping[str, Any]) -> str:
    """Format the state before or after a change: weights, status or withheld share."""
    if "weights" in told:
        weights = sorted(told["weights"].items(), key=lambda each: (-each[1], each[0]))
        return ", ".join(
            f"{alias} {format_percent_for_terminal(weight)}" for alias, weight in weights
        )
    for key in ("remark", "status"):
        if key in told:
            word = terminal.words.term(told[key])
            if told.get("only"):
                return terminal.words("kept_only_for", state=word, tasks=", ".join(told["only"]))
            return f"{word} ({told['other']})" if told.get("other") else word
    if "leave" in told:
        return terminal.words(_LEAVES[told["leave"]])
    if "withheld_percent" in told:
        return terminal.words("memories_hidden", percent=told["withheld_percent"])
    return terminal.words("nothing_before")


def _evidence(terminal: Terminal, numbers: Mapping[str, Any]) -> list[str]:
    """Format the figures that a change rests on, those of a known form."""
    words, said = terminal.words, []
    if "points" in numbers:
        said.append(
            words(
                "rests_on_points",
                effect=terminal_effect_text(words, numbers),
                given=numbers["given"],
                held=numbers["held"],
            )
        )
    if "useful" in numbers:
        said.append(words("rests_on_finds", found=numbers["found"], useful=numbers["useful"]))
    if "alike" in numbers:
        said.append(words("rests_on_likeness", share=format_percent_for_terminal(numbers["alike"])))
    if "quality" in numbers:
        said.append(
            words(
                "rests_on_quality",
                quality=format_estimate_for_terminal(words, numbers["quality"]),
                cost=format_dollars_for_terminal(numbers["cost_micro_usd"]),
            )
        )
    return said


def _print_learning_report(terminal: Terminal, agent: AgentView, looked: Found) -> None:
    terminal.print_sentence(
        "looked_at",
        name=agent["name"],
        first=looked["first"],
        last=looked["last"],
        turns=looked["turns"],
        judged=looked["judged"],
        spent=format_dollars_for_terminal(looked["spent_micro_usd"]),
        budget=format_dollars_for_terminal(looked["budget_micro_usd"]),
    )
    if looked["done_before"]:
        terminal.print_sentence("looked_before")
    elif looked["dry_run"]:
        terminal.print_sentence("looked_dry")
    for made in looked["adjustments"]:
        _change(terminal, made)
    if not looked["adjustments"]:
        terminal.print_sentence("nothing_followed")
    for still in looked["standstills"]:
        reason = _reason(terminal, still["reason"])
        terminal.print_sentence("stands_still", subject=still["subject"], reason=reason)
    _print_reviews(terminal, looked)
    for path in looked["report"]:
        terminal.print_sentence("report_at", path=path)
    if looked["problem"]:
        terminal.print_note("report_missing", why=looked["problem"])


def _print_reviews(terminal: Terminal, looked: Found) -> None:
    """Print the reviews of skills, and how many memories and experiences were useless."""
    words = terminal.words
    rows = [
        (
            each["skill"],
            words.term(each["status"]),
            _points(terminal, each),
            f"{words.term(each['remark'])} {each['other']}".rstrip(),
            _reason(terminal, each["reason"]),
        )
        for each in looked["reviews"]
    ]
    if rows:
        heads = ("skill", "status", "effect", "proposal", "reason")
        terminal.table(heads, rows)
    for says, junk in (("junk_told", looked["junk"]), ("lived_junk_told", looked["lived"])):
        if junk["rate"] is not None:
            useless = round(junk["rate"] * junk["found"])
            terminal.print_sentence(
                says,
                found=junk["found"],
                junk=useless,
                rate=format_percent_for_terminal(junk["rate"]),
            )


def _points(terminal: Terminal, review: Found) -> str:
    effect = review["effect"]
    if effect is None:
        return terminal_effect_text(terminal.words, None)
    points = {("points" if key == "mean" else key): 100 * effect[key] for key in _LIMITS}
    return terminal_effect_text(terminal.words, points)


_LIMITS = ("mean", "low", "high")


def _reason(terminal: Terminal, reason: str | None) -> str:
    """Return the reason in the words of the learning report."""
    from opencrab.domain.value import Language
    from opencrab.engine.learning.report.phrases import ReportPhrases

    if not reason:
        return ""
    return ReportPhrases(Language(terminal.options.language.for_agents)).reason(reason)
