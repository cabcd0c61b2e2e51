"""Erasure of turns and lines: removes dependent data first, and reports files that turns wrote."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeVar

from opencrab.domain.approvals.approval import DECIDED, OPEN
from opencrab.domain.client_tools import CLIENT_CALLS, CLIENT_TOOLS, id_of_client_calls
from opencrab.domain.conversation.message import Line
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.erasure.request import MARKS_KEPT, ErasureRequest
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.identifier import stable_id
from opencrab.domain.turn.action import FileWritten
from opencrab.domain.turn.record import (
    ApprovalRequest,
    BlobPointer,
    CallResult,
    Record,
)
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import is_usage_row_id
from opencrab.domain.value import Value
from opencrab.engine.approvals.approvals import approval_id
from opencrab.engine.erasure.file_versions import mark_file_forgotten
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.large_result import is_file_of_turn_result
from opencrab.ports.erasure import erasure_not_ended
from opencrab.ports.home import Home
from opencrab.ports.paging import paginate
from opencrab.ports.turn.blobs import Blobs
from opencrab.ports.turn.journal import Journal, resolve_record_pointers
from opencrab.ports.workspace.files import Files

REMAINS = "remains"
"""The kind of document that lists data for an owner to review after an erasure."""

_NAMED = 500
_ROWS = 500
_AROUND = timedelta(hours=6)
"""The longest time between a turn's lines and the end of its calls."""

Part = TypeVar("Part")


class RemainingData(Value):
    """Related data that is not removed and that an owner must review.

    Each entry is `AGENT_ID:NAME`, for files `AGENT_ID:PATH`.
    """

    files: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()


class TurnErasure:
    """The erasures of one call; `lines` and `turns` count what it has erased."""

    def __init__(self, runtime: Runtime, agent_id: str, wish: ErasureRequest) -> None:
        self._runtime = runtime
        self._agent_id = agent_id
        self._key = stable_id("forget", wish.model_dump_json())
        self.lines = 0
        self.turns = 0

    def erase_lines(
        self, session_id: str, numbers: tuple[int, ...], turns: tuple[str, ...]
    ) -> bool:
        """Erase some lines of a session, after the turns that they lead to."""
        self._old_judgements(session_id, numbers, turns)
        for turn_id in turns:
            self.erase_turn(turn_id)
        self._runtime.home.eraser.redact(session_id, numbers)
        self.lines += len(numbers)
        return True

    def apply_change(self, change: Document) -> bool:
        """Write a change of an agent's stored data, or its removal."""
        self._runtime.home.facts.commit(change)
        return True

    def erase_session_words(self, session_id: str) -> bool:
        """Remove the words with which a session was opened."""
        self._runtime.home.eraser.strip_session(session_id)
        return True

    def erase_turn(self, turn_id: str) -> bool:
        """Erase a turn with its dependent data; return False if that was done before.

        Raises Conflict for a turn that has not ended.
        """
        home, header = (
            self._runtime.home,
            find_turn_header_for_erasure(self._runtime.home.journal, turn_id),
        )
        if header is not None and header.is_erased:
            return False
        if header is not None and not header.status.is_end:
            raise erasure_not_ended(header)
        records = home.eraser.records_of(turn_id)
        if header is None and not records:
            return False
        self._files(turn_id)
        if header is not None:
            self._approvals(header, records)
            self._client_tools(header, records)
            self._judgements(header, records)
        for record in records:
            if isinstance(record, BlobPointer):
                home.blobs.remove(record.sha256)
        home.eraser.erase_turn(turn_id)
        self.turns += 1
        return True

    def data_to_review(self) -> RemainingData:
        """Return the data for review that all calls of this request have found."""
        stored = self._runtime.home.facts.get(self._agent_id, REMAINS, self._key)
        return stored.read(RemainingData) if stored else RemainingData()

    def record_remaining(
        self,
        *,
        files: tuple[str, ...] = (),
        skills: tuple[str, ...] = (),
        schedules: tuple[str, ...] = (),
    ) -> None:
        """Store references for review, before the data by which they were found is removed."""
        before = self.data_to_review()
        after = RemainingData(
            files=_more(before.files, files),
            skills=_more(before.skills, skills),
            schedules=_more(before.schedules, schedules),
        )
        if after == before:
            return
        until = self._runtime.clock.now() + MARKS_KEPT
        fact = new_fact(self._agent_id, REMAINS, self._key, after, expires_at=until)
        self._runtime.home.facts.commit(fact.replaced(version=0))

    def _files(self, turn_id: str) -> None:
        """Delete the files with the turn's stored results; report those that it wrote itself.

        The older versions of all of them are deleted, also of files that no longer exist.
        """
        home = self._runtime.home
        named = tuple(files_written_by_erased_turn(home, turn_id))
        made = [each for each in named if is_file_of_turn_result(each.partition(":")[2], turn_id)]
        for each in named:
            agent_id, _, path = each.partition(":")
            if each in made:
                with suppress(NotFound):
                    home.files.delete(agent_id, path)
            else:
                mark_file_forgotten(self._runtime, agent_id, path)
            home.files.delete_versions(agent_id, path)
        self.record_remaining(files=tuple(each for each in named if each not in made))

    def _judgements(self, turn: Turn, records: Iterable[Record]) -> None:
        """Remove the words of evaluations of this turn's answers, and of those that it made."""
        until = (turn.ended_at or turn.created_at) + _AROUND
        self._unsay(turn.agent_id, {turn.id}, turn.created_at, until)
        for record in _readable(self._runtime.home.blobs, records):
            judged = _judged_in(record)
            if judged:
                with suppress(NotFound):
                    self._runtime.home.usage.redact_evaluation(turn.agent_id, judged)

    def _old_judgements(
        self, session_id: str, numbers: tuple[int, ...], turns: tuple[str, ...]
    ) -> None:
        """Remove evaluations of expired turns: a call's row in the ledger outlives its turn."""
        old = {
            turn_id
            for turn_id in turns
            if find_turn_header_for_erasure(self._runtime.home.journal, turn_id) is None
        }
        if not old:
            return
        lines = _lines(self._runtime.home.journal, session_id, min(numbers), max(numbers))
        said = [line for line in lines if line.turn_id in old]
        for agent_id in {line.speaker_id for line in said}:
            times = [line.at for line in said if line.speaker_id == agent_id]
            self._unsay(agent_id, old, min(times) - _AROUND, max(times) + _AROUND)

    def _unsay(self, agent_id: str, turns: set[str], since: datetime, until: datetime) -> None:
        """Remove the words of evaluations of these turns' answers."""
        usage = self._runtime.home.usage
        for row in paginate(usage.rows, agent_id, limit=_ROWS, since=since, until=until):
            if row.turn_id in turns and row.self_evaluation:
                usage.redact_evaluation(agent_id, row.id)

    def _approvals(self, turn: Turn, records: Iterable[Record]) -> None:
        """Delete the turn's approvals, which contain the words of its requests."""
        facts = self._runtime.home.facts
        asked = (each for each in records if isinstance(each, ApprovalRequest))
        for fact_id in [approval_id(turn, each.n) for each in asked]:
            for kind in (OPEN, DECIDED):
                stored = facts.get(INSTALLATION_FACTS, kind, fact_id)
                if stored is not None:
                    facts.commit(stored.removed())

    def _client_tools(self, turn: Turn, records: Iterable[Record]) -> None:
        """Delete what the turn's client offered, and what its tools returned."""
        facts = self._runtime.home.facts
        asked = [each.n for each in records if isinstance(each, ApprovalRequest)]
        places = [(CLIENT_CALLS, id_of_client_calls(turn.id, n)) for n in asked]
        for stored in facts.get_many(turn.agent_id, (CLIENT_TOOLS, turn.id), *places):
            if stored.body is not None:
                facts.commit(stored.removed())


