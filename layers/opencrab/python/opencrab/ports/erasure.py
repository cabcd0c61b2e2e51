"""Eraser: takes words out of what is otherwise never changed: lines, turns and what they left."""

from collections.abc import Collection, Mapping
from typing import Protocol

from opencrab.domain.errors import Conflict
from opencrab.domain.turn.record import Record
from opencrab.domain.turn.turn import Turn


class Eraser(Protocol):
    """Erases for good. Everything here may be repeated, and whoever died in between repeats it."""

    def redact(self, session_id: str, sequences: Collection[int]) -> None:
        """Put `Line.erased` in the place of lines, in the order given.

        Numbers stay gapless, so that readers with a cursor and histories stay sound. Of a line that
        instructed running turns the instruction goes too; the same one again is still known.
        Numbers of no line are passed over.
        """

    def strip_session(self, session_id: str) -> None:
        """Take a session's name, theme and maker away; who takes part and its counters stay."""

    def turns_of(self, *groups: str) -> Mapping[str, tuple[str, ...]]:
        """The turns that the messages of these groups became, as far as anybody still knows."""

    def records_of(self, turn_id: str) -> tuple[Record, ...]:
        """What is still kept of a turn's records, though its header may be gone."""

    def erase_turn(self, turn_id: str) -> None:
        """Remove an ended turn's records and utterances, and leave `Turn.erased` as its header.

        That the turn was sent before is still known by the header. Bodies that lie elsewhere are
        the caller's to remove, before. Raises Conflict for a turn that has not ended.
        """

    def drop_letters(self, person_id: str) -> None:
        """Remove what a person did on Discord, or was named in, that was given up and lies here."""

    def wipe(self) -> None:
        """Leave no byte of it in the medium itself, as far as that is in this store's hands."""


def erasure_not_ended(turn: Turn) -> Conflict:
    """A turn that still runs or waits would write again what is erased."""
    return Conflict(
        f"turn {turn.id!r} has not ended: it is {turn.status.value}",
        cure="stop it first, then repeat the erasure",
    )
