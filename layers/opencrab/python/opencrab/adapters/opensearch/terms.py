"""Terms: how texts are cut for the server, and which rows in our hands have a query's words.

The server stems by Porter's algorithm, and so does SQLite's tokenizer; what the server cannot know
yet is therefore held against a query by a table in memory, and finds what it will find there.
"""

import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import cache

from opencrab.domain.text.terms import index_terms_of_text

_LONGEST_TERM = 100
"""The server cuts a word at 255 characters, and would find its parts; here the rest is left out."""

_TABLE = """
    CREATE VIRTUAL TABLE word USING fts5(terms, tokenize='porter unicode61 remove_diacritics 2')
"""


def opensearch_index_text(text: str) -> str:
    """Return a text's terms, separated by spaces; the server only splits and stems them.

    Latin letters lose their accents, as in SQLite's FTS5 index.
    """
    terms: Iterable[str] = list(index_terms_of_text(text))
    if _accents().search(text) or max(map(len, terms), default=0) > _LONGEST_TERM:
        terms = map(plain_opensearch_term, terms)
    return " ".join(terms)


def plain_opensearch_term(term: str) -> str:
    """Return a term without accents, lower case, cut to 100 characters."""
    if not term.isascii():
        term = "".join(map(_letter, unicodedata.normalize("NFC", term))).lower()
    return term[:_LONGEST_TERM]


def opensearch_term_shares(terms: Iterable[str], texts: Mapping[str, str]) -> dict[str, float]:
    """Return each text's share of the query's terms, up to 1; rare terms weigh more.

    Texts that contain none of the terms are left out.
    """
    keys = list(texts)
    points = dict[str, float]()
    whole = 0.0
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(_TABLE)
        rows = ((place, opensearch_index_text(texts[key])) for place, key in enumerate(keys))
        database.executemany("INSERT INTO word (rowid, terms) VALUES (?, ?)", rows)
        for term in terms:
            quoted = '"{}"'.format(term.replace('"', '""'))
            found = database.execute("SELECT rowid FROM word WHERE word MATCH ?", (quoted,))
            having = [keys[place] for (place,) in found]
            weight = math.log(1 + len(keys) / len(having)) if having else 0.0
            whole += weight
            for key in having:
                points[key] = points.get(key, 0.0) + weight
    return {key: given / whole for key, given in points.items()}


def _letter(character: str) -> str:
    """Return a Latin letter without its accent; any other character unchanged."""
    first = unicodedata.normalize("NFD", character)[0]
    return first if first.isascii() else character


@cache
def _accents() -> re.Pattern[str]:
    """Return a pattern that finds possible accented Latin letters, composed or decomposed."""
    return re.compile("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff\u2100-\u214f]")
