"""The usage ledger, for reading; its rows are written with the results that they account for."""

from datetime import datetime
from typing import Protocol

from opencrab.domain.document import Document
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.usage.ledger import Judgement, Settlement, UsageRow


class UsageLedger(Protocol):
    """Ledger rows per agent, by time; only ratings, settlements and erasure change a row."""

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
        """Return rows with since <= at < until, newest first unless `oldest_first`.

        `after` is the id of the last one read, in either direction.
        """

    def row(self, agent_id: str, row_id: str) -> UsageRow:
        """Return one row; raises NotFound."""

    def judge(self, agent_id: str, row_id: str, judgement: Judgement) -> UsageRow:
        """Store an agent's rating of its own answer, once; the same rating again changes nothing.

        Raises NotFound for a row that is not this agent's, and Conflict for a different rating.
        """

    def settle(
        self,
        agent_id: str,
        row_id: str,
        settlement: Settlement,
        *,
        draws: tuple[BudgetDraw, ...] = (),
        facts: tuple[Document, ...] = (),
    ) -> UsageRow:
        """Replace a row by its `UsageRow.with_settlement`, with the corrections that follow.

        In the same transaction its day is counted anew, and draws and documents are written. The
        same settlement again changes nothing. Raises NotFound, Changed if a document is stored in
        another version, and what `with_settlement` raises.
        """

    def redact_evaluation(self, agent_id: str, row_id: str) -> None:
        """Replace a row by its `UsageRow.without_evaluation`; raises NotFound."""
