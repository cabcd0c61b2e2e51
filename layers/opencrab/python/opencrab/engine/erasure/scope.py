"""The data that an erasure request covers: lines, their turns, and repetitions of them."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter

from opencrab.domain.conversation.message import Line
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document
from opencrab.domain.erasure.fingerprint import (
    ErasureFingerprints,
    erasable_texts_in_json,
    erasure_sentence_digests,
)
from opencrab.domain.erasure.request import (
    FORGOTTEN,
    RECORDS_KEPT,
    ErasureMark,
    ErasureRequest,
    ErasureScope,
    LineRange,
)
from opencrab.domain.errors import NotFound
from opencrab.domain.learning.signals import SIGNALS
from opencrab.domain.memory.memory import IMPRESSION, MEMORY, Impression, Memory
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.erasure.checked_text import CheckedText
from opencrab.engine.erasure.progress import ErasureProgress, add_erased_lines, erased_line_ranges
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.erasure import Eraser
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages, paginate
from opencrab.ports.turn.journal import Journal
from opencrab.ports.usage.ledger import UsageLedger

_QUOTATION = re.compile(r"^> ", re.MULTILINE)
_PAGE = 500
_SESSIONS = 100
_GROUPS = 100
_ROWS = 500
_MARKS = 200


@dataclass
class DataToErase:
    """The requested data: by session its lines, with the turns that belong to each.

    `turns` are all of these turns; `beside` are others that contain the same data; `repeating` are
    agents' lines that repeat it; `since` is the oldest line's time; `last` is the last session that
    was read, None when there are no more. Repetitions are detected only when the fingerprints are
    `whole`, since others may have said it before. `said` and `said_by_others` map hashes of
    sentences to the time when each was said first.
    """

    wish: ErasureRequest
    agent_id: str
    sessions: dict[str, Session] = field(default_factory=dict)
    lines: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    repeating: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    turns: dict[str, None] = field(default_factory=dict)
    beside: dict[str, None] = field(default_factory=dict)
    traces: ErasureFingerprints = field(default_factory=ErasureFingerprints)
    since: datetime | None = None
    last: str | None = None
    whole: bool = True
    said: dict[str, datetime] = field(default_factory=dict)
    said_by_others: dict[str, datetime] = field(default_factory=dict)
    checked: CheckedText = field(default_factory=CheckedText)

    def all_lines(self) -> dict[str, dict[int, tuple[str, ...]]]:
        """Return the requested and the repeating lines."""
        both = {name: dict(numbers) for name, numbers in self.repeating.items()}
        for name, numbers in self.lines.items():
            both[name] = both.get(name, {}) | numbers
        return both

    def agents(self) -> tuple[str, ...]:
        """Return the agent and all participants of sessions with erased lines."""
        names = (self.all_lines().keys() | self.traces.lines.keys()) & self.sessions.keys()
        others = (each for name in sorted(names) for each in self.sessions[name].all_time_agent_ids)
        return tuple(dict.fromkeys((self.agent_id, *others)))

    def repeated_in(self, *texts: str) -> bool:
        """Check whether a text repeats erased data; False until the fingerprints are whole."""
        return self.whole and self.traces.matches_any(*texts)

    def ranges(self, agent_id: str) -> Iterator[LineRange]:
        """Yield the erased lines of the sessions of an agent, in as few ranges as possible."""
        for name, numbers in sorted(self.all_lines().items()):
            if agent_id in self.sessions[name].all_time_agent_ids:
                yield from erased_line_ranges(name, numbers)


def find_data_to_erase(
    runtime: Runtime,
    agent_id: str,
    wish: ErasureRequest,
    trail: ErasureProgress,
    in_time: Callable[[], bool],
) -> DataToErase:
    """Find the requested data without its repetitions; raise NotFound if it never existed.

    The search continues after the last session in `trail`, and stops after the session in which the
    time is over.
    """
    found = DataToErase(wish, agent_id, traces=trail.traces, checked=trail.checked)
    if wish.scope is ErasureScope.PERSON and wish.id is not None:
        found.traces.add_name(wish.id)
        impression = runtime.home.facts.get(agent_id, IMPRESSION, wish.id)
        if impression is not None:
            found.traces.add_name(impression.read(Impression).target_name)
    for session in _sessions(runtime.home, agent_id, wish, trail.after):
        if found.sessions and not in_time():
            found.last = next(reversed(found.sessions))
            break
        found.sessions[session.id] = session
        _look_through(runtime.home, found, session)
    found.whole = trail.whole or found.last is None
    add_erased_lines(found.traces, found.lines)
    found.traces.add_said(found.said, found.said_by_others)
    if wish.scope is ErasureScope.MEMORY:
        _name_memory(runtime.home.facts, found)
    _add_compactions(runtime.home.usage, runtime.clock, found)
    return found


def find_lines_repeating_erased(home: Home, found: DataToErase) -> None:
    """Find the lines by which agents repeat erased data, and their turns.

    Lines of other people in their own words are not erased.
    """
    if found.wish.scope is ErasureScope.EVERYTHING or not found.whole:
        return
    for session_id, line in _lines_to_check(home, found):
        known = found.lines.get(session_id, {})
        if not line.from_agent or line.is_erased or line.sequence in known:
            continue
        if found.repeated_in(line.text, *erasable_texts_in_json(line.data)):
            turns = () if line.turn_id is None else (line.turn_id,)
            found.repeating.setdefault(session_id, {})[line.sequence] = turns
            found.beside.update(dict.fromkeys(turns))


def documents_to_check(
    home: Home, found: DataToErase, agent_id: str, kind: str
) -> Iterator[Document]:
    """Yield an agent's memories or signals: those that erased data can concern, or else all.

    For a memory, only words tell: it names no turns, sessions, people or times.
    """
    words = found.traces.stored_text_filter()
    is_memory = found.wish.scope is ErasureScope.MEMORY and not found.turns
    if home.eraser.scan is None or words is None or not is_memory:
        yield from all_pages(home.facts, agent_id, kind)
        return
    if kind == SIGNALS:
        words = type(words)(words.ids, ())
    for fact_id in found.checked.documents_to_check(home.eraser.scan, agent_id, kind, words):
        fact = home.facts.get(agent_id, kind, fact_id)
        if fact is not None:
            yield fact


def _lines_to_check(home: Home, found: DataToErase) -> Iterator[tuple[str, Line]]:
    """Yield lines with their sessions: those that can repeat erased data, or else all."""
    words = None if found.lines else found.traces.stored_text_filter()
    if words is None or home.eraser.scan is None:
        for session_id in found.sessions:
            yield from ((session_id, line) for line in _lines_of(home.journal, session_id))
    else:
        yield from found.checked.lines_to_check(home.eraser.scan, found.sessions, words)


def _sessions(
    home: Home, agent_id: str, wish: ErasureRequest, after: str | None
) -> Iterable[Session]:
    if wish.scope is ErasureScope.SESSION:
        session = home.sessions.get(str(wish.id))
        if agent_id not in session.all_time_agent_ids:
            raise NotFound(
                f"agent {agent_id!r} has no session {wish.id!r}", cure="list its sessions"
            )
        # The others are looked through for what repeats it.
    for each in paginate(home.sessions.page, after=after, limit=_SESSIONS):
        if agent_id in each.all_time_agent_ids:
            yield each


def _look_through(home: Home, found: DataToErase, session: Session) -> None:
    if found.wish.scope is ErasureScope.MEMORY:
        return
    before = found.traces.lines.get(session.id, frozenset())
    groups: set[int] = set()
    hit: dict[int, Line] = {}
    for line in _lines_of(home.journal, session.id):
        if line.is_erased:
            continue
        asked = _is_asked(found, session, line)
        is_hit = asked or line.group_line in groups or line.group_line in before
        _note(found, line, is_own=is_hit and not line.from_agent, asked=asked)
        if not is_hit:
            continue
        hit[line.sequence] = line
        if asked and line.starts_group:
            groups.add(line.sequence)
        found.since = min(line.at, found.since or line.at)
    _add_turns(home.eraser, found, session.id, hit)


def _note(found: DataToErase, line: Line, *, is_own: bool, asked: bool) -> None:
    """Record a line's speaker, and the time when each of its sentences was said first."""
    if asked and found.wish.scope is ErasureScope.PERSON and line.speaker_id == found.wish.id:
        found.traces.add_name(line.speaker_name)
    elif found.wish.scope is ErasureScope.PERSON:
        found.traces.add_others(line.speaker_name)
    said = found.said if is_own else found.said_by_others
    text = _QUOTATION.sub("", line.text) if line.quotes else line.text
    for digest in erasure_sentence_digests(text):
        said[digest] = min(line.at, said.get(digest, line.at))


