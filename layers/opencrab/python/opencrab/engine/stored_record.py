"""Stored records: a body too large for the journal is stored separately under its hash."""

from collections.abc import Iterable

from pydantic import ConfigDict, TypeAdapter

from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.record import BlobPointer, Record
from opencrab.domain.value import read_stored_json
from opencrab.ports.turn.blobs import Blobs

RECORD_BYTES = 300_000
"""The largest record in the journal, in bytes; an item of DynamoDB holds 400 KB."""

_RECORD: TypeAdapter[Record] = TypeAdapter(Record, config=ConfigDict(defer_build=True))


def store_record_body(record: Record, blobs: Blobs) -> Record:
    """Return the record, or a pointer to it after storing a body that is too large."""
    body = record.to_stored().encode()
    if len(body) <= RECORD_BYTES:
        return record
    digest = content_hash(body)
    blobs.put(digest, body)
    return BlobPointer(n=record.n, sha256=digest, size=len(body))


def resolve_record_pointers(records: Iterable[Record], blobs: Blobs) -> tuple[Record, ...]:
    """Replace every pointer among the records by the record that it points to."""
    return tuple(
        read_stored_json(_RECORD, blobs.get(record.sha256))
        if isinstance(record, BlobPointer)
        else record
        for record in records
    )
