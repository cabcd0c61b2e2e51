"""The usage ledger, for reading; its rows are written with the results that they account for."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.usage.ledger import Judgement, UsageRow


class UsageLedger(Protocol):
    """Rows per agent, by time; none is changed but by who judges its answer and who forgets it."""

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

    def judge(self, agent_id: str, row_id: str, judgement: Judgement) -> UsageRow:
        """Keep what an agent thinks of its own answer, once; the same again changes nothing.

        Raises NotFound for a row that is not this agent's, and Conflict for another opinion.
        """

    def redact_evaluation(self, agent_id: str, row_id: str) -> None:
        """Put `UsageRow.without_evaluation` in the place of a row; raises NotFound."""
