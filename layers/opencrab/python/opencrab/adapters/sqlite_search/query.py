"""Finding: from a question to rows with their neighbours, with every limit inside the statements.

What somebody may not hear, and what a filter leaves out, is never read from the tables: each
statement that answers rows carries the same conditions.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime

from opencrab.adapters.search_rows import time_of_search_row
from opencrab.adapters.sqlite_search.conditions import Conditions, sqlite_search_conditions
from opencrab.adapters.sqlite_search.matching import best_sqlite_search_hits
from opencrab.adapters.sqlite_search.row_codec import (
    COLUMNS,
    USUAL_IMPORTANCE,
    IndexStringTable,
    sqlite_search_row_from_stored,
)
from opencrab.adapters.sqlite_search.schema import (
    SPEECH,
    TIMED,
    translate_sqlite_search_decoding_errors,
)
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.domain.text.query import ParsedQuery, parse_query_text, speakers_named_in_text
from opencrab.domain.text.ranking import (
    BY_WORDS,
    LENT,
    MOST_HITS,
    RankedRow,
    RankingCandidate,
    least_neighbour_text_score,
    rank_text_search_candidates,
)
from opencrab.ports.memory.search import SearchHit, SearchQuery, memory_search_excerpt_line

_NEWEST = " ORDER BY row.at DESC LIMIT 2000"
_BY_SPEAKERS = (
    " AND row.speaker IN (SELECT value FROM json_each(:speakers)) ORDER BY row.at DESC LIMIT :most"
)

_APART = 10
"""Places between rows that are not known to follow each other; more than any hit reaches."""

_NEXT = (
    "SELECT near.id FROM row AS near WHERE near.session = row.session AND near.ref IS NULL"  # noqa: S608 - values are parameters
    f" AND near.kind = {SPEECH} AND near.sequence"
)
_AROUND = f"""
SELECT row.id,
    ({_NEXT} > row.sequence ORDER BY near.sequence LIMIT 1),
    ({_NEXT} > row.sequence ORDER BY near.sequence LIMIT 1 OFFSET 1),
    ({_NEXT} BETWEEN 1 AND row.sequence - 1 ORDER BY near.sequence DESC LIMIT 1)
FROM row WHERE row.id IN (SELECT value FROM json_each(?))
    AND row.ref IS NULL AND row.sequence > 0 AND row.kind = {SPEECH}
