"""The command that tries ways to learn on made-up worlds, and says which of them knew the truth."""

from typing import Annotated, Any

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

MOST_SEEDS = 1_000
_SKILLS = ("head_learn_skill", "head_learn_kind", "head_learn_effect", "head_learn_truth")
_KINDS = {"helpful": "learn_helpful", "harmful": "learn_harmful", "idle": "learn_idle"}
_VERDICTS = {
    "promote": "learn_promote",
    "retire": "learn_retire",
    "on_trial": "learn_on_trial",
    "waiting": "learn_waiting",
}
_WAYS = {
    "ours": "learn_rule_ours",
    "greedy": "learn_rule_greedy",
    "self_grade": "learn_rule_self_grade",
}
_HELD = {
    "effects_at_decision": "learn_effects_at_decision",
    "effects": "learn_effects",
    "qualities": "learn_qualities",
}
_RULES = ("head_learn_rule", "head_learn_regret", "head_learn_late", "head_learn_most_spent")


@cli_command
def simulate_learning(
    terminal: Terminal,
    *,
    seed: Annotated[
        int, cli_option("Seed of the random numbers; the same seed gives the same world.")
    ] = 1,
    seeds: Annotated[int, cli_option("How many worlds to simulate, from this seed on.")] = 1,
    nights: Annotated[int, cli_option("Number of nights.")] = 60,
    turns: Annotated[int, cli_option("Turns per day.")] = 100,
    lying: Annotated[
        bool, cli_option("Models overrate themselves, the more the worse they are.")
    ] = False,
) -> None:
    """Simulate learning in a made-up world whose truth is known, without a model."""
    from opencrab.engine.simulation.learning.scores import combine_simulation_results
    from opencrab.engine.simulation.learning.trial import run_simulated_learning_trial

    if not 1 <= seeds <= MOST_SEEDS:
        raise Invalid(f"--seeds is {seeds}: use 1 to {MOST_SEEDS}", field="seeds")
    found = [
        run_simulated_learning_trial(seed + place, nights=nights, turns=turns, lying=lying)
        for place in range(seeds)
    ]
    lessons = combine_simulation_results(found).model_dump(mode="json")
    worlds = [each.model_dump(mode="json") for each in found]
    if terminal.options.json:
        terminal.json({**(worlds[0] if seeds == 1 else {}), "lessons": lessons})
        return
    if seeds == 1:
        _tell_skills(terminal, worlds[0])
    _tell_rules(terminal, worlds)
    _tell_lessons(terminal, lessons)


def _tell_skills(terminal: Terminal, world: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(*map(terminal.words, (*_SKILLS, "head_learn_verdict")), box=None)
    for fate in world["fates"]:
        table.add_row(
            clean_terminal_text(fate["skill"]),
            terminal.words(_KINDS[fate["kind"]]),
            _interval(fate),
            "-" if fate["truth"] is None else f"{fate['truth']:+.1f}",
            terminal.words(
                _VERDICTS[fate["verdict"]], turns=fate["turns"], night=fate["night"] or 0
            ),
        )
    terminal.draw(table)


def _tell_rules(terminal: Terminal, worlds: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(*map(terminal.words, _RULES), box=None)
    for name in worlds[0]["outcomes"]:
        outcomes = [world["outcomes"][name] for world in worlds]
        spent = max(
            outcome["most_spent_in_a_day"] / world["day_micro_usd"]
            for outcome, world in zip(outcomes, worlds, strict=True)
        )
        table.add_row(
            terminal.words(_WAYS[name]),
            f"{sum(each['regret'] for each in outcomes) / len(outcomes):.2f}",
            f"{sum(each['late'] for each in outcomes) / len(outcomes):.2f}",
            f"{spent:.1%}",
        )
    terminal.draw(table)


def _tell_lessons(terminal: Terminal, lessons: dict[str, Any]) -> None:
    for name, key in _HELD.items():
        terminal.print_sentence(key, **lessons[name])
    for kind, key in _KINDS.items():
        told = {key: lessons["skills"][kind][key] for key in ("skills", "promoted", "retired")}
        turns = lessons["skills"][kind]["median_turns"]
        word = terminal.words(key)
        terminal.print_sentence(
            "learn_decided", kind=word, turns="-" if turns is None else turns, **told
        )
    back = lessons["nights_until"]
    terminal.print_sentence(
        "learn_back",
        dropped=lessons["dropped"],
        left=lessons["left"],
        nights="-" if back is None else back,
    )
    terminal.print_sentence("learn_undone", undone=lessons["undone"], seeds=lessons["seeds"])


def _interval(fate: dict[str, Any]) -> str:
    points, low, high = (fate[name] for name in ("points", "low", "high"))
    return "-" if None in {points, low, high} else f"{points:+.1f} ({low:+.1f} … {high:+.1f})"
