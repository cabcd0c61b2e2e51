"""Replies: waiting for what a message's turns have to say, without holding a thread."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.conversation.message import Line
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.conversation.live import VisibleKinds
from opencrab.gateways.rest.http.polling import NextChange
from opencrab.ports.turn.journal import Journal

_Told = TypeVar("_Told")

_READ = 100
_SLACK = timedelta(minutes=1)


class Replies:
    """A reader of the replies of one message's turns; it reads only lines that it has not read.

    With `after` it begins behind that line.
    """

    def __init__(
        self, journal: Journal, turns: tuple[Turn, ...], *, after: int | None = None
    ) -> None:
        self._journal = journal
        self._turns = {turn.id: turn for turn in turns}
        self._session_id = turns[0].session_id
        self._place = min(turn.trigger_line for turn in turns) if after is None else after
        self.lines: list[Line] = []

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns, as they were when `look` last read them."""
        return tuple(self._turns.values())

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of the turns that have not ended."""
        return tuple(turn.id for turn in self._turns.values() if not turn.status.is_end)

    @property
    def are_queued(self) -> bool:
        """True if no turn had begun when `look` last read them, or when they were admitted."""
        return all(turn.status is TurnStatus.QUEUED for turn in self._turns.values())

    def look(self) -> bool:
        """Read the turns' headers; returns True when nothing more comes unless a human acts."""
        for turn_id in self.pending:
            self._turns[turn_id] = self._journal.header(turn_id)
        still = (TurnStatus.QUEUED, TurnStatus.RUNNING)
        return all(turn.status not in still for turn in self._turns.values())

    def read_if_settled(self, *, anyway: bool) -> bool:
        """Look, and read the new lines when nothing more comes, or `anyway`; True if it read."""
        if not (self.look() or anyway):
            return False
        self.read()
        return True

    def read(self) -> None:
        """Read the new lines; call it after `look`, so that an ended turn has all of its lines."""
        visible = VisibleKinds()
        while True:
            rows = self._journal.lines(self._session_id, after=self._place, limit=_READ)
            for line in rows:
                if line.turn_id in self._turns and visible.shows(line):
                    self.lines.append(line)
            if rows:
                self._place = rows[-1].sequence
            if len(rows) < _READ or self._is_past(rows[-1]):
                return

    def _is_past(self, line: Line) -> bool:
        """Check whether all turns had ended before a line was written, with slack for clocks."""
        return all(
            turn.ended_at and turn.ended_at + _SLACK < line.at for turn in self._turns.values()
        )


async def wait_for_session_replies(
    replies: Replies, next_change: NextChange, seconds: float, tell: Callable[[], _Told]
) -> _Told:
    """Wait until all turns have ended or wait for a human; ends early when the server ends.

    `next_change` was noticing changes before the turns were admitted, so those that were queued
    then are not read before it tells of something. Returns what `tell` makes of the replies.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds

    def read(*, anyway: bool) -> tuple[_Told, ...]:
        return (tell(),) if replies.read_if_settled(anyway=anyway) else ()

    ending, may_be_over = False, not replies.are_queued
    while True:
        last = ending or deadline <= loop.time()
        if last or may_be_over:
            told = await run_in_threadpool(read, anyway=last)
            if told:
                return told[0]
        may_be_over = True
        ending = bool(await next_change(max(deadline - loop.time(), 0)))
