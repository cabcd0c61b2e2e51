"""One change of a turn as one transaction, and what it means when it is cancelled."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from opencrab.adapters.dynamodb import document as fact_items
from opencrab.adapters.dynamodb import due_item as due_items
from opencrab.adapters.dynamodb.conversation import line as line_items
from opencrab.adapters.dynamodb.conversation import session as sessions
from opencrab.adapters.dynamodb.conversation import utterance as utterances
from opencrab.adapters.dynamodb.conversation.session import CountedSession
from opencrab.adapters.dynamodb.money import budget_item as budgets
from opencrab.adapters.dynamodb.table import Cancelled, Write, put_item
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.adapters.dynamodb.turn import record as records
from opencrab.adapters.dynamodb.usage import counters as tallies
from opencrab.adapters.dynamodb.usage import ledger
from opencrab.domain.errors import Stopped, Superseded
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.ports.documents import stale_document_error
from opencrab.ports.turn.journal import TurnChange

if TYPE_CHECKING:
    from opencrab.adapters.dynamodb.money.lease import LeasedDraws

HEADER = 0


class Writes:
    """The transaction of a turn's change, given the known stop and the known session counts.

    The header comes first, then draws, the budget lease, documents and session; all others are put
    if absent, except counters. `calls_kept` says when ledger rows expire.
    """

    def __init__(
        self,
        change: TurnChange,
        after: Turn,
        known: CountedSession | None,
        *,
        calls_kept: timedelta | None = None,
        leased: "LeasedDraws | None" = None,
    ) -> None:
        self._change = change
        self._after = after
        self._known = known
        self._calls_kept = calls_kept
        self._draws = change.draws if leased is None else leased.direct
        self._lease_write = None if leased is None else leased.write
        self.draws = range(1, 1 + len(self._draws))
        self._lease = self.draws.stop
        facts = self._lease + (self._lease_write is not None)
        self.facts = range(facts, facts + len(change.facts))
        self.session = self.facts.stop
        self.grown = None if known is None else _advance_counts(change, known)

    def all(self) -> tuple[Write, ...]:
        """Return every write, in the order in which a cancellation numbers them."""
        return tuple(self._all())

    def judge(self, refusal: Cancelled) -> Stop | None:
        """Return the stored stop if the transaction may be retried with it.

        Raises Superseded, Stopped, Exhausted, Changed or NotFound if a retry cannot help, and
        LeaseReturned if the draws must be planned anew.
        """
        # The header is judged first: to a worker that has lost its turn nothing else matters.
        stop = self._judged_header(refusal) if HEADER in refusal.failed else self._after.stop
        for draw, place in zip(self._draws, self.draws, strict=True):
            if place in refusal.failed:
                raise budgets.refused_dynamodb_draw_error(draw, refusal.failed[place])
        for fact, place in zip(self._change.facts, self.facts, strict=True):
            if place in refusal.failed:
                raise stale_document_error(fact)
        # Where the counter was guessed wrong, lines meet those of others: then their refusal says
        # nothing of this change, and neither does that of a record beside it (ADR 0010).
        wrong = refusal.failed.keys() | refusal.unknown
        guessed = self._known is not None and self.session in wrong
        new = self.session + (self._known is not None)
        if not guessed and any(place >= new for place in refusal.failed):
            raise Superseded(f"turn {self._after.id!r} has this record already")
        if self._lease_write is not None and self._lease in refusal.failed:
            raise budgets.LeaseReturned(refusal.failed[self._lease])
        return stop

    def _judged_header(self, refusal: Cancelled) -> Stop | None:
        item = refusal.failed[HEADER]
        if item is None:
            raise headers.no_turn_in_dynamodb_error(self._after.id)
        stored = headers.turn_from_dynamodb_item(item)
        if (
            stored.epoch != self._after.epoch
            or stored.sequence != self._change.expected
            or stored.status is not TurnStatus.RUNNING
        ):
            raise Superseded(f"turn {stored.id!r} is owned by another worker")
        if self._change.unless_stopped and stored.stop is not None:
            raise Stopped(
                f"turn {stored.id!r} was stopped; cancellation requested by {stored.stop.by!r}"
            )
        if self._change.while_paused and stored.stop != self._change.turn.stop:
            raise Stopped(f"turn {stored.id!r} is no longer paused")
        # Still ours, but for a stop that this worker did not know: it tries again (ADR 0009).
        return stored.stop

    def _all(self) -> Iterator[Write]:
        # A cancellation names places only: this order is what `draws`, `facts` and `session` say.
        change, turn = self._change, self._after
        at = change.at or turn.created_at
        stopped = change.unless_stopped
        owned = headers.dynamodb_turn_owner_condition(turn, change.expected, unless_stopped=stopped)
        # Put whole: of what others write meanwhile only `stop` must not be lost, and the condition
        # holds it (ADR 0009).
        yield put_item(headers.turn_to_dynamodb_item(turn), owned)
        for draw in self._draws:
            yield budgets.dynamodb_budget_draw_write(draw, at)
        if self._lease_write is not None:
            yield self._lease_write
        yield from fact_items.dynamodb_document_writes(change.facts)
        if self._known is not None and self.grown is not None:
            yield sessions.dynamodb_session_update(self._known, self.grown)
            yield from map(
                line_items.put_line_in_dynamodb,
                line_items.number_dynamodb_lines(change.lines, self._known.lines),
            )
        yield from self._new(at)

    def _new(self, at: datetime) -> Iterator[Write]:
        change = self._change
        # Put if absent: a step is recorded once, however often it is carried out (ADR 0004).
        for record in change.records:
            yield records.put_record_in_dynamodb(self._after.id, record, at)
        yield from map(utterances.put_utterance_in_dynamodb, change.utterances)
        yield from map(due_items.put_new_due_item, change.due)
        yield from (ledger.put_usage_row_in_dynamodb(row, self._calls_kept) for row in change.usage)
        yield from tallies.dynamodb_usage_counter_writes(change.usage)


def _advance_counts(change: TurnChange, known: CountedSession) -> CountedSession:
    session = known.session
    if change.session is not None and change.at is not None:
        session = session.after_turn(change.session, change.at)
    return known.grown(len(change.lines), session)
