"""Live events: which lines of a session a caller may see, and which are new to a watcher.

Each watcher gets each line once and in order: earlier lines are read from the journal, later ones
from the change feed, and a line's sequence number says which of both it came from.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from opencrab.domain.access.policy import Area
from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.errors import Invalid, NotFound, Refused, Unavailable
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Identifier, Value
from opencrab.engine.access.visibility import require_access_to_agent, require_session_access
from opencrab.engine.conversation import live_events
from opencrab.engine.conversation.answer_events import AnswerEvents
from opencrab.engine.conversation.live_events import Event, TurnMoved
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.answers import AnswerPart
from opencrab.ports.conversation.feed import ChangeFeed, FeedEntry
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import SessionHistory

PUBLIC = frozenset({LineKind.SPEECH, LineKind.SYSTEM, LineKind.APPROVAL})
"""The kinds of lines that every caller with access may read."""

HISTORY = 500
"""The most past lines sent to a new watcher; it reads earlier ones itself."""

FAR_BEHIND = 5_000
"""The most changes that a watcher may lag behind before it must reconnect."""

_READ = 64
_READS = 10
_BATCH = 200


class VisibleKinds(Value):
    """The lines a caller sees: their kinds, and whether those not meant for all are included."""

    kinds: frozenset[LineKind] = PUBLIC
    private: bool = False

    def shows(self, line: Line) -> bool:
        """Check whether the caller may see this line and asked for its kind."""
        return line.kind in self.kinds and (self.private or line.audience is Audience.ALL)

    def shows_part(self, part: AnswerPart) -> bool:
        """Check whether the caller may see a part: progress of a call, if they see its line."""
        if part.progress is not None:
            return self.private and LineKind.ACTION in self.kinds
        return LineKind.SPEECH in self.kinds


class WatchTarget(Value):
    """A thing to watch: one session, or one agent in all its sessions."""

    kind: Literal["session", "agent"]
    id: Identifier


@dataclass(frozen=True)
class LiveStart:
    """Where watching begins: after which sequence number, and the gap before it, if any.

    `newest` is the number of the newest line then: later ones are new, not past.
    """

    place: int
    gap: Event | None = None
    newest: int = 0


def visible_conversation_line_kinds(
    kinds: Iterable[LineKind] | None, *, is_owner: bool
) -> VisibleKinds:
    """Return what a caller sees who asks for some kinds; None asks for the public ones.

    An owner who names kinds also sees private lines. Raises Refused for a kind that only owners may
    see.
    """
    if kinds is None:
        return VisibleKinds()
    asked = frozenset(kinds)
    if not is_owner and asked - PUBLIC:
        raise Refused(
            "only an owner key may read what agents think and do",
            field="kinds",
            cure=f"ask for {', '.join(sorted(PUBLIC))}, or use an owner key",
        )
    return VisibleKinds(kinds=asked, private=is_owner)


def require_watch_of_conversation(home: Home, who: Principal, watched: WatchTarget) -> None:
    """Raise NotFound or Refused unless a principal may watch a session or an agent.

    An agent acts in everybody's sessions, so chat keys watch sessions only.
    """
    if watched.kind == "session":
        require_session_access(home, who, watched.id)
    else:
        require_access_to_agent(who, watched.id, Area.AGENT)


def may_watch_conversation(home: Home, who: Principal, watched: WatchTarget) -> bool:
    """Check whether a principal may watch a session or an agent now."""
    try:
        require_watch_of_conversation(home, who, watched)
    except (NotFound, Refused):
        return False
    return True


def collect_visible_session_lines(
    history: SessionHistory,
    session_id: str,
    visible: VisibleKinds,
    *,
    limit: int,
    after: int = 0,
    before: int | None = None,
    newest_first: bool = False,
) -> tuple[list[Line], int | None]:
    """Return visible lines with after < sequence < before, and where to continue.

    The second value is None when there are no more lines. A long stretch of hidden lines ends a
    call early, with fewer lines than `limit`.
    """
    found: list[Line] = []
    size = max(limit + 1, _READ)
    for _ in range(_READS):
        rows = history.lines(
            session_id, after=after, before=before, limit=size, newest_first=newest_first
        )
        found.extend(line for line in rows if visible.shows(line))
        if len(found) > limit:
            return found[:limit], found[limit - 1].sequence
        if len(rows) < size:
            return found, None
        if newest_first:
            before = rows[-1].sequence
        else:
            after = rows[-1].sequence
    return found, before if newest_first else after


def _newest_line_number(home: Home, session_id: str) -> int:
    """Return the sequence of a session's newest line, 0 without lines; raise NotFound."""
    home.sessions.get(session_id)
    found = home.journal.lines(session_id, limit=1, newest_first=True)
    return found[0].sequence if found else 0


