"""Matching: from terms to the best hits by BM25, without weighing what cannot be among them.

Finding out which rows have a term is cheap, weighing a row is not. So when enough rows have one of
the rarer terms, rows that have nothing but the commoner ones are passed over; in those that are
weighed all terms count.
"""

import sqlite3

from opencrab.adapters.sqlite_search.conditions import Conditions
from opencrab.domain.text.query import MOST_TERMS
from opencrab.domain.text.ranking import MOST_HITS

_WEIGHED = 3_000
"""Rows that the rarer terms must be in, counted for each term, to do without the others."""

# The name of the score spares SQLite to work it out again for the order.
_BEST = "SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH :match"
_BEST_ALLOWED = (
    "SELECT row.id, bm25(words) AS score FROM words JOIN row ON row.id = words.rowid"
    " JOIN name ON name.id = row.session WHERE words MATCH :match"
)
# The plus keeps SQLite from searching once for each of the numbers.
_RARER = " AND +words.rowid IN (SELECT rowid FROM words WHERE words MATCH :rarer)"
_ORDER = " ORDER BY score, row.at DESC, name.text, row.sequence, row.kind, row.ref LIMIT :most"


def best_sqlite_search_hits(
    connection: sqlite3.Connection, terms: tuple[str, ...], limits: Conditions
) -> dict[int, float]:
    """Return row numbers with BM25 scores, for at most the `MOST_TERMS` rarest terms."""
    counted = _term_row_counts(connection, terms)[:MOST_TERMS]
    match = _any_of([term for _, term in counted])
    rarer = list[str]()
    weighed = 0
    for count, term in counted:
        if weighed >= _WEIGHED:
            found = _best(connection, {"match": match, "rarer": _any_of(rarer)}, limits)
            if len(found) >= MOST_HITS:
                return found
            break
        weighed += count
        rarer.append(term)
    return _best(connection, {"match": match}, limits) if counted else {}


def _term_row_counts(
    connection: sqlite3.Connection, terms: tuple[str, ...]
) -> list[tuple[int, str]]:
    """Return the number of rows per term, rarest first, without terms that no row has."""
    statement = "SELECT count(*) FROM words WHERE words MATCH ?"
    counted = [
        (int(connection.execute(statement, (_any_of([term]),)).fetchone()[0]), term)
        for term in terms
    ]
    return sorted((each for each in counted if each[0]), key=lambda each: each[0])


def _any_of(terms: list[str]) -> str:
    """Return an FTS5 query for any of the terms, quoted so that none acts as an operator."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _best(
    connection: sqlite3.Connection, words: dict[str, str], limits: Conditions
) -> dict[int, float]:
    """Return the best rows; ties go to the newest, then by name, so that the order is stable."""
    rarer = _RARER if "rarer" in words else ""
    if limits.matches_all:
        statement = f"{_BEST}{rarer} ORDER BY score LIMIT :most"
        found = connection.execute(statement, {**words, "most": MOST_HITS + 1}).fetchall()
        if len(found) <= MOST_HITS or found[-1][1] != found[-2][1]:
            return _positive(found[:MOST_HITS])
    statement = f"{_BEST_ALLOWED}{limits.among_sql}{rarer} AND {limits.matching_sql}{_ORDER}"
    values = {**limits.values, **words, "most": MOST_HITS}
    return _positive(connection.execute(statement, values).fetchall())


def _positive(found: list[tuple[int, float]]) -> dict[int, float]:
    """Negate SQLite's BM25 scores, of which lower ones are better."""
    return {number: -score for number, score in found}
