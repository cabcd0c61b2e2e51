"""Checks of what may stop the work: switches that freeze, and budgets that are used up."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import attrgetter

from opencrab.domain.agents.agent import Agent
from opencrab.domain.amounts import format_micro_usd
from opencrab.domain.money.budget import INSTALLATION, agent_budget_scope
from opencrab.domain.value import MicroUsd
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.installation.findings import Findings
from opencrab.engine.runtime import Runtime
from opencrab.ports.paging import paginate

AGENTS = 100
"""The most agents that are looked at, the oldest first."""

LOW_PERCENT, SPENT_PERCENT = 10, 1
"""What must be left of a day's budget: with less no call may find room for its reservation."""


def agents_checked_in_installation(runtime: Runtime) -> tuple[Agent, ...]:
    """Return the agents that answer, at most `AGENTS`."""
    listed = paginate(runtime.home.agents.page, limit=AGENTS, key=attrgetter("agent.id"))
    found = (profile.agent for profile in listed if profile.agent.answers)
    return tuple(islice(found, AGENTS))


def _agent_argument(agent: Agent, agents: tuple[Agent, ...]) -> str:
    """Return how a command names an agent: by its name if that is one word and its own, or id."""
    alike = [each for each in agents if each.name == agent.name]
    return agent.name if agent.name.isalnum() and len(alike) == 1 else agent.id


def check_installation_switches(runtime: Runtime, findings: Findings) -> Iterator[Check]:
    """Check that nothing is frozen."""
    frozen = runtime.home.switches.all_frozen()
    if not frozen:
        yield findings.well("switches", "running")
    if INSTALLATION in frozen:
        yield findings.problem("switches", "all_frozen")
    if not set(frozen) - {INSTALLATION}:
        return
    agents = agents_checked_in_installation(runtime)
    for agent in agents:
        if agent.id in frozen:
            who = _agent_argument(agent, agents)
            yield findings.problem("switches", "agent_frozen", name=agent.name, agent=who)


def check_installation_spending(runtime: Runtime, findings: Findings) -> Iterator[Check]:
    """Check how much of today's budgets is left, for all agents together and for each."""
    now = runtime.clock.now()
    day = now.strftime("%Y-%m-%d")
    limits = runtime.rules.limits.changed(runtime.home.budgets.limits())
    drawn = runtime.home.budgets.drawn_micro_usd(INSTALLATION, day)
    total = _Day(drawn, limits.installation_day_micro_usd, _until_tomorrow(now))
    yield total.check(findings, limit="installation_day")
    agents = agents_checked_in_installation(runtime)
    for agent in agents:
        of_agent = limits.agent_day(agent.day_limit_micro_usd)
        drawn = runtime.home.budgets.drawn_micro_usd(agent_budget_scope(agent.id), day)
        found = _Day(drawn, of_agent, total.hours)
        if found.left * 100 < of_agent * LOW_PERCENT:
            own = agent.day_limit_micro_usd is not None
            who = _agent_argument(agent, agents)
            yield found.check_agent(findings, agent.name, who, own=own)


class _Day:
    """A budget of today: what is drawn of it, and how many hours it must last."""

    def __init__(self, drawn: MicroUsd, limit: MicroUsd, hours: int) -> None:
        self.left = limit - drawn
        self.hours = hours
        self._limit = limit
        self._facts = {
            "drawn": format_micro_usd(drawn),
            "limit": format_micro_usd(limit),
            "hours": hours,
            # Twice as much, so that it lasts for the day.
            "more": f"{max(limit * 2, 100_000) / 1_000_000:g}",
        }

    def check(self, findings: Findings, *, limit: str) -> Check:
        """Return the check of the budget of all agents."""
        facts = {**self._facts, "name": limit}
        if self.left * 100 < self._limit * SPENT_PERCENT or self._limit <= 0:
            return findings.problem("spending", "day_spent", **facts)
        if self.left * 100 < self._limit * LOW_PERCENT:
            return findings.warning("spending", "day_low", **facts)
        return findings.well("spending", "day_left", **facts)

    def check_agent(self, findings: Findings, name: str, agent: str, *, own: bool) -> Check:
        """Return the check of an agent's budget, of which little is left; `own` is its own."""
        facts = {**self._facts, "agent": name, "who": agent}
        is_spent = self.left * 100 < self._limit * SPENT_PERCENT or self._limit <= 0
        key = ("own_day" if own else "agent_day") + ("_spent" if is_spent else "_low")
        make = findings.problem if is_spent else findings.warning
        return make("spending", key, **facts)


def _until_tomorrow(now: datetime) -> int:
    """Return the hours until the next day begins in UTC, rounded up."""
    here = now.astimezone(UTC)
    tomorrow = here.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return -(-int((tomorrow - here).total_seconds()) // 3_600)
