"""The turn journal on SQLite: each method one transaction."""

from datetime import datetime, timedelta

from pydantic import TypeAdapter

from opencrab.adapters.sqlite import board as boards
from opencrab.adapters.sqlite import counters
from opencrab.adapters.sqlite import usage as ledger
from opencrab.adapters.sqlite.database import AlreadyThere, Database, Items, milliseconds
from opencrab.adapters.sqlite.documents import write_facts
from opencrab.adapters.sqlite.outbox import put_due
from opencrab.domain.conversation.line import Instruction, Line
from opencrab.domain.conversation.session import Session, SessionChange, SessionStatus
from opencrab.domain.document import Fact
from opencrab.domain.errors import Conflict, NotFound, Stopped, Superseded
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.record import ApprovalDecision, ApprovalRequest, Record, record_key
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.ports.turn.journal import Admission, Boundary, Change, Recorded

RETENTION = timedelta(days=35)
INSTRUCTION_LIFE = RETENTION

_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


class SqliteJournal:
    """`ports.journal.Journal` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def admit(self, admission: Admission) -> tuple[Turn, ...]:
        with self._database.writing() as items:
            marker = items.get(f"MESSAGE#{admission.message_id}", "M")
            if marker is not None:
                return self._admitted_before(items, admission, marker)
            _require_active(items, admission.line.session_id)
            line = _append(items, (admission.line,))[0]
            turns = tuple(
                turn.replaced(trigger_line=line.sequence, group=line.group)
                for turn in admission.turns
            )
            for turn in turns:
                try:
                    put_turn(items, turn, absent=True)
                except AlreadyThere as error:
                    raise Conflict(f"turn {turn.id!r} was admitted with another message") from error
            body = f"{admission.body_hash} {' '.join(turn.id for turn in turns)}"
            expires = milliseconds(admission.line.at + RETENTION)
            items.put(f"MESSAGE#{admission.message_id}", "M", body, absent=True, expires_at=expires)
            return turns

    def open(self, turn: Turn) -> Turn:
        with self._database.writing() as items:
            try:
                put_turn(items, turn, absent=True)
            except AlreadyThere:
                return turn_in(items, turn.id)
            return turn

    def claim(self, turn_id: str, *, lease_until: datetime, receipt: str | None) -> Recorded | None:
        with self._database.writing() as items:
            turn = turn_in(items, turn_id)
            if turn.status.is_end or turn.status is TurnStatus.WAITING:
                return None
            turn = turn.claimed(lease_until=lease_until, receipt=receipt)
            put_turn(items, turn)
            records = records_in(items, turn_id) if turn.sequence > 1 else ()
            return Recorded(turn, records)

    def commit(self, change: Change) -> Turn:
        turn = change.turn
        with self._database.writing() as items:
            stored = turn_in(items, turn.id)
            _check(stored, change)
            for draw in change.draws:
                boards.draw(items, draw)
            write_facts(items, change.facts)
            try:
                _put_new(items, change)
            except AlreadyThere as error:
                raise Superseded(f"turn {turn.id!r} has this record already") from error
            _append(items, change.lines)
            for item in change.due:
                put_due(items, item)
            if change.session is not None and change.at is not None:
                _change_session(items, turn.session_id, change.session, change.at)
            turn = turn.replaced(stop=stored.stop)
            put_turn(items, turn, before=stored.status)
            return turn

    def load(self, turn_id: str) -> Recorded:
        with self._database.reading() as items:
            rows = dict(items.between(f"TURN#{turn_id}", "0", "I"))
        header = rows.pop("H", None)
        if header is None:
            raise NotFound(f"there is no turn {turn_id!r}")
        records = tuple(_RECORD.validate_json(body) for body in rows.values())
        return Recorded(Turn.model_validate_json(header), records)

    def header(self, turn_id: str) -> Turn:
        with self._database.reading() as items:
            return turn_in(items, turn_id)

    def boundary(self, turn: Turn) -> Boundary:
        with self._database.snapshot() as items:
            scopes = (INSTALLATION, turn.agent_id)
            low = f"{turn.trigger_line + 1:010d}"
            rows = items.between(f"INBOX#{turn.session_id}", low, ":")
            board = boards.read(items)
            return Boundary(
                frozen=next((scope for scope in scopes if boards.is_frozen(items, scope)), None),
                instructions=tuple(Instruction.model_validate_json(body) for _, body in rows),
                limits=board.limits,
                health=board.health,
                settings_version=board.settings_version,
            )

    def instruct(self, instruction: Instruction, line: Line) -> Instruction:
        with self._database.writing() as items:
            marker = items.get(f"MESSAGE#{instruction.id}", "M")
            if marker is not None:
                body = items.get(f"INBOX#{instruction.session_id}", marker)
                return Instruction.model_validate_json(body) if body else instruction
            _require_active(items, instruction.session_id)
            sequence = _append(items, (line,))[0].sequence
            placed = instruction.replaced(line=sequence)
            expires = milliseconds(instruction.at + INSTRUCTION_LIFE)
            items.put(
                f"INBOX#{instruction.session_id}",
                f"{sequence:010d}",
                placed.model_dump_json(),
                expires_at=expires,
            )
            items.put(f"MESSAGE#{instruction.id}", "M", f"{sequence:010d}", expires_at=expires)
            return placed

    def stop(self, turn_id: str, stop: Stop) -> Turn:
        with self._database.writing() as items:
            turn = turn_in(items, turn_id)
            if turn.status.is_end or _stays(turn.stop, stop):
                return turn
            turn = turn.replaced(stop=stop)
            if not stop.pause:
                turn = _queued(turn)
            put_turn(items, turn)
            return turn

    def resume(self, turn_id: str) -> Turn:
        with self._database.writing() as items:
            turn = turn_in(items, turn_id)
            if turn.status.is_end or turn.stop is None or not turn.stop.pause:
                return turn
            turn = _queued(turn.replaced(stop=None))
            put_turn(items, turn)
            return turn

    def decide(self, turn_id: str, decision: ApprovalDecision, *facts: Fact) -> Turn:
        with self._database.writing() as items:
            turn = turn_in(items, turn_id)
            asked = [r for r in records_in(items, turn_id) if isinstance(r, ApprovalRequest)]
            if (
                turn.status is not TurnStatus.WAITING
                or not asked
                or (asked[-1].n, asked[-1].call_id) != (decision.n, decision.call_id)
                or asked[-1].argument_hash != decision.argument_hash
            ):
                raise Conflict(
                    f"turn {turn_id!r} does not wait for this decision",
                    cure="read the turn again: it may have been decided or stopped already",
                )
            write_facts(items, facts)
            items.put(
                f"TURN#{turn_id}", record_key(decision), decision.model_dump_json(), absent=True
            )
            turn = _queued(turn)
            put_turn(items, turn)
            return turn

    def lines(
        self,
        session_id: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Line, ...]:
        with self._database.reading() as items:
            high = "L$" if before is None else f"L#{before:010d}"
            rows = items.between(
                f"SESSION#{session_id}",
                f"L#{after + 1:010d}",
                high,
                limit=limit,
                newest_first=newest_first,
            )
        return tuple(Line.model_validate_json(body) for _, body in rows)

    def overdue(self, now: datetime, limit: int) -> tuple[Turn, ...]:
        with self._database.reading() as items:
            bodies = items.overdue("turn", milliseconds(now), limit)
        return tuple(Turn.model_validate_json(body) for body in bodies)

    def extend(self, turn: Turn, lease_until: datetime) -> bool:
        with self._database.writing() as items:
            stored = turn_in(items, turn.id)
            same = (turn.epoch, turn.status, turn.lease_until)
            if (stored.epoch, stored.status, stored.lease_until) != same:
                return False
            later = stored.replaced(lease_until=lease_until)
            put_turn(items, later, before=stored.status)
            return True

    def _admitted_before(self, items: Items, admission: Admission, marker: str) -> tuple[Turn, ...]:
        body_hash, *turn_ids = marker.split(" ")
        if body_hash != admission.body_hash:
            raise Conflict(
                "this id was already used for another message",
                field="Idempotency-Key",
                cure="use a new id for a new message",
            )
        return tuple(turn_in(items, turn_id) for turn_id in turn_ids)


def turn_in(items: Items, turn_id: str) -> Turn:
    """A turn's header; raises NotFound."""
    body = items.get(f"TURN#{turn_id}", "H")
    if body is None:
        raise NotFound(f"there is no turn {turn_id!r}")
    return Turn.model_validate_json(body)


