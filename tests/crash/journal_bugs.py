"""Seeded bugs of the journal: conditions dropped, writes swapped, money forgotten."""

from dataclasses import replace
from typing import Any, cast

from opencrab.adapters.sqlite.agents import sqlite_session_row
from opencrab.adapters.sqlite.database import Database, WriteBatch
from opencrab.domain.conversation.session import Session
from opencrab.domain.turn.record import (
    ActionIntent,
    CallState,
    ModelResult,
    Record,
    key_of_turn_record,
)
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.journal import AdmittedMessage, TurnChange
from tests.crash.over import BadAdapter, BadEngine, Over
from tests.crash.sqlite_ground import SqliteGround
from tests.crash.world import World


def file_of(world: World) -> Database:
    """The file that a world stands on."""
    ground = world.ground
    assert isinstance(ground, SqliteGround)
    return ground.database


class EpochForgotten(BadAdapter):
    """The condition on the epoch is dropped: a worker that was thought dead writes on."""

    name = "epoch condition dropped"
    scenarios = ("text", "long")
    caught_by = "sleep:text:12:0"

    class over(Over):  # noqa: N801 - stands for an attribute
        def commit(self, change: TurnChange) -> Turn:
            epoch = self.inner.load(change.turn.id).turn.epoch
            turn = change.turn.replaced(epoch=epoch)
            return cast(Turn, self.inner.commit(replace(change, turn=turn)))


class SequenceForgotten(BadAdapter):
    """Neither the sequence nor the absence of records is a condition: a change may come twice."""

    name = "sequence condition and put-if-absent dropped"
    scenarios = ("write", "long")
    caught_by = "echo:write:19"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            expected = self.inner.load(change.turn.id).turn.sequence
            with file_of(self.world).write_transaction() as items:
                for record in change.records:
                    items.delete(f"TURN#{change.turn.id}", key_of_turn_record(record))
            return cast(Turn, self.inner.commit(replace(change, expected=expected)))


class IntentSkipped(BadEngine):
    """An action runs without an intent."""

    name = "action intent skipped"
    scenarios = ("long",)

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            records = tuple(r for r in change.records if not isinstance(r, ActionIntent))
            return cast(Turn, self.inner.commit(replace(change, records=records)))


class ReservationReleased(BadEngine):
    """A crashed model call is settled as if it had cost nothing."""

    name = "crashed reservation released"
    scenarios = ("text",)
    caught_by = "random:text/1"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            turn, records = change.turn, list[Record]()
            for record in change.records:
                if isinstance(record, ModelResult) and record.state is CallState.UNKNOWN:
                    turn = turn.with_cost(reserved=record.cost, cost=0)
                    turn = turn.replaced(spent=turn.spent - record.cost)
                    records.append(record.replaced(cost=0))
                else:
                    records.append(record)
            return cast(Turn, self.inner.commit(replace(change, turn=turn, records=tuple(records))))


class SettlementForgotten(BadEngine):
    """The answer is saved and its reservation stays."""

    name = "settlement forgotten"
    scenarios = ("text", "write")

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            costs = [r.cost for r in change.records if isinstance(r, ModelResult)]
            turn = change.turn.replaced(spent=change.turn.spent - sum(costs))
            return cast(Turn, self.inner.commit(replace(change, turn=turn)))


class AllowanceKept(BadEngine):
    """Closing does not give the rest of the allowance back."""

    name = "allowance not returned"
    scenarios = ("text",)

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            if change.turn.status.is_end:
                change = replace(change, draws=())
            return cast(Turn, self.inner.commit(change))


class LimitIgnored(BadAdapter):
    """A block is drawn although the day's budget is used up."""

    name = "budget limit ignored"
    scenarios = ("poor",)
    caught_by = "random:poor/1"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            draws = tuple(draw.replaced(limit_micro_usd=10**12) for draw in change.draws)
            return cast(Turn, self.inner.commit(replace(change, draws=draws)))


