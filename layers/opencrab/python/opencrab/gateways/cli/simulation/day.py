"""The command that lets agents live a day in seconds, and says what came of it."""

from collections.abc import Callable
from typing import Annotated, Any

from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.simulation import learning
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

_MILLION = 1_000_000
_HEAD = (
    "head_sim_name",
    "head_sim_turns",
    "head_sim_calls",
    "head_sim_spent",
    "head_sim_share",
    "head_sim_checked",
    "head_sim_promises",
    "head_sim_trust",
    "head_sim_goals",
)


@cli_command
def run_agent_simulation(
    terminal: Terminal,
    *,
    agents: Annotated[int, cli_option("Number of agents.")] = 8,
    hours: Annotated[float, cli_option("Hours to simulate.")] = 24.0,
    seed: Annotated[
        int, cli_option("Seed of the random numbers; the same seed gives the same result.")
    ] = 1,
) -> None:
    """Simulate some hours of the preset agents, without a model."""
    from opencrab.domain.value import Language

    if terminal.options.simulation is None:
        raise Unavailable(
            "the simulator is not installed", cure="install the full OpenCrab package"
        )
    language = Language(terminal.options.language.for_agents)
    found = terminal.options.simulation(agents, hours, seed, language, _progress(terminal, hours))
    terminal.show(found.model_dump(mode="json"), _tell)


def _progress(terminal: Terminal, hours: float) -> Callable[[int], None]:
    """Return a function that shows how many hours have passed on standard error.

    On a terminal the line is overwritten.
    """
    screen, quiet = terminal.err.isatty(), getattr(terminal.options, "quiet", False)

    def tell(hour: int) -> None:
        if quiet:
            return
        text = terminal.words("simulated_hours", hour=hour, hours=f"{hours:g}")
        last = hour + 1 > hours
        terminal.err.write(f"\r{text}" + ("\n" if last else "") if screen else f"{text}\n")
        terminal.err.flush()

    return tell


def _tell(terminal: Terminal, found: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(*map(terminal.words, _HEAD), box=None, padding=(0, 1, 0, 0))
    for name, life in found["by_agent"].items():
        table.add_row(
            clean_terminal_text(name),
            str(life["turns"]),
            str(life["model_calls"]),
            f"${life['spend_micro_usd'] / _MILLION:.4f}",
            f"{life['most_of_share']:.0%}",
            f"{life['goal_ends'].get('checked', 0)}/{sum(life['goal_ends'].values())}",
            _promises(terminal, life),
            _or_dash(life["trust"]),
            _goals(life["goals"], "\n"),
        )
    terminal.draw(table)
    terminal.print_sentence(
        "simulated",
        beats=f"{found['beats']:,}",
        idle=f"{found['idle_share']:.2%}",
        turns=found["turns"],
        calls=found["model_calls"],
        reasonless=found["model_calls_without_reason"],
        spent=f"{found['spend_micro_usd'] / _MILLION:.4f}",
        goals=_goals(found["goals_by_source"]) or "-",
    )
    terminal.print_sentence(
        "simulated_ends",
        checked=f"{found['checked_share']:.0%}",
        ended=sum(found["goal_ends"].values()),
        kept=found["kept"],
        promises=found["promises"],
        auc=_or_dash(found["trust_auc"]),
        beyond=found["calls_beyond_share"],
    )


def _promises(terminal: Terminal, life: dict[str, Any]) -> str:
    """Return how many promises an agent kept of how many, and whether it is made to break them."""
    told = f"{life['kept']}/{life['promises']}"
    return f"{told}\n{terminal.words('sim_breaker')}" if life["breaks_promises"] else told


def _or_dash(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def _goals(by_source: dict[str, int], between: str = ", ") -> str:
    return between.join(f"{source} {count}" for source, count in by_source.items())


COMMANDS: dict[str, Callable[..., None]] = {"learning": learning.simulate_learning}
"""What else can be simulated, by its name after `opencrab admin simulate`."""
