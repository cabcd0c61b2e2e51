"""Reading the past: summaries by their short ids, and the original lines that they summarise."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import Line
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.memory.search_row import (
    RowKind,
    SearchClearance,
    SearchRow,
    memory_search_row_of_line,
    search_row_of_summary,
)
from opencrab.domain.memory.summary import SUMMARY, Summary, memory_summary_document_id
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import ShortText, Value
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext, byte_count_of_turn_json

LISTED = 20
ROWS = 50
NEIGHBOURS = 3
"""Number of lines shown before and after one requested by its id."""

SHOWN_BYTES = 14 * 1024
_ROW_CHARACTERS = 3_000
_PARTS = 200
_PAGES = 20
_SCANNED = 100
"""Pages per list of summaries, and summaries per page; those that may not be read count too."""

_SUMMARY_ID = re.compile(r"S[1-9][0-9]{0,8}", re.IGNORECASE)
_LINE_ID = re.compile(r"([A-Za-z0-9_\-]{1,64}):([0-9]{1,9})")

group = Group("history")


class BrowseHistory(Value):
    id: ShortText = Field("", description="S12, or SESSION:12 for a line and its neighbours")
    session_id: ShortText = ""
    first: int | None = Field(None, ge=1, le=10**9)
    last: int | None = Field(None, ge=1, le=10**9)
    before: ShortText = Field("", description="List summaries older than this one")


@dataclass(frozen=True)
class _Wanted:
    """A range of lines of one session."""

    session: Session
    first: int
    last: int


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Leaf through its past {id}", "過去の記録{id}をめくる"),
    ja="過去を読み返します。引数なしで要約の一覧、id で要約や発言、first と last で発言の範囲。",
    result_bytes=PAGED_BYTES,
    spills=False,
)
def browse_history(arguments: BrowseHistory, context: ActionContext) -> ActionResult:
    """Read the past: a list of summaries, one by id, or lines by id or from `first` to `last`."""
    wanted = arguments.id.strip()
    cleared = context.clearance.search
    if _SUMMARY_ID.fullmatch(wanted):
        return _read_summary(wanted.upper(), arguments.first or 1, context, cleared)
    if line := _LINE_ID.fullmatch(wanted):
        session, place = _session(line[1], context), int(line[2])
        first = max(place - NEIGHBOURS, 1)
        return _lines(_Wanted(session, first, place + NEIGHBOURS), context, cleared)
    if wanted:
        raise Invalid(
            f"{wanted[:100]!r} is not a valid ID",
            field="id",
            cure="ids look like S12 or SESSION:12",
        )
    if arguments.first is not None or arguments.last is not None or arguments.session_id:
        return _lines(_range(arguments, context), context, cleared)
    return _list_summaries(arguments.before.strip(), context, cleared)


def _range(arguments: BrowseHistory, context: ActionContext) -> _Wanted:
    session = _session(arguments.session_id, context)
    first = arguments.first or max((arguments.last or 1) - ROWS + 1, 1)
    last = arguments.last or first + ROWS - 1
    if last < first:
        raise Invalid(f"last ({last}) is before first ({first})", field="last", cure="swap them")
    return _Wanted(session, first, min(last, first + ROWS - 1))


def _session(session_id: str, context: ActionContext) -> Session:
    """Return the current session or another that the agent ever took part in; raises NotFound."""
    if session_id in {"", context.session.id}:
        return context.session
    known = context.reach.sessions
    nobody = NotFound(
        f"you have no conversation {session_id[:100]!r}",
        field="session_id",
        cure="use an ID from a summary or from search_my_history",
    )
    if known is None or not _LINE_ID.fullmatch(f"{session_id}:1"):
        raise nobody
    try:
        session = known.get(session_id)
    except NotFound:
        raise nobody from None
    if context.agent.id not in session.all_time_agent_ids:
        raise nobody
    return session


def _lines(wanted: _Wanted, context: ActionContext, cleared: SearchClearance) -> ActionResult:
    lines = context.reach.history.lines(
        wanted.session.id,
        after=wanted.first - 1,
        before=wanted.last + 1,
        limit=wanted.last - wanted.first + 1,
    )
    # A private line of this session was perhaps written while fewer people listened.
    told_here = (line for line in lines if _may_show(line, wanted.session, context))
    rows = (memory_search_row_of_line(line, wanted.session, context.agent.id) for line in told_here)
    heard = [row for row in rows if row is not None and cleared.allows(row)]
    shown, cut = _fitting(heard)
    told: dict[str, Any] = {"session_id": wanted.session.id, "lines": shown}
    if not _is_open(wanted.session, cleared):
        # A caller who may read nothing must not learn how much there is.
        return ActionResult.ok(**told)
    if cut is not None:
        told["next_first"] = cut.sequence
    elif lines and lines[-1].sequence == wanted.last:
        told["next_first"] = wanted.last + 1
    tainted = any(row.taint for row in heard[: len(shown)])
    return ActionResult.ok(**told).replaced(taint=tainted)


def _may_show(line: Line, session: Session, context: ActionContext) -> bool:
    return session.id != context.session.id or context.clearance.reads_line(line)


def _is_open(session: Session, cleared: SearchClearance) -> bool:
    """Return True if this turn's principal may read what is said in a session."""
    said = SearchRow(session.id, 1, RowKind.SPEECH, session.hearing, "", "", session.created_at, "")
    return cleared.allows(replace(said, guild_id=session.guild_id or ""))


