"""The command that measures whether an agent's model follows the numbers of its personality."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.amounts import (
    format_dollars_for_terminal,
    format_estimate_for_terminal,
    parse_terminal_amount,
)
from opencrab.gateways.cli.terminal.arguments import AgentName, Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import ask_yes_or_no_on_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

Found = dict[str, Any]

_MOST_USD, _STEP = Decimal(1_000), Decimal("0.000001")
_CALLS, _SECONDS = 4, 480


@cli_command
def evaluate_agent_persona(
    terminal: Terminal,
    *,
    name: AgentName,
    questions: Annotated[
        int, typer.Option(min=1, max=8, help="Questions for each number of the personality.")
    ] = 5,
    budget_usd: Annotated[str, cli_option("Ask no more questions after this is spent.")] = "0.50",
    yes: Yes = False,
) -> None:
    """Measure whether the agent's model follows its personality. Costs money."""
    from opencrab.domain.agents.soul import Soul
    from opencrab.domain.agents.trait_comparison import told_traits

    budget = parse_terminal_amount(budget_usd, _STEP, _MOST_USD)
    if not budget:
        raise typer.BadParameter(terminal.words("eval_budget"), param_hint="--budget-usd")
    agent = find_agent_for_terminal(terminal, name)
    traits = [trait.value for trait in told_traits(Soul.model_validate(agent["soul"]))]
    if not traits:
        raise typer.BadParameter(terminal.words("persona_neutral", name=agent["name"]))
    if not yes:
        _agree(terminal, agent, len(traits) * questions, budget)
    run = _Run(terminal, agent, budget)
    try:
        for question in range(questions):
            for trait in traits:
                run.ask(trait, question)
    finally:
        # What was paid for is shown, also if a call failed or somebody pressed Ctrl-C.
        if run.pairs:
            terminal.show(run.told(traits), _draw)


@dataclass
class _Run:
    """The pairs that were asked so far and what they cost."""

    terminal: Terminal
    agent: AgentView
    budget: int
    spent: int = 0

    def __post_init__(self) -> None:
        self.pairs: dict[str, list[Found]] = {}

    def ask(self, trait: str, question: int) -> None:
        """Ask for one pair of answers; does nothing once the budget is spent."""
        if self.spent >= self.budget:
            return
        if not self.terminal.options.json:
            words = self.terminal.words
            self.terminal.print_note("persona_asking", trait=words.term(trait), n=question + 1)
        body = {"name": trait, "question": question}
        place = ("agents", self.agent["id"], "soul", "trait-pair")
        found = self.terminal.client.post(*place, body=body, wait=_SECONDS)
        self.spent += found["cost_micro_usd"]
        self.pairs.setdefault(trait, []).append(found)

    def told(self, traits: Sequence[str]) -> Found:
        """Report each number that was asked about."""
        from opencrab.domain.agents.trait_comparison import soul_trait_share

        rows = list[Found]()
        for trait in traits:
            if pairs := self.pairs.get(trait):
                share = soul_trait_share([pair["share"] for pair in pairs])
                found = {"name": trait, **share.model_dump(), "finding": share.finding.value}
                rows.append({**found, "answers": pairs})
        return {
            "agent_id": self.agent["id"],
            "agent": self.agent["name"],
            "numbers": rows,
            "not_asked": [trait for trait in traits if trait not in self.pairs],
            "spent_micro_usd": self.spent,
            "budget_micro_usd": self.budget,
        }


def _agree(terminal: Terminal, agent: AgentView, pairs: int, budget: int) -> None:
    """Say what will be asked and ask for consent; exits if it is refused."""
    if not terminal.interactive or terminal.options.json:
        raise typer.BadParameter(terminal.words("eval_yes_needed"), param_hint="--yes")
    terminal.print_sentence(
        "persona_plan",
        name=agent["name"],
        calls=pairs * _CALLS,
        budget=format_dollars_for_terminal(budget),
    )
    if not ask_yes_or_no_on_terminal(terminal.words("eval_really"), default=False):
        terminal.print_sentence("eval_not_run")
        raise typer.Exit


def _draw(terminal: Terminal, found: Found) -> None:
    words = terminal.words
    rows = [
        (
            words.term(each["name"]),
            each["pairs"],
            format_estimate_for_terminal(words, {**each, "mean": each["share"]}),
            words.term(each["finding"]),
        )
        for each in found["numbers"]
    ]
    terminal.table(("number", "pairs", "as_described", "finding"), rows)
    for each in found["numbers"][:1]:
        pair = each["answers"][0]
        terminal.print_sentence("persona_models", model=pair["model"], judge=pair["judge"])
    if found["not_asked"]:
        left = ", ".join(map(words.term, found["not_asked"]))
        is_spent = found["spent_micro_usd"] >= found["budget_micro_usd"]
        key = "persona_not_asked" if is_spent else "persona_broken_off"
        terminal.print_sentence(key, traits=left)
    terminal.print_sentence(
        "eval_spent",
        spent=format_dollars_for_terminal(found["spent_micro_usd"]),
        budget=format_dollars_for_terminal(found["budget_micro_usd"]),
    )
