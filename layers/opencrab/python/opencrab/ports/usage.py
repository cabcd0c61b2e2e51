"""The usage ledger, for reading; its rows are written with the results that they account for."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.usage import UsageRow


class UsageLedger(Protocol):
    """Rows per agent, by time; none is ever changed but by whoever judges its answer."""

    def rows(
        self,
        agent_id: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        after: str | None = None,
        limit: int = 100,
        oldest_first: bool = False,
    ) -> tuple[UsageRow, ...]:
        """Rows with since <= at < until, newest first unless they are wanted the other way round.

        `after` is the id of the last one seen, in either direction.
        """

    def row(self, agent_id: str, row_id: str) -> UsageRow:
        """One row; raises NotFound."""