def files_written_by_erased_turn(home: Home, turn_id: str) -> Iterator[str]:
    """Yield the files that a turn wrote, as far as its header and records still exist."""
    header = find_turn_header_for_erasure(home.journal, turn_id)
    if header is None:
        return
    for record in _readable(home.blobs, home.eraser.records_of(turn_id)):
        if isinstance(record, CallResult):
            for effect in record.result.side_effects:
                if isinstance(effect, FileWritten):
                    yield f"{header.agent_id}:{effect.path}"


def files_remaining_after_erasure(files: Files, named: Iterable[str]) -> Iterator[str]:
    """Yield those of the files that still exist."""
    for each in named:
        agent_id, _, path = each.partition(":")
        try:
            exists = files.info(agent_id, path) is not None
        except Invalid:
            # In a folder of the owner that is not there for now.
            exists = True
        if exists:
            yield each


def find_turn_header_for_erasure(journal: Journal, turn_id: str) -> Turn | None:
    """Return a turn's header, or None when it has expired."""
    try:
        return journal.header(turn_id)
    except NotFound:
        return None


def erasure_batches(whole: Sequence[Part], size: int) -> Iterator[tuple[Part, ...]]:
    """Split a sequence into parts of a size; the last one may be smaller."""
    for start in range(0, len(whole), size):
        yield tuple(whole[start : start + size])


def _readable(blobs: Blobs, records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        try:
            yield from resolve_record_pointers((record,), blobs)
        except NotFound:
            # Whoever began to erase this turn has removed its body, and named its files before.
            continue


def _lines(journal: Journal, session_id: str, first: int, last: int) -> Iterator[Line]:
    after = first - 1
    while after < last:
        page = journal.lines(session_id, after=after, limit=_ROWS)
        yield from (line for line in page if line.sequence <= last)
        after = page[-1].sequence if page else last


def _judged_in(record: Record) -> str:
    """Return the metrics id of the answer that a call evaluated; "" for another record."""
    told = record.result.data or {} if isinstance(record, CallResult) else {}
    judged = told.get("metrics_id")
    return judged if isinstance(judged, str) and is_usage_row_id(judged) else ""


def _more(before: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*before, *new)))[:_NAMED]
