"""What an agent's index looks like: its name, its mapping, and rows as documents and back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from opencrab.adapters.opensearch.terms import opensearch_index_text
from opencrab.adapters.search_rows import search_row_microseconds, time_of_search_row
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.errors import Invalid
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.domain.text.query import has_text_time_word
from opencrab.domain.value import value_with_surrogates_joined

SCHEMA = 1
"""Of the mapping and of how texts are cut into terms; an index of another one is built anew.

Terms that only come in addition do not change it: rows from before lack them.
"""

ROW = "row"
SEEN = "seen"
"""What a document is: something to be found, or how far the index has come."""

_K1, _B = 1.2, 0.75
"""BM25's usual weights, said so that no version of the server decides them."""

_AGENT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STAGE = re.compile(r"[a-z][a-z0-9]{0,15}")

_STEMMED = {"tokenizer": "whitespace", "filter": ["lowercase", "porter_stem"]}
_KEYWORD = {"type": "keyword"}
_KEPT_ONLY = {"type": "keyword", "index": False, "doc_values": False}

_FIELDS = {
    "doc": _KEYWORD,
    "terms": {"type": "text", "analyzer": "stems"},
    # Read by nobody since ADR 0029; without it every index there is would have to be built anew.
    "length": {"type": "integer"},
    "bytes": {"type": "integer"},
    "text": _KEPT_ONLY,
    "session": _KEYWORD,
    "sequence": {"type": "integer"},
    "place": {"type": "integer"},
    "kind": _KEYWORD,
    "hearing": _KEYWORD,
    "guild": _KEYWORD,
    "speaker": _KEYWORD,
    "speaker_id": _KEYWORD,
    "at": {"type": "long"},
    "importance": {"type": "float"},
    "taint": {"type": "boolean"},
    "timed": {"type": "boolean"},
    "ref": _KEYWORD,
    "steps": {"type": "object", "enabled": False},
}


def opensearch_index_body(now: datetime) -> dict[str, Any]:
    """Return the body that creates an index; its mapping rejects undeclared fields."""
    return {
        "settings": {
            "index": {"similarity": {"default": {"type": "BM25", "k1": _K1, "b": _B}}},
            "analysis": {"analyzer": {"stems": {"type": "custom", **_STEMMED}}},
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": {"opencrab": SCHEMA, "made_at": search_row_microseconds(now)},
            "properties": _FIELDS,
        },
    }


def opensearch_index_made_at(about: Mapping[str, Any]) -> datetime | None:
    """Return when an index was created; None if it has another schema."""
    if about.get("opencrab") != SCHEMA or not isinstance(about.get("made_at"), int):
        return None
    return time_of_search_row(about["made_at"])


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row, its place among its session's speech, and whether it contains a word of time.

    Speech of one session is numbered from 1 without gaps, whatever other lines are between, so that
    the neighbours of place 7 are 6 and 8. All other rows have place 0.
    """

    row: SearchRow
    place: int
    timed: bool


def place_opensearch_row(row: SearchRow, place: int) -> PlacedRow:
    """Return a row with its place; 0 unless it is speech."""
    return PlacedRow(row, place if row.is_spoken else 0, has_text_time_word(row.text))


def opensearch_index_name(stage: str, agent_id: str) -> str:
    """Return the name of the agent's index; raise Invalid for unsupported characters.

    Index names are lower case, agent ids need not be: a capital letter becomes `_` and its small
    letter, and `_` becomes `__`, so that no two agents share an index.
    """
    if not _STAGE.fullmatch(stage):
        raise Invalid(
            f"stage {stage!r} cannot be part of an index name",
            field="stage",
            cure="begin with a to z, then use a to z and digits, 16 at most",
        )
    if not _AGENT.fullmatch(agent_id):
        raise Invalid(
            f"the agent id {agent_id[:80]!r} cannot be part of an index name",
            field="agent_id",
            cure="use letters, digits, '-' and '_', 64 at most",
        )
    name = re.sub("[A-Z_]", lambda found: f"_{found.group().lower()}", agent_id)
    return f"opencrab-{stage}-{name}"


def opensearch_line_id(session_id: str, sequence: int) -> str:
    """Return the document id of a line."""
    return f"line:{session_id}:{sequence}"


def opensearch_document_id(ref: str) -> str:
    """Return the document id of a stored document, given `SearchRow.id`."""
    return f"kept:{ref}"


def opensearch_row_id(row: SearchRow) -> str:
    """Return the document id of a row, always the same, so that writes are idempotent."""
    return (
        opensearch_document_id(row.id)
        if row.ref
        else opensearch_line_id(row.session_id, row.sequence)
    )


def opensearch_document_of_row(found: PlacedRow) -> dict[str, Any]:
    """Convert a row to an index document."""
    row = found.row
    terms, text = opensearch_index_text(row.text), value_with_surrogates_joined(row.text)
    return {
        "doc": ROW,
        "terms": terms,
        "length": terms.count(" ") + 1 if terms else 0,
        "bytes": len(terms.encode()) + len(text.encode()),
        "text": text,
        "session": row.session_id,
        "sequence": row.sequence,
        "place": found.place,
        "kind": row.kind.value,
        "hearing": row.hearing.value,
        "guild": row.guild_id,
        "speaker": value_with_surrogates_joined(row.speaker),
        "speaker_id": row.speaker_id,
        "at": search_row_microseconds(row.at),
        "importance": row.importance,
        "taint": row.taint,
        "timed": found.timed,
        "ref": row.ref,
    }


def row_of_opensearch_document(source: Mapping[str, Any]) -> PlacedRow:
    """Convert an index document to a row."""
    row = SearchRow(
        session_id=source["session"],
        sequence=source["sequence"],
        kind=RowKind(source["kind"]),
        hearing=Hearing(source["hearing"]),
        speaker_id=source["speaker_id"],
        speaker=source["speaker"],
        at=time_of_search_row(source["at"]),
        text=source["text"],
        guild_id=source["guild"],
        ref=source["ref"],
        importance=source["importance"],
        taint=source["taint"],
    )
    return PlacedRow(row, source["place"], source["timed"])
