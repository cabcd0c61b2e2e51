"""Conditions: a query's clearance and filters as they stand in every statement of a search."""

import json
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from opencrab.adapters.search_rows import search_row_microseconds
from opencrab.adapters.sqlite_search.row_codec import IndexStringTable
from opencrab.adapters.sqlite_search.schema import HEARINGS, KINDS, SPEECH
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.memory.search_row import RowKind, SearchClearance
from opencrab.ports.memory.search import SearchQuery

if TYPE_CHECKING:
    from opencrab.domain.text.dates import TimeSpan

_NOBODY = 0
"""A number that no name has."""


@dataclass(frozen=True)
class Conditions:
    """SQL conditions on the table `row`, and their parameter values.

    `visible_sql` selects the rows that the caller may see, `matching_sql` those that also match
    every filter. `among_sql` is a condition on the full-text table for filters on kinds of
    documents: it leaves out what an index on `row` can tell, before a row is read.
    """

    visible_sql: str
    matching_sql: str
    among_sql: str = ""
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def matches_all(self) -> bool:
        """True if there is no condition, so that every row matches."""
        return self.matching_sql == _TRUE

    def at_times(self, times: "Iterable[TimeSpan]") -> "Conditions":
        """Return these conditions for rows of these times or near them only.

        The values also have `since` and `until` of each time, by its number.
        """
        values, spans = dict(self.values), list[str]()
        for number, time in enumerate(times):
            bounds = zip(("since", "until", "from", "to"), time, strict=True)
            values |= {f"{name}{number}": search_row_microseconds(at) for name, at in bounds}
            spans.append(f"row.at >= :from{number} AND row.at < :to{number}")
        either = f"({' OR '.join(f'({each})' for each in spans)})"
        return replace(self, matching_sql=_all([self.matching_sql, either]), values=values)


_TRUE = "(1)"
_DOCUMENTS = frozenset({RowKind.MEMORY, RowKind.EXPERIENCE, RowKind.SUMMARY})


def sqlite_search_conditions(
    query: SearchQuery, names: IndexStringTable, heard: AbstractSet[str] | None = None
) -> Conditions | None:
    """Return the conditions of a query; None if no row can match.

    `heard` are the sessions that the person of the clearance hears, None for all where that person
    spoke.
    """
    values = dict[str, Any]()
    numbers = None if heard is None else [_number(names, each) for each in sorted(heard)]
    cleared = _clearance(query.clearance, names, values, numbers)
    visible = [*cleared, *_before(query, names, values)]
    filters = [*visible]
    if query.session_id is not None:
        filters.append("row.session = :session")
        values["session"] = _number(names, query.session_id)
    if query.speaker is not None:
        filters.append(":speaker IN (row.speaker, row.person)")
        values["speaker"] = _number(names, query.speaker)
    for name, wanted in (
        ("kind", sorted(KINDS[each] for each in query.kinds)),
        ("hearing", sorted(HEARINGS[each] for each in query.hearings)),
    ):
        if wanted:
            filters.append(f"row.{name} IN ({', '.join(map(str, wanted))})")
    for name, limit, comparison in (("since", query.since, ">="), ("until", query.until, "<=")):
        if limit is not None:
            filters.append(f"row.at {comparison} :{name}")
            values[name] = search_row_microseconds(limit)
    if _NOBODY in (values.get("session"), values.get("speaker")):
        return None
    return Conditions(_all(visible), _all(filters), _among(query.kinds), values)


def _among(kinds: AbstractSet[RowKind]) -> str:
    if not kinds or not kinds <= _DOCUMENTS:
        return ""
    numbers = ", ".join(str(KINDS[each]) for each in sorted(kinds))
    # The plus keeps SQLite from searching once for each of them.
    kept = f"kept.ref IS NOT NULL AND kept.kind IN ({numbers})"
    return f" AND +words.rowid IN (SELECT kept.id FROM row AS kept WHERE {kept})"  # noqa: S608 - numbers of kinds


def _clearance(
    clearance: SearchClearance,
    names: IndexStringTable,
    values: dict[str, Any],
    heard: list[int] | None,
) -> list[str]:
    """Return the conditions of `SearchClearance.allows`; a test compares the two."""
    if clearance.whole:
        return []
    allowed = [f"row.hearing = {HEARINGS[Hearing.PUBLIC]}"]
    if clearance.guild_id:
        allowed.append(f"(row.hearing = {HEARINGS[Hearing.GUILD]} AND row.guild = :here_guild)")
        values["here_guild"] = _number(names, clearance.guild_id)
    if clearance.session_id:
        thought = KINDS[RowKind.INNER_VOICE]
        line = f"(row.ref IS NULL AND row.kind != {thought})"
        told = f"({line} OR row.hearing != {HEARINGS[Hearing.PRIVATE]})"
        limit = told if clearance.knows_session else f"row.kind = {SPEECH}"
        allowed.append(f"(row.session = :here AND {limit})")
        values["here"] = _number(names, clearance.session_id)
    if clearance.person_id:
        there = "SELECT value FROM json_each(:heard)"
        if heard is None:
            there = "SELECT session FROM spoke WHERE person = :asking"
            values["asking"] = _number(names, clearance.person_id)
        else:
            values["heard"] = json.dumps(heard)
        told = f"row.hearing != {HEARINGS[Hearing.PRIVATE]}"
        allowed.append(f"({told} AND row.session IN ({there}))")
    return [f"({' OR '.join(allowed)})"]


def _before(query: SearchQuery, names: IndexStringTable, values: dict[str, Any]) -> list[str]:
    if query.before is None:
        return []
    session_id, sequence = query.before
    values["before_session"] = _number(names, session_id)
    values["before"] = sequence
    return ["NOT (row.session = :before_session AND row.ref IS NULL AND row.sequence >= :before)"]


def _number(names: IndexStringTable, text: str) -> int:
    return names.find_id(text) or _NOBODY


def _all(conditions: list[str]) -> str:
    return f"({' AND '.join(conditions)})" if conditions else _TRUE