def records_in(items: Items, turn_id: str) -> tuple[Record, ...]:
    """A turn's records in order of their keys."""
    rows = items.between(f"TURN#{turn_id}", "0", ":")
    return tuple(_RECORD.validate_json(body) for _, body in rows)


def put_turn(
    items: Items, turn: Turn, *, absent: bool = False, before: TurnStatus | None = None
) -> None:
    """Write a header; the feed tells of it when its status is another than before."""
    alive = turn.status in {TurnStatus.QUEUED, TurnStatus.RUNNING}
    due = ("turn", milliseconds(turn.lease_until)) if alive and turn.lease_until else None
    items.put(f"TURN#{turn.id}", "H", turn.model_dump_json(), absent=absent, due=due)
    if turn.ended_at is not None:
        items.expire(f"TURN#{turn.id}", milliseconds(turn.ended_at + RETENTION))
    if turn.status is not before:
        moment = turn.ended_at or turn.lease_until or turn.created_at
        items.feed(milliseconds(moment), "turn", turn.session_id, turn.id, turn.status.value)


def _put_new(items: Items, change: Change) -> None:
    """Records, utterances and usage of a change, none of which may be there already."""
    for record in change.records:
        body = record.model_dump_json()
        items.put(f"TURN#{change.turn.id}", record_key(record), body, absent=True)
    for utterance in change.utterances:
        items.put(
            f"OUT#{utterance.channel.target}",
            utterance.key,
            utterance.model_dump_json(),
            absent=True,
            due=("outbox", milliseconds(utterance.updated_at)),
        )
    for row in change.usage:
        ledger.put_new(items, row)
        counters.count(items, row)


