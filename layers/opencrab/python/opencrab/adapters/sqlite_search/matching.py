"""Matching: from terms to the best hits by BM25, without weighing what cannot be among them.

Finding out which rows have a term is cheap, weighing a row is not. So when enough rows have one of
the rarer terms, rows that have nothing but the commoner ones are passed over; in those that are
weighed all terms count. Where even the rarest term is in very many, those with no other term are
left out if the scores of the best show that they are not among them.
"""

import math
import sqlite3

from opencrab.adapters.sqlite_search.conditions import Conditions
from opencrab.domain.text.query import MOST_TERMS
from opencrab.domain.text.ranking import MOST_HITS

_WEIGHED = 3_000
"""Rows that the rarer terms must be in, counted for each term, to do without the others."""

_MOST_OF_A_TERM = 2.2
"""BM25 gives a term less than so many times its rarity, however often a row has it (k1 + 1)."""

_LEAST_RARITY = 1e-6
"""What SQLite takes for the rarity of a term that half of the rows have."""

_FROM = "SELECT words.rowid AS id, bm25(words) AS score FROM words"
_FROM_ALLOWED = f"{_FROM} JOIN row ON row.id = words.rowid"
# The plus keeps SQLite from searching once for each of the numbers.
_RARER = " AND +words.rowid IN (SELECT rowid FROM words WHERE words MATCH :rarer)"
# Scores are computed once; only rows that may be among the best are read for their order.
_BEST = """
WITH found AS ({found}),
least AS (SELECT max(score) AS score FROM (SELECT score FROM found ORDER BY score LIMIT :most))
SELECT found.id, found.score FROM found
JOIN row ON row.id = found.id JOIN name ON name.id = row.session
WHERE found.score <= (SELECT score FROM least)
ORDER BY found.score, row.at DESC, name.text, row.sequence, row.kind, row.ref LIMIT :most
"""

_Counted = tuple[int, str]
"""A term, quoted for FTS5, behind the number of its rows."""


def best_sqlite_search_hits(
    connection: sqlite3.Connection, terms: tuple[str, ...], limits: Conditions
) -> dict[int, float]:
    """Return row numbers with BM25 scores, for at most the `MOST_TERMS` rarest terms."""
    counted = _term_row_counts(connection, terms)[:MOST_TERMS]
    match = _any_of(counted)
    weighed = 0
    for number, (count, _) in enumerate(counted):
        if weighed >= _WEIGHED:
            found = dict[int, float]()
            if number == 1 and limits.matches_all:
                found = _best_with_two_terms(connection, counted, limits)
            if not found:
                rarer = _any_of(counted[:number])
                found = _best(connection, {"match": match, "rarer": rarer}, limits)
            if len(found) >= MOST_HITS:
                return found
            break
        weighed += count
    return _best(connection, {"match": match}, limits) if counted else {}


def _best_with_two_terms(
    connection: sqlite3.Connection, counted: list[_Counted], limits: Conditions
) -> dict[int, float]:
    """Return the best rows with the rarest term and another one.

    Empty if a row with the rarest term alone might be among them.
    """
    match = f"{_any_of(counted[:1])} AND ({_any_of(counted[1:])})"
    found = _best(connection, {"match": match}, limits)
    if len(found) < MOST_HITS:
        return {}
    most = connection.execute("SELECT max(id) FROM row").fetchone()[0]
    count = counted[0][0]
    rarity = max(math.log((max(most - count, 0) + 0.5) / (count + 0.5)), _LEAST_RARITY)
    return found if min(found.values()) > _MOST_OF_A_TERM * rarity else {}


def _term_row_counts(connection: sqlite3.Connection, terms: tuple[str, ...]) -> list[_Counted]:
    """Return the number of rows per term, rarest first, without terms that no row has."""
    statement = "SELECT count(*) FROM words WHERE words MATCH ?"
    # Quoted, so that no term acts as an operator.
    quoted = ('"' + term.replace('"', '""') + '"' for term in terms)
    counted = [(int(connection.execute(statement, (term,)).fetchone()[0]), term) for term in quoted]
    return sorted((each for each in counted if each[0]), key=lambda each: each[0])


def _any_of(counted: list[_Counted]) -> str:
    """Return an FTS5 query for any of the terms."""
    return " OR ".join(term for _, term in counted)


def _best(
    connection: sqlite3.Connection, words: dict[str, str], limits: Conditions
) -> dict[int, float]:
    """Return the best rows; ties go to the newest, then by name, so that the order is stable."""
    found = f"{_FROM} WHERE words MATCH :match"
    if not limits.matches_all:
        allowed = f"{limits.among_sql} AND {limits.matching_sql}"
        found = f"{_FROM_ALLOWED} WHERE words MATCH :match{allowed}"
    if "rarer" in words:
        found += _RARER
    values = {**limits.values, **words, "most": MOST_HITS}
    return _positive(connection.execute(_BEST.format(found=found), values).fetchall())


def _positive(found: list[tuple[int, float]]) -> dict[int, float]:
    """Negate SQLite's BM25 scores, of which lower ones are better."""
    return {number: -score for number, score in found}