def live_session_start(runtime: Runtime, watched: WatchTarget, after: int | None) -> LiveStart:
    """Return where watching begins; lines too far back become a gap.

    Raises NotFound (session, agent), and Invalid for `after` with an agent, which has no sequence.
    """
    if watched.kind == "agent":
        if after is not None:
            raise Invalid("after is allowed for sessions only", field="after", cure="omit it")
        runtime.home.agents.get(watched.id)
        return LiveStart(0)
    last = _newest_line_number(runtime.home, watched.id)
    if after is None:
        return LiveStart(last, newest=last)
    if last - after <= HISTORY:
        return LiveStart(min(after, last), newest=last)
    place = last - HISTORY
    gap = live_events.session_event_for_gap(watched.id, after, place + 1, runtime.clock.now())
    return LiveStart(place, gap, newest=last)


def session_turn_change(runtime: Runtime, turn_id: str, status: str) -> TurnMoved | None:
    """Return a turn's change of status for watchers; None when the turn has expired."""
    try:
        turn: Turn = runtime.home.journal.header(turn_id)
    except NotFound:
        return None
    came_to = TurnStatus(status)
    at = turn.ended_at if came_to.is_end and turn.ended_at else runtime.clock.now()
    return TurnMoved(turn=turn, status=came_to, at=at)


def session_line_in_feed_entry(entry: FeedEntry) -> Line | None:
    """Return the line in a feed entry, or None if the entry is no line."""
    return Line.from_stored(entry.body) if entry.kind == "line" else None


@dataclass
class _Watch:
    visible: VisibleKinds
    place: int = 0
    newest: int = 0