def _fitting(rows: Iterable[SearchRow]) -> tuple[list[dict[str, Any]], SearchRow | None]:
    """Return as many rows as fit into SHOWN_BYTES, and the first row that does not, else None."""
    shown, room = list[dict[str, Any]](), SHOWN_BYTES
    for row in rows:
        text = row.text
        if len(text) > _ROW_CHARACTERS:
            text = f"{text[:_ROW_CHARACTERS]}…"
        told = {"id": row.id, "at": row.at.isoformat(), "speaker": row.speaker, "text": text}
        told |= {} if row.is_spoken else {"kind": row.kind.value}
        room -= byte_count_of_turn_json(told) + len(", ")
        if room < 0 and shown:
            return shown, row
        shown.append(told)
    return shown, None


def _read_summary(
    summary_id: str, first: int, context: ActionContext, cleared: SearchClearance
) -> ActionResult:
    """Return a summary from character `first` of its text on, as much as fits into one result."""
    fact = context.reach.facts.get(
        context.agent.id, SUMMARY, memory_summary_document_id(summary_id)
    )
    summary = None if fact is None else fact.read(Summary)
    if summary is None or not cleared.allows(search_row_of_summary(summary)):
        raise NotFound(
            f"there is no summary {summary_id!r}",
            field="id",
            cure="omit id to list them",
        )
    text = _beginning(summary.text[first - 1 :])
    told = _head(summary) | {
        "text": text,
        "parts": list(summary.parts[:_PARTS]),
        "sources": [source.model_dump() for source in summary.sources[:ROWS]],
    }
    if first - 1 + len(text) < len(summary.text):
        told["next_first"] = first + len(text)
    return ActionResult.ok(**told).replaced(taint=summary.tainted)


def _beginning(text: str) -> str:
    """Cut a text so that it takes at most SHOWN_BYTES bytes as JSON."""
    while byte_count_of_turn_json(text) > SHOWN_BYTES:
        text = text[: len(text) * SHOWN_BYTES // byte_count_of_turn_json(text)]
    return text


def _list_summaries(before: str, context: ActionContext, cleared: SearchClearance) -> ActionResult:
    """Return the newest summaries that may be read, and `next_before` if there are more."""
    if before and not _SUMMARY_ID.fullmatch(before):
        raise Invalid(
            f"{before[:100]!r} is not a valid ID", field="before", cure="ids look like S12"
        )
    key = memory_summary_document_id(before.upper()) if before else ""
    heard = list(islice(_visible_summaries(key, context, cleared), LISTED + 1))
    more, heard = len(heard) > LISTED, heard[:LISTED]
    told: dict[str, Any] = {"summaries": [_head(summary) for summary in heard]}
    if more:
        told["next_before"] = heard[-1].id
    return ActionResult.ok(**told).replaced(taint=any(summary.tainted for summary in heard))


def _visible_summaries(
    key: str, context: ActionContext, cleared: SearchClearance
) -> Iterator[Summary]:
    """Yield summaries that may be read, newest first; scans at most 2,000 and counts no others."""
    for _ in range(_PAGES):
        page = context.reach.facts.page(
            context.agent.id, SUMMARY, after=key, limit=_SCANNED, newest_first=True
        )
        found = (fact.read(Summary) for fact in page)
        yield from (each for each in found if cleared.allows(search_row_of_summary(each)))
        if len(page) < _SCANNED:
            return
        key = page[-1].id


def _head(summary: Summary) -> dict[str, Any]:
    return {
        "id": summary.id,
        "of": summary.span.value,
        "since": summary.since.isoformat(),
        "until": summary.until.isoformat(),
        "title": summary.title,
    }
