"""Records in their stored form: a body too large for the journal lies elsewhere by its hash."""

from collections.abc import Iterable

from pydantic import ConfigDict, TypeAdapter

from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.record import BlobPointer, Record
from opencrab.ports.turn.blobs import Blobs

RECORD_BYTES = 300_000
"""Largest record in the journal; an item of DynamoDB holds 400 KB."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))


def store_record_body(record: Record, blobs: Blobs) -> Record:
    """The record itself, or a pointer to it after its body was stored."""
    body = record.model_dump_json().encode()
    if len(body) <= RECORD_BYTES:
        return record
    digest = content_hash(body)
    blobs.put(digest, body)
    return BlobPointer(n=record.n, sha256=digest, size=len(body))


def resolve_record_pointers(records: Iterable[Record], blobs: Blobs) -> tuple[Record, ...]:
    """The records with every pointer replaced by what it points to."""
    return tuple(
        _RECORD.validate_json(blobs.get(record.sha256))
        if isinstance(record, BlobPointer)
        else record
        for record in records
    )