def _check(stored: Turn, change: Change) -> None:
    turn = change.turn
    if (
        stored.epoch != turn.epoch
        or stored.sequence != change.expected
        or stored.status is not TurnStatus.RUNNING
    ):
        raise Superseded(f"turn {turn.id!r} has moved on without this worker")
    if change.unless_stopped and stored.stop is not None:
        raise Stopped(f"turn {turn.id!r} was asked to stop by {stored.stop.by!r}")
    if change.while_paused and stored.stop != turn.stop:
        raise Stopped(f"turn {turn.id!r} is not paused any more")


def _stays(wish: Stop | None, newer: Stop) -> bool:
    """Whether a wish stays: the first one does, but a stop replaces a pause."""
    return wish is not None and (newer.pause or not wish.pause)


def _queued(turn: Turn) -> Turn:
    """The turn as it is, or queued again if it waits."""
    return turn.replaced(status=TurnStatus.QUEUED) if turn.status is TurnStatus.WAITING else turn


def _append(items: Items, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    if not lines:
        return ()
    pk = f"SESSION#{lines[0].session_id}"
    last = items.between(pk, "L#", "L$", limit=1, newest_first=True)
    sequence = int(last[0][0][2:]) if last else 0
    placed = []
    for line in lines:
        sequence += 1
        opened = line.group_line if line.group_line is not None else sequence
        stored = line.replaced(sequence=sequence, group_line=opened)
        body = stored.model_dump_json()
        items.put(pk, f"L#{sequence:010d}", body, absent=True)
        items.feed(milliseconds(line.at), "line", line.session_id, line.turn_id, body)
        placed.append(stored)
    return tuple(placed)


def _require_active(items: Items, session_id: str) -> None:
    body = items.get(f"SESSION#{session_id}", "S")
    if body is None:
        raise NotFound(f"there is no session {session_id!r}")
    if Session.model_validate_json(body).status is SessionStatus.ENDED:
        raise Conflict(f"session {session_id!r} has ended", cure="create a new session")


def _change_session(items: Items, session_id: str, change: SessionChange, now: datetime) -> None:
    body = items.get(f"SESSION#{session_id}", "S")
    if body is None:
        raise NotFound(f"there is no session {session_id!r}")
    session = Session.model_validate_json(body).after(change, now)
    items.put(f"SESSION#{session_id}", "S", session.model_dump_json(), listing="session")
