"""Tallies, for reading; they are counted in the transactions that write the ledger's rows."""

from typing import Protocol

from opencrab.domain.usage.counters import DailyTally


class Tallies(Protocol):
    """Counts per agent, day and cell. Nobody writes them but the journal."""

    def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        """An agent's tallies from one day to another, both included, by day.

        Days are those of UTC, like 2026-11-22.
        """

    def active(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        """Agents that called a model on a day, in order of their ids, after the given one."""