"""  # noqa: S608 - values are parameters

_MATTERING = (
    "row.id, row.session, row.sequence, row.kind, row.speaker, row.flags, row.at, row.importance,"
    " row.ref"
)


Sense = Callable[
    [sqlite3.Connection, dict[int, float], Conditions],
    tuple[dict[int, float], dict[int, tuple[str, ...]]],
]
"""From hits by words to hits by words and by meaning: their scores, and why each is one."""

_Places = dict[int, list[tuple[int, int]]]
"""Numbers of rows; for each those that it follows, and how many places behind."""


@dataclass(frozen=True)
class _Around:
    """Row numbers of the speech rows next to a speech row."""

    next: int | None
    second: int | None
    previous: int | None


@dataclass(frozen=True)
class _Found:
    """Scores of hits, why some of them are hits, and rows that the question only names."""

    hits: dict[int, float]
    why: dict[int, tuple[str, ...]]
    named: AbstractSet[int]


def find_sqlite_search_rows(
    connection: sqlite3.Connection,
    names: IndexStringTable,
    query: SearchQuery,
    speakers: Iterable[str],
    now: datetime,
    *,
    sense: Sense | None = None,
    heard: AbstractSet[str] | None = None,
) -> tuple[SearchHit, ...]:
    """Return the best hits, best first; with `sense` also those found by meaning."""
    limits = sqlite_search_conditions(query, names, heard)
    if limits is None or query.limit < 1:
        return ()
    called = frozenset[str]()
    if not query.only_words:
        called = speakers_named_in_text(query.text, speakers)
    if called and not query.clearance.whole:
        called = _visible_speakers(connection, names, called, limits)
    asked = parse_query_text(query.text, called, None if query.only_words else now, query.zone)
    hits, why = (
        best_sqlite_search_hits(connection, asked.terms, limits),
        dict[int, tuple[str, ...]](),
    )
    if asked.times:
        hits |= _dated_hits(connection, asked, hits, limits.at_times(asked.times))
    if sense is not None:
        hits, why = sense(connection, hits, limits)
    least = least_neighbour_text_score(hits.values(), asked, limit=query.limit)
    if query.kinds and RowKind.SPEECH not in query.kinds:
        # Only speech gets a share of its neighbours' scores: what has less is not among the best.
        hits = {number: score for number, score in hits.items() if score >= least}
    around = _around(connection, hits)
    places = _near(hits, around, least)
    only_named = _named_rows(connection, names, asked, limits, query.limit) - places.keys()
    places.update((number, []) for number in only_named)
    found = _Found(hits, why, only_named)
    candidates = _candidates(connection, names, found, places, limits)
    best = rank_text_search_candidates(candidates, asked, now=now, limit=query.limit)
    return _fetch_with_neighbours(connection, names, best, limits)


def _dated_hits(
    connection: sqlite3.Connection, asked: ParsedQuery, hits: dict[int, float], dated: Conditions
) -> dict[int, float]:
    """Return the best hits of the times that a question names, unless they are among `hits`."""
    if len(hits) < MOST_HITS:  # all rows with these words
        return {}
    found = connection.execute(
        f"SELECT count(*) FROM row WHERE {dated.matching_sql} AND row.id IN"  # noqa: S608 - values are parameters
        " (SELECT value FROM json_each(:numbers))",
        {**dated.values, "numbers": json.dumps(list(hits))},
    )
    if found.fetchone()[0] == len(hits):
        return {}
    return best_sqlite_search_hits(connection, asked.terms, dated)


def _visible_speakers(
    connection: sqlite3.Connection,
    names: IndexStringTable,
    speakers: frozenset[str],
    limits: Conditions,
) -> frozenset[str]:
    """Return those of the speakers whom the caller may see; other names count as plain words."""
    found = connection.execute(
        f"SELECT DISTINCT row.speaker FROM row WHERE {limits.visible_sql} AND row.speaker IN"  # noqa: S608 - values are parameters
        " (SELECT value FROM json_each(:speakers))",
        {**limits.values, "speakers": json.dumps([names.find_id(each) for each in speakers])},
    )
    return frozenset(names.text(number) for (number,) in found.fetchall())


def _named_rows(
    connection: sqlite3.Connection,
    names: IndexStringTable,
    asked: ParsedQuery,
    limits: Conditions,
    most: int,
) -> AbstractSet[int]:
    """Return rows of the times that a question names, or by the speakers, whatever their words."""
    if not asked.names_rows:
        return frozenset()
    of = limits.at_times(asked.times) if asked.times else limits
    speakers = json.dumps([names.find_id(each) for each in sorted(asked.named)])
    spans = (f"at >= :since{n} AND at < :until{n}" for n in range(len(asked.times)))
    within = f"({' OR '.join(('FALSE', *spans))})"
    rows = f"SELECT id, speaker, flags, at FROM row WHERE {of.matching_sql}"  # noqa: S608 - values are parameters
    if asked.times:
        # What is near may be too many rows: they do not crowd out those of the time itself.
        rows = (
            f"SELECT * FROM ({rows} AND {within}{_NEWEST})"  # noqa: S608 - values are parameters
            f" UNION SELECT * FROM ({rows}{_NEWEST})"
        )
    else:
        rows += _BY_SPEAKERS
    found = connection.execute(
        f"SELECT id FROM ({rows}) ORDER BY {within} DESC, speaker IN (SELECT value FROM"  # noqa: S608 - values are parameters
        f" json_each(:speakers)) DESC, flags & {TIMED} DESC, at DESC LIMIT :most",
        {**of.values, "speakers": speakers, "most": most},
    )
    return frozenset(number for (number,) in found)


def _around(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, _Around]:
    """Return the neighbouring speech rows of those rows that are speech."""
    found = connection.execute(_AROUND, (json.dumps(list(numbers)),))
    return {number: _Around(*beside) for number, *beside in found}


def _near(hits: dict[int, float], around: dict[int, _Around], least: float) -> _Places:
    """Return hits, and neighbours with enough score from hits, with their distances."""
    lent = dict[int, float]()
    places = dict[int, list[tuple[int, int]]]()
    for hit, beside in around.items():
        of = {1: beside.next, -1: beside.previous, 2: beside.second}
        for distance, share in LENT:
            neighbour = of[distance]
            if neighbour is None:
                continue
            lent[neighbour] = lent.get(neighbour, 0.0) + share * hits[hit]
            if distance > 0:
                places.setdefault(neighbour, []).append((hit, distance))
            else:
                places.setdefault(hit, []).append((neighbour, -distance))
    wanted = [number for number, score in lent.items() if score >= least and number not in hits]
    return {number: places.get(number, []) for number in (*hits, *wanted)}


def _candidates(
    connection: sqlite3.Connection,
    names: IndexStringTable,
    found: _Found,
    places: _Places,
    limits: Conditions,
) -> list[RankingCandidate]:
    """Return ranking candidates, with places whose distances are right between neighbours.

    Rows that may not be hits only count as places, so that those after them do not move nearer.
    """
    rows = connection.execute(
        f"SELECT {_MATTERING}, {limits.matching_sql} FROM row"  # noqa: S608 - values are parameters
        " WHERE row.id IN (SELECT value FROM json_each(:numbers))"
        " ORDER BY row.session, row.sequence, row.kind, row.ref",
        {**limits.values, "numbers": json.dumps(list(places))},
    )
    candidates, placed, last = list[RankingCandidate](), dict[int, int](), 0
    with translate_sqlite_search_decoding_errors():
        for number, session, sequence, kind, speaker, flags, at, importance, ref, allowed in rows:
            known = (placed[one] + apart for one, apart in places[number] if one in placed)
            placed[number] = last = next(known, last + _APART)
            if not allowed:
                continue
            candidate = RankingCandidate(
                number,
                names.text(session),
                last,
                names.text(speaker),
                time_of_search_row(at),
                found.hits.get(number, 0.0),
                USUAL_IMPORTANCE if importance is None else float(importance),
                kind == SPEECH and ref is None and sequence > 0,
                bool(flags & TIMED),
                found.why.get(number, BY_WORDS),
                number in found.named,
            )
            candidates.append(candidate)
    return candidates


def _fetch_with_neighbours(
    connection: sqlite3.Connection,
    names: IndexStringTable,
    best: Sequence[RankedRow],
    limits: Conditions,
) -> tuple[SearchHit, ...]:
    """Return the best rows as hits, with the neighbours that the caller may see."""
    around = _around(connection, [int(each.candidate.key) for each in best])
    numbers = {int(each.candidate.key) for each in best}
    for beside in around.values():
        numbers.update(each for each in (beside.previous, beside.next) if each is not None)
    found = connection.execute(
        f"SELECT {COLUMNS} FROM row WHERE row.id IN (SELECT value FROM json_each(:numbers))"  # noqa: S608 - values are parameters
        f" AND {limits.visible_sql}",
        {**limits.values, "numbers": json.dumps(list(numbers))},
    )
    rows = {columns[0]: sqlite_search_row_from_stored(columns, names) for columns in found}
    return tuple(_search_result(each, rows, around) for each in best)


def _search_result(
    each: RankedRow, rows: dict[int, SearchRow], around: dict[int, _Around]
) -> SearchHit:
    number = int(each.candidate.key)
    beside = around.get(number)
    order = (beside.previous, number, beside.next) if beside else (number,)
    shown = [rows[one] for one in order if one in rows]
    return SearchHit(
        row=rows[number],
        score=each.score,
        why=each.why,
        excerpt="\n".join(map(memory_search_excerpt_line, shown)),
        taint=any(row.taint for row in shown),
    )