def _add_turns(eraser: Eraser, found: DataToErase, session_id: str, hit: dict[int, Line]) -> None:
    """Add the turns that a message started, even if they never said anything."""
    openers = [line.group for line in hit.values() if line.starts_group]
    became: dict[str, tuple[str, ...]] = {}
    for start in range(0, len(openers), _GROUPS):
        became |= eraser.turns_of(*openers[start : start + _GROUPS])
    for sequence, line in hit.items():
        own = () if line.turn_id is None else (line.turn_id,)
        turns = (*own, *(became.get(line.group, ()) if line.starts_group else ()))
        found.lines.setdefault(session_id, {})[sequence] = turns
        found.turns.update(dict.fromkeys(turns))


def _is_asked(found: DataToErase, session: Session, line: Line) -> bool:
    wish = found.wish
    match wish.scope:
        case ErasureScope.EVERYTHING:
            return True
        case ErasureScope.SESSION:
            return session.id == wish.id or wish.id in line.quotes
        case ErasureScope.PERSON:
            return line.speaker_id == wish.id or wish.id in line.quotes
        case ErasureScope.PERIOD:
            return wish.covers(line.at)
        case _:
            return False


def _name_memory(facts: Documents, found: DataToErase) -> None:
    wanted = str(found.wish.id)
    fact = facts.get(found.agent_id, MEMORY, wanted)
    found.traces.ids.add(wanted)
    if fact is None:
        if not _was_marked(facts, found.agent_id, f"{MEMORY}:{wanted}"):
            raise NotFound(
                f"agent {found.agent_id!r} has no memory {wanted!r}", cure="list its memories"
            )
        return
    memory = fact.read(Memory)
    told = (memory.content, *(each.content for each in memory.earlier))
    found.traces.add_words(*told, whole=True)
    turns = (memory.turn_id, *(each.turn_id for each in memory.earlier))
    found.beside.update(dict.fromkeys(turn for turn in turns if turn))


def _was_marked(facts: Documents, agent_id: str, ref: str) -> bool:
    """Check whether an earlier call began to erase a memory, so that this one finishes."""
    marks = facts.page(agent_id, FORGOTTEN, limit=_MARKS, newest_first=True)
    return any(ref in fact.read(ErasureMark).refs for fact in marks)


def _add_compactions(usage: UsageLedger, clock: Clock, found: DataToErase) -> None:
    """Add the turns that summarized these sessions, since their records hold the summaries."""
    if found.since is None:
        return
    since = max(found.since, clock.now() - RECORDS_KEPT)
    for agent_id in found.agents():
        for row in paginate(usage.rows, agent_id, limit=_ROWS, since=since):
            if row.trigger is Trigger.COMPACTION and row.session_id in found.lines:
                found.beside[row.turn_id] = None


def _lines_of(journal: Journal, session_id: str) -> Iterator[Line]:
    place = attrgetter("sequence")
    return paginate(journal.lines, session_id, after=0, limit=_PAGE, key=place)
