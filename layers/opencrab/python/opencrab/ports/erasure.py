"""Eraser: takes words out of what is otherwise never changed: lines, turns and what they left."""

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from opencrab.domain.errors import Conflict
from opencrab.domain.turn.record import Record
from opencrab.domain.turn.turn import Turn

if TYPE_CHECKING:
    from opencrab.domain.conversation.message import Line
    from opencrab.domain.erasure.stored_text import StoredTextFilter


class RemainingCopy(StrEnum):
    """Copies of erased data that stay for a while, or until their owner removes them."""

    BACKUPS = "backups"
    """Copies of the data that somebody made."""
    FILE_VERSIONS = "file_versions"
    """Older versions of files that no stored turn is known to have written."""
    DYNAMODB_BACKUPS = "dynamodb_backups"
    """Point-in-time recovery, which ends by itself, and backups on demand."""
    S3_VERSIONS = "s3_versions"
    """Older versions of such files in the bucket, and its replicas and backups."""


class ScannedLines(NamedTuple):
    """A session's lines that pass a filter, and the number of the last line that was tested."""

    session_id: str
    last: int
    lines: "tuple[Line, ...]"


class StoredTextScan(Protocol):
    """Reads what passes a filter, without building what does not. Other writers go on meanwhile."""

    def moment(self) -> int:
        """Return a number that grows with each document that is stored; at least 1."""

    def documents(
        self, owner: str, kind: str, words: "StoredTextFilter", *, since: int = 0
    ) -> Iterator[str]:
        """Yield the ids of stored documents of a kind that can match, in order.

        Those that were not stored after `since`, an earlier moment, may be left out.
        """

    def lines(self, after: Mapping[str, int], words: "StoredTextFilter") -> Iterator[ScannedLines]:
        """Yield parts of sessions, named in `after`, behind a line of each: agents' lines."""


class Eraser(Protocol):
    """Permanent erasure in one store. All methods may be repeated, also after a crash."""

    @property
    def out_of_reach(self) -> tuple[RemainingCopy, ...]:
        """The copies of erased data that this store cannot remove."""

    @property
    def scan(self) -> StoredTextScan | None:
        """A quick way through everything that is stored; None for a store that has none."""

    def redact(self, session_id: str, sequences: Collection[int]) -> None:
        """Replace lines by `Line.without_content`, in the order given.

        Numbers stay gapless, so that readers with a cursor and histories stay valid. If a line
        instructed running turns, the instruction is erased too; a repeat of it is still detected.
        Numbers without a line are ignored.
        """

    def strip_session(self, session_id: str) -> None:
        """Remove a session's name, theme and creator; participants and counters stay."""

    def turns_of(self, *groups: str) -> Mapping[str, tuple[str, ...]]:
        """Return the turns started by the messages of these groups, as far as still stored."""

    def records_of(self, turn_id: str) -> tuple[Record, ...]:
        """Return a turn's stored records, even if its header is gone."""

    def erase_turn(self, turn_id: str) -> None:
        """Remove an ended turn's records and utterances; its header becomes `Turn.without_content`.

        The header still detects a repeat of the turn's message. The caller removes bodies in the
        blob store before. Raises Conflict for a turn that has not ended.
        """

    def drop_letters(self, person_id: str) -> None:
        """Remove dead letters of a person of Discord or LINE, or that mention them, from here."""

    def scrub_storage(self) -> None:
        """Remove erased data from the medium itself, as far as this store controls it."""


def erasure_not_ended(turn: Turn) -> Conflict:
    """Build the Conflict error for a turn that has not ended: it could write erased data again."""
    return Conflict(
        f"turn {turn.id!r} has not ended: it is {turn.status.value}",
        cure="stop it first, then repeat the erasure",
    )
