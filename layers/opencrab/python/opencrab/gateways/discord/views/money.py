"""Showing money and switches: what model calls came to, and freezing an agent or everything."""

from dataclasses import dataclass
from typing import Any

from opencrab.domain.agents.agent import Profile
from opencrab.domain.amounts import format_micro_usd
from opencrab.domain.errors import Invalid
from opencrab.domain.money.budget import INSTALLATION, agent_budget_scope, heartbeat_budget_scope
from opencrab.domain.usage.ledger import Grouping, Period
from opencrab.domain.value import Language, MicroUsd
from opencrab.engine.agents.settings import freeze_or_unfreeze_agent
from opencrab.engine.insight.costs import UsageReport, costs_for_insight
from opencrab.engine.money.budgets import BudgetUse, budget_limits
from opencrab.gateways.discord.agent_lookup import (
    AgentQuery,
    Seen,
    agent_of_discord_command,
    every_agent_for_discord,
)
from opencrab.gateways.discord.text.embeds import (
    NOTHING,
    Colour,
    Field,
    discord_embed_lines_that_fit,
    discord_embeds_message,
    escape_discord_markdown,
    make_embed,
    one_discord_line,
)
from opencrab.gateways.discord.text.view_sentences import discord_term, discord_text_of_view

_NAME = 100
_BAR = 10
_NEARLY, _PER_CENT = 80, 100


@dataclass(frozen=True)
class _Sums:
    """The sums of some agents' calls; the most expensive model and agent come first."""

    cost: MicroUsd
    calls: int
    unknown: int
    complete: bool
    models: tuple[tuple[str, MicroUsd], ...]
    agents: tuple[tuple[str, MicroUsd], ...]


def show_costs_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Show owners the cost of a period's calls, and how much of today's budgets is used."""
    seen = _find_owned_agent(asked)
    language, period = asked.language, _period(asked)
    profiles = (
        list(every_agent_for_discord(asked.runtime.home.agents)) if seen is None else [seen[0]]
    )
    sums = _sums(asked, profiles, period)
    agent = None if seen is None else seen[0].agent
    drawn = budget_limits(asked.runtime, agent).drawn
    fields = [
        (discord_text_of_view(language, "cost"), _dollars(sums.cost)),
        (discord_text_of_view(language, "calls"), f"{sums.calls:,}"),
        (
            discord_text_of_view(language, "budgets"),
            discord_embed_lines_that_fit(_budget(language, each) for each in drawn),
        ),
    ]
    fields += _cost_ranking_fields(language, "by_model", sums.models)
    if agent is None:
        fields += _cost_ranking_fields(language, "by_agent", sums.agents)
    if sums.unknown:
        fields.append((discord_text_of_view(language, "unknown_calls"), f"{sums.unknown:,}"))
    footer = "" if sums.complete else discord_text_of_view(language, "not_all_calls")
    whose = (
        discord_text_of_view(language, "installation")
        if agent is None
        else escape_discord_markdown(agent.name)
    )
    title = discord_text_of_view(
        language, "costs_of", name=whose, period=discord_term(language, period.value)
    )
    return discord_embeds_message(
        make_embed(title, fields=fields, footer=footer, colour=_colour(drawn))
    )


def freeze_agents_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Freeze an agent, or all of them, before the next model call, queued work included."""
    return _set_freeze(asked, frozen=True)


def unfreeze_agents_on_discord(asked: AgentQuery) -> dict[str, Any]:
    """Unfreeze an agent, or all of them."""
    return _set_freeze(asked, frozen=False)


def _find_owned_agent(asked: AgentQuery) -> Seen | None:
    """Find the agent of the command, None for the installation; raises Refused unless owned."""
    if not asked.options.get("agent"):
        asked.require_owner()
        return None
    profile, presence = agent_of_discord_command(asked)
    asked.require_owner(profile, presence)
    return profile, presence


def _period(asked: AgentQuery) -> Period:
    wanted = str(asked.options.get("period") or Period.LAST_MONTH)
    if wanted not in set(Period):
        raise Invalid(
            discord_text_of_view(asked.language, "no_period", period=wanted[:100]),
            field="period",
            cure=discord_text_of_view(asked.language, "periods_are", periods=", ".join(Period)),
        )
    return Period(wanted)