class QueuedBeforeStored(BadEngine):
    """Admission sends the queue message before it stores the header."""

    name = "queued before the header is stored"
    scenarios = ("text", "three")
    caught_by = "random:three/0"

    class over(Over):  # noqa: N801
        def admit(self, admission: AdmittedMessage) -> tuple[Turn, ...]:
            if self.runtime is not None:
                for turn in admission.turns:
                    enqueue_turn(self.runtime.home, turn)
            return cast(tuple[Turn, ...], self.inner.admit(admission))


class StopIgnored(BadAdapter):
    """An intent is written although a stop was asked."""

    name = "stop ignored"
    scenarios = ("cancelled",)
    caught_by = "random:cancelled/5"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            return cast(Turn, self.inner.commit(replace(change, unless_stopped=False)))


class AcknowledgedTooEarly(BadEngine):
    """The queue message is finished before the turn is closed."""

    name = "acknowledged before the close"
    scenarios = ("two", "three")
    caught_by = "random:three/1"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            turn = change.turn
            if turn.status.is_end and turn.receipt and self.runtime is not None:
                self.runtime.home.turns.acknowledge(turn.receipt)
            return cast(Turn, self.inner.commit(change))


class ResultInHalves(BadEngine):
    """A speech's line and its result are two transactions."""

    name = "result in two transactions"
    scenarios = ("long", "silent")
    caught_by = "echo:long:45"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            if change.lines and change.turn.status is TurnStatus.RUNNING:
                before = self.inner.load(change.turn.id).turn.replaced(epoch=change.turn.epoch)
                first = TurnChange(turn=before, expected=change.expected, lines=change.lines)
                self.inner.commit(first)
                change = replace(change, lines=())
            return cast(Turn, self.inner.commit(change))


class UtteranceOutside(BadEngine):
    """An utterance is put into the outbox after the transaction of its speech."""

    name = "outbox outside the transaction"
    scenarios = ("pushed",)
    caught_by = "random:pushed/2"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            turn = cast(Turn, self.inner.commit(replace(change, utterances=())))
            with file_of(self.world).write_transaction() as items:
                for utterance in change.utterances:
                    items.put(
                        f"OUT#{utterance.channel.target}",
                        utterance.key,
                        utterance.model_dump_json(),
                        due=("outbox", utterance.updated_at),
                    )
            return turn


class BodyAfterPointer(BadEngine):
    """A large record's pointer is committed before its body is kept."""

    name = "pointer before body"
    scenarios = ("large",)
    caught_by = "random:large/0"

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            turn = cast(Turn, self.inner.commit(change))
            if self.runtime is not None:
                for digest, content in self.kept:
                    self.runtime.home.blobs.put(digest, content)
            self.kept.clear()
            return turn

    class blobs(Over):  # noqa: N801
        def put(self, sha256: str, content: bytes) -> None:
            self.journal.kept.append((sha256, content))

    def above(self, runtime: Runtime, world: World) -> Runtime:
        changed = super().above(runtime, world)
        journal: Any = changed.home.journal
        journal.kept = []
        blobs: Any = self.blobs(runtime.home.blobs, world)
        blobs.journal = journal
        return replace(changed, home=replace(changed.home, blobs=blobs))


class SessionChangedTwice(BadAdapter):
    """What a closing turn changes in its session is applied twice."""

    name = "session changed twice"
    scenarios = ("text",)

    class over(Over):  # noqa: N801
        def commit(self, change: TurnChange) -> Turn:
            turn = cast(Turn, self.inner.commit(change))
            if change.session is not None and change.at is not None:
                with file_of(self.world).write_transaction() as items:
                    body = items.get(f"SESSION#{turn.session_id}", "S")
                    session = Session.read(turn.session_id, body)
                    row = sqlite_session_row(session.after_turn(change.session, change.at))
                    items.write(WriteBatch(put=[row]))
            return turn
