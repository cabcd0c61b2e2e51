"""Tallies, for reading; they are counted in the transactions that write the ledger's rows."""

from collections.abc import Iterable
from typing import Protocol

from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import UsageRow


class Tallies(Protocol):
    """Counts per agent, day and cell, written with the ledger's rows and kept for ever."""

    def between(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        """Return an agent's tallies from one day to another, both included, by day.

        Days are those of UTC, like 2026-11-22.
        """

    def totals(self, agent_id: str, first: str, last: str) -> tuple[DailyTally, ...]:
        """Return the same as `between`, without hours, which are most of what there is to read."""

    def recount(self, agent_id: str, day: str, rows: Iterable[UsageRow]) -> tuple[DailyTally, ...]:
        """Count a day anew from all its ledger rows, and return its tallies without hours.

        `rows` is read after what is counted. If calls are counted meanwhile, the stored tallies
        stay as they are.
        """

    def active_agents(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        """Return ids of agents that called a model on a day, sorted, after the given one."""