def _sums(asked: AgentQuery, profiles: list[Profile], period: Period) -> _Sums:
    models, agents = dict[str, MicroUsd](), list[tuple[str, MicroUsd]]()
    told = list[UsageReport]()
    for profile in profiles:
        found = costs_for_insight(asked.runtime, profile.agent.id, period, (Grouping.MODEL,))
        told.append(found)
        if found.total.calls:
            agents.append((profile.agent.name, found.total.cost_micro_usd))
        for name, group in found.groups[Grouping.MODEL].items():
            models[name] = models.get(name, 0) + group.cost_micro_usd
    return _Sums(
        cost=sum(each.total.cost_micro_usd for each in told),
        calls=sum(each.total.calls for each in told),
        unknown=sum(each.total.unknown for each in told),
        complete=all(each.complete for each in told),
        models=_dearest(list(models.items())),
        agents=_dearest(agents),
    )


def _dearest(costs: list[tuple[str, MicroUsd]]) -> tuple[tuple[str, MicroUsd], ...]:
    return tuple(sorted(costs, key=lambda cost: (-cost[1], cost[0])))


def _cost_ranking_fields(
    language: Language, key: str, costs: tuple[tuple[str, MicroUsd], ...]
) -> list[Field]:
    rows = [f"{one_discord_line(name, _NAME)}: {_dollars(cost)}" for name, cost in costs]
    return (
        [(discord_text_of_view(language, key), discord_embed_lines_that_fit(rows))] if rows else []
    )


def _budget(language: Language, drawn: BudgetUse) -> str:
    """Format a budget in one line, with a bar of the share that is used today."""
    keys = {
        INSTALLATION: "installation",
        agent_budget_scope(""): "agent",
        heartbeat_budget_scope(""): "heartbeat",
    }
    name = next(key for scope, key in keys.items() if drawn.scope.startswith(scope))
    share = _share(drawn)
    full = min(share, _PER_CENT) * _BAR // _PER_CENT
    bar = "▰" * full + "▱" * (_BAR - full)
    spent = f"{_dollars(drawn.drawn_micro_usd)} / {_dollars(drawn.limit_micro_usd)}"
    return f"{discord_text_of_view(language, name)} {bar} {spent}"


def _share(drawn: BudgetUse) -> int:
    """Return the percentage of a budget that is used; 100 for a budget of zero."""
    if drawn.limit_micro_usd <= 0:
        return _PER_CENT
    return max(drawn.drawn_micro_usd, 0) * _PER_CENT // drawn.limit_micro_usd


def _colour(drawn: tuple[BudgetUse, ...]) -> Colour:
    share = _share(drawn[0] if len(drawn) == 1 else drawn[1])
    if share >= _PER_CENT:
        return Colour.BAD
    return Colour.WAITING if share >= _NEARLY else Colour.GOOD


def _set_freeze(asked: AgentQuery, *, frozen: bool) -> dict[str, Any]:
    seen, language = _find_owned_agent(asked), asked.language
    agent = None if seen is None else seen[0].agent
    by = asked.person.principal_id
    stopped = freeze_or_unfreeze_agent(
        asked.runtime.home, agent.id if agent else None, frozen=frozen, by=by
    )
    name = NOTHING if agent is None else escape_discord_markdown(agent.name)
    key = f"{'all' if agent is None else 'agent'}_{'frozen' if frozen else 'unfrozen'}"
    rows = []
    others = [scope for scope in stopped if scope != INSTALLATION]
    if not frozen and INSTALLATION in stopped:
        rows.append(discord_text_of_view(language, "still_frozen"))
    elif not frozen and agent is None and others:
        rows.append(discord_text_of_view(language, "some_frozen", ids=", ".join(others)))
    colour = Colour.BAD if frozen else Colour.GOOD
    return discord_embeds_message(
        make_embed(discord_text_of_view(language, key, name=name), "\n".join(rows), colour=colour)
    )


def _dollars(micro_usd: MicroUsd) -> str:
    return format_micro_usd(micro_usd, separator=",")
