"""Tallies, for reading; they are counted in the transactions that write the ledger's rows."""

from typing import Protocol

from opencrab.domain.usage.counters import DailyTally


class Tallies(Protocol):
    """Counts per agent, day and cell. Only the journal writes them."""

    def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        """Return an agent's tallies from one day to another, both included, by day.

        Days are those of UTC, like 2026-11-22.
        """

    def active_agents(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        """Return ids of agents that called a model on a day, sorted, after the given one."""
