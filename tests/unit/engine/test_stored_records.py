"""Records too large for the journal lie elsewhere and come back whole."""

import pytest

from opencrab.domain.errors import NotFound
from opencrab.domain.turn.record import (
    BlobPointer,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
)
from opencrab.ports.turn.journal import RECORD_BYTES, resolve_record_pointers, store_record_body
from tests.unit.engine.known_world import World


def answered(text: str) -> ModelResult:
    return ModelResult(n=3, state=CallState.COMPLETED, answer=ModelAnswer(text=text))


def filled(character: str, size: int) -> ModelResult:
    """A record of exactly this many bytes."""
    rest = size - len(answered("").model_dump_json().encode())
    width = len(character.encode())
    return answered(character * (rest // width) + "x" * (rest % width))


@pytest.mark.parametrize("character", ["海", "a"])
def test_a_record_up_to_the_limit_is_stored_as_it_is(character: str, world: World) -> None:
    record = filled(character, RECORD_BYTES)
    assert len(record.model_dump_json().encode()) == RECORD_BYTES
    assert store_record_body(record, world.runtime.home.blobs) is record


@pytest.mark.parametrize("character", ["海", "a", "🦀"])
def test_a_larger_record_is_a_pointer_that_leads_back_to_it(character: str, world: World) -> None:
    record, blobs = filled(character, RECORD_BYTES + 1), world.runtime.home.blobs
    pointer = store_record_body(record, blobs)
    assert isinstance(pointer, BlobPointer)
    assert (pointer.n, pointer.size) == (3, RECORD_BYTES + 1)
    assert len(pointer.model_dump_json()) < 200
    assert resolve_record_pointers((pointer,), blobs) == (record,)


def test_only_pointers_are_resolved_and_the_order_stays(world: World) -> None:
    blobs = world.runtime.home.blobs
    intent = ModelIntent(n=3, model="m", request_hash="h", reserved=0)
    large = filled("海", RECORD_BYTES + 1)
    stored = (intent, store_record_body(large, blobs), answered("短い"))
    assert resolve_record_pointers(stored, blobs) == (intent, large, answered("短い"))


def test_a_pointer_to_nothing_is_never_taken_for_an_empty_record(world: World) -> None:
    with pytest.raises(NotFound, match="missing or damaged"):
        resolve_record_pointers(
            (BlobPointer(n=1, sha256="0" * 64, size=1),), world.runtime.home.blobs
        )
