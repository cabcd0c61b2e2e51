"""A session's events: in whatever moment a look falls, a turn's end is told after what it said."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.conversation.live import VisibleKinds
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.conversation.server_sent_events import SessionFollower
from opencrab.ports.conversation.answers import NoWatchers
from opencrab.ports.conversation.feed import FeedEntry

NOW = datetime(2026, 2, 17, tzinfo=UTC)
RUNNING, COMPLETED = TurnStatus.RUNNING, TurnStatus.COMPLETED


class Unfolding:
    """Turns `t0`, `t1`, ... that say so many lines each and end, while somebody reads.

    Before each read so many commits happen as `paces` says, then as many as the last pace. It is
    the journal and the feed.
    """

    def __init__(self, turns: list[int], paces: list[int]) -> None:
        self._paces = paces
        self._to_come = [
            (f"t{turn}", step == said)
            for turn, said in enumerate(turns)
            for step in range(said + 1)
        ]
        self._lines: list[Line] = []
        self._entries: list[FeedEntry] = []
        self._statuses: dict[str, TurnStatus] = {}

    @property
    def over(self) -> bool:
        return not self._to_come

    def lines(self, session_id: str, *, after: int, limit: int, **others: object) -> list[Line]:
        self._happens()
        return [line for line in self._lines if line.sequence > after][:limit]

    def header(self, turn_id: str) -> SimpleNamespace:
        self._happens()
        if turn_id not in self._statuses:
            raise NotFound(turn_id)
        return SimpleNamespace(status=self._statuses[turn_id], agent_id="mika")

    def read(self, *, after: int, limit: int) -> tuple[FeedEntry, ...]:
        self._happens()
        return tuple(self._entries[after : after + limit])

    def position(self) -> int:
        return len(self._entries)

    def _happens(self) -> None:
        pace = self._paces.pop(0) if len(self._paces) > 1 else self._paces[0]
        for turn_id, last in self._to_come[:pace]:
            self._commit(turn_id, last=last)
        del self._to_come[:pace]

    def _commit(self, turn_id: str, *, last: bool) -> None:
        """Say a line; the last one in the commit that ends the turn."""
        sequence = len(self._lines) + 1
        self._lines.append(
            Line(
                session_id="s",
                sequence=sequence,
                group="g",
                kind=LineKind.SPEECH,
                audience=Audience.ALL,
                speaker_id="mika",
                speaker_name="美香",
                authority=Authority.PUBLIC,
                text=f"行 {sequence}",
                at=NOW,
                turn_id=turn_id,
                from_agent=True,
            )
        )
        self._statuses[turn_id] = status = COMPLETED if last else RUNNING
        self._entries += [
            FeedEntry(len(self._entries) + 1, "line", "s", turn_id, ""),
            FeedEntry(len(self._entries) + 2, "turn", "s", turn_id, status.value),
        ]


def told(unfolding: Unfolding, *, feed: bool) -> list[dict[str, object]]:
    """What a client is told until two looks after the end."""
    home = SimpleNamespace(journal=unfolding, feed=unfolding if feed else None)
    runtime = cast("Runtime", SimpleNamespace(home=home, answers=NoWatchers(), actions=None))
    progress = SessionFollower(runtime, "s", VisibleKinds(), 0)
    blocks, quiet = "", 0
    while quiet < 2:
        news = progress.new_events()
        quiet = quiet + 1 if unfolding.over and not news else 0
        blocks += "".join(news)
    data = [row for row in blocks.splitlines() if row.startswith("data: ")]
    return [json.loads(row.removeprefix("data: ")) for row in data]


@pytest.mark.parametrize("feed", [True, False])
@given(
    turns=st.lists(st.integers(0, 4) | st.integers(95, 105), min_size=1, max_size=4),
    paces=st.lists(st.integers(0, 3), max_size=30).map(lambda paces: [*paces, 1]),
)
def test_a_turn_ends_once_and_after_all_that_it_said(
    turns: list[int], paces: list[int], *, feed: bool
) -> None:
    events = told(Unfolding(turns, paces), feed=feed)
    lines = [event for event in events if "sequence" in event]
    assert [line["sequence"] for line in lines] == list(range(1, sum(turns) + len(turns) + 1))
    for turn in range(len(turns)):
        mine = [event for event in events if event["turn_id"] == f"t{turn}"]
        ends = [event.get("status") == COMPLETED.value for event in mine]
        assert ends.count(True) == 1
        assert ends[-1], "a line after the word that its turn has ended"