@dataclass
class LiveFollower:
    """The watches of one client, served from the change feed; use it from one thread at a time."""

    runtime: Runtime
    feed: ChangeFeed
    most: int
    watches: dict[WatchTarget, _Watch] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    position: int = 0

    def __post_init__(self) -> None:
        self.position = self.feed.position()
        watches = self.watches
        # Not bound to this follower, so that the subscription ends with it.
        self._answers = self.runtime.answers.follow(
            lambda session_id, agent_id: _follows_answers(watches, session_id, agent_id)
        )
        self._messages = AnswerEvents()

    def begin(self, watched: WatchTarget, visible: VisibleKinds, after: int | None) -> LiveStart:
        """Begin to watch, replacing an earlier watch of the same; `past` yields the earlier lines.

        Raises NotFound, Invalid, and Refused when there are too many watches.
        """
        if watched not in self.watches and len(self.watches) >= self.most:
            raise too_many_watched_conversations_error(self.most)
        begun = live_session_start(self.runtime, watched, after)
        self.watches[watched] = _Watch(visible, begun.place, begun.newest)
        self._answers.catch_up()
        return begun

    def past(self, watched: WatchTarget) -> Iterator[Event]:
        """Yield the events of a session's lines that existed when the watch began.

        It ends when the watch does; later lines are among the new events.
        """
        watch = self.watches.get(watched)
        while watch is not None and watch.place < watch.newest:
            if self.watches.get(watched) is not watch:
                return
            lines, place = collect_visible_session_lines(
                self.runtime.home.journal,
                watched.id,
                watch.visible,
                after=watch.place,
                before=watch.newest + 1,
                limit=_BATCH,
            )
            for line in lines:
                watch.place = line.sequence
                yield from live_events.events_of_session_line(line)
            if place is None:
                return
            watch.place = place

    def targets(self) -> tuple[WatchTarget, ...]:
        """Return everything that is watched."""
        return tuple(self.watches)

    def end(self, watched: WatchTarget) -> bool:
        """End a watch; return whether it existed."""
        return self.watches.pop(watched, None) is not None

    def new_events(self) -> Iterator[Event]:
        """Yield the events since the last call that this client may see, and then end.

        What happens while they are taken is for the next call. Raises Unavailable when the client
        lags too far behind.
        """
        now_at = self.feed.position()
        if now_at - self.position > FAR_BEHIND:
            raise Unavailable(
                f"the client is too slow: more than {FAR_BEHIND} changes are waiting",
                cure="connect again with the last sequence that you received",
            )
        parts: tuple[AnswerPart, ...] = ()
        entries = self.feed.read(after=self.position, limit=_BATCH)
        while entries:
            # Taken after the entries were read, and told before those of their turns: words come
            # before the line that has them.
            parts += self._answers.take()
            for entry in entries:
                if any(part.turn_id == entry.turn_id for part in parts):
                    yield from self._of_parts(parts)
                    parts = ()
                self.position = entry.position
                yield from self._told(entry)
            is_behind = self.position < now_at
            entries = self.feed.read(after=self.position, limit=_BATCH) if is_behind else ()
        yield from self._of_parts(parts + self._answers.take())

    def _of_parts(self, parts: tuple[AnswerPart, ...]) -> Iterator[Event]:
        now = self.runtime.clock.now()
        for part in parts:
            if self._shows(part):
                yield from self._messages.of_part(part, now)

    def _shows(self, part: AnswerPart) -> bool:
        return any(
            watch.visible.shows_part(part)
            for watch in _watches_of_answers(self.watches, part.session_id, part.agent_id)
        )

    def _told(self, entry: FeedEntry) -> Iterator[Event]:
        line = session_line_in_feed_entry(entry)
        if line is not None:
            if self._is_new(line):
                yield from self._messages.of_line(line)
        elif entry.kind == "turn" and entry.turn_id and self._moves(entry.turn_id, entry.body):
            yield from self._turn(entry.session_id, entry.turn_id, entry.body)

    def _is_new(self, line: Line) -> bool:
        """Check whether a watch shows a line not yielded yet; advance the session's watch."""
        session = self.watches.get(WatchTarget(kind="session", id=line.session_id))
        seen = session is not None and line.sequence <= session.place
        if session is not None:
            session.place = max(session.place, line.sequence)
        by_session = session is not None and session.visible.shows(line)
        agent = self._agent(line)
        by_agent = agent is not None and agent.visible.shows(line)
        return (by_session or by_agent) and not (seen and by_session)

    def _moves(self, turn_id: str, status: str) -> bool:
        """Check whether a turn's status is new; it stays running if another worker claims it."""
        return bool(self.watches) and self.statuses.get(turn_id) != status

    def _agent(self, line: Line) -> _Watch | None:
        if not line.from_agent:
            return None
        return self.watches.get(WatchTarget(kind="agent", id=line.speaker_id))

    def _turn(self, session_id: str, turn_id: str, status: str) -> Iterator[Event]:
        in_session = WatchTarget(kind="session", id=session_id) in self.watches
        if not in_session and not any(watched.kind == "agent" for watched in self.watches):
            return
        found = session_turn_change(self.runtime, turn_id, status)
        if found is None:
            return
        self.statuses[turn_id] = status
        if found.status.is_end:
            del self.statuses[turn_id]
        if in_session or WatchTarget(kind="agent", id=found.turn.agent_id) in self.watches:
            if found.status is not TurnStatus.RUNNING:
                yield from self._messages.of_turn(turn_id, found.at)
            yield from live_events.live_session_events_of_turn(found)


def _follows_answers(watches: Mapping[WatchTarget, _Watch], session_id: str, agent_id: str) -> bool:
    """Check whether a watch shows what an agent says in a session."""
    found = _watches_of_answers(watches, session_id, agent_id)
    return any(LineKind.SPEECH in each.visible.kinds for each in found)


def _watches_of_answers(
    watches: Mapping[WatchTarget, _Watch], session_id: str, agent_id: str
) -> list[_Watch]:
    in_session = watches.get(WatchTarget(kind="session", id=session_id))
    of_agent = watches.get(WatchTarget(kind="agent", id=agent_id))
    return [each for each in (in_session, of_agent) if each is not None]


def too_many_watched_conversations_error(most: int) -> Refused:
    """Return the error for a connection that watches too many things."""
    return Refused(
        f"a connection watches at most {most} sessions and agents",
        cure="unsubscribe from one first, or open another connection",
    )
