"""Stored values of other releases: unknown fields stay, older forms are upgraded."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from opencrab.domain.document import Document
from opencrab.domain.errors import UnreadableValue
from opencrab.domain.value import StoredUpgrade, Value, read_stored_json


class Claw(Value):
    side: str = "left"
    size: int = 1


class Crab(Value):
    name: str
    claws: tuple[Claw, ...] = ()
    named: dict[str, Claw] = Field(default_factory=dict)


NEWER = {
    "name": "蟹",
    "claws": [{"side": "right", "grip": 3}, {"size": 2}],
    "named": {"大": {"size": 5, "grip": 9}},
    "moods": ["calm", {"since": "2027"}],
}
"""A crab as a later release writes it: fields that nobody here knows, at every depth."""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As in a process that has read nothing of a newer release, before and after."""
    Value.unknown_fields_read = False
    yield
    Value.unknown_fields_read = False


def test_unknown_fields_of_the_store_are_written_again_at_every_depth() -> None:
    crab = Crab.from_stored(json.dumps(NEWER))
    assert crab.name == "蟹"
    assert json.loads(crab.without_defaults()) == NEWER
    changed = crab.replaced(name="海老", claws=(*crab.claws[1:], Claw(size=7)))
    written = json.loads(changed.without_defaults())
    assert written == NEWER | {"name": "海老", "claws": [{"size": 2}, {"size": 7}]}


def test_a_document_keeps_them_too() -> None:
    fact = Document(owner="hana", kind="crab", id="c", body=NEWER)
    crab = fact.read(Crab)
    after = fact.with_body(crab.replaced(name="海老"))
    assert after.body == NEWER | {"name": "海老"}


def test_erasing_drops_what_it_cannot_judge() -> None:
    fact = Document(owner="hana", kind="crab", id="c", body=NEWER)
    erased = fact.with_erased_body(fact.read(Crab).replaced(name=""))
    known = {"name": "", "claws": [{"side": "right"}, {"size": 2}], "named": {"大": {"size": 5}}}
    assert erased.body == known
    assert fact.read(Crab).without_unknown_fields() == Crab.model_validate(known | {"name": "蟹"})


def test_what_comes_from_outside_is_as_strict_as_ever() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Crab.model_validate(NEWER)
    Crab.from_stored(NEWER)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Crab.model_validate(NEWER)


def test_a_value_with_unknown_fields_shows_only_the_known_ones() -> None:
    crab = Crab.from_stored(NEWER)
    assert dict(crab).keys() == {"name", "claws", "named"}
    assert "moods" not in crab.model_dump()
    # A view or another value that is made of it does not fail.
    assert Crab(**dict(crab)).name == "蟹"


def test_values_without_unknown_fields_equal_those_that_were_read_strictly() -> None:
    plain = {"size": 2}
    tolerant = Crab.from_stored({"name": "蟹", "claws": [plain], "moods": []}).claws[0]
    assert tolerant == Claw.model_validate(plain)
    assert hash(tolerant) == hash(Claw.model_validate(plain))


def test_a_row_that_nothing_here_can_read_says_which_field_and_what_to_do() -> None:
    with pytest.raises(UnreadableValue, match=r"a stored Crab .*claws\.0\.size") as refused:
        Crab.from_stored({"name": "蟹", "claws": [{"size": "秘密の言葉"}]})
    assert "newest version" in str(refused.value.cure)
    assert "秘密" not in refused.value.message
    for damaged in ("[]", "{", '"蟹"'):
        with pytest.raises(UnreadableValue, match="damaged"):
            Crab.from_stored(damaged)


class Named(Value):
    id: str
    size: int = 1


@pytest.mark.parametrize(
    ("found", "named"), [("crab-1", "Named 'crab-1' cannot"), ("words of hers", "Named cannot")]
)
def test_a_row_that_cannot_be_read_is_named_by_its_id_and_no_words(found: str, named: str) -> None:
    with pytest.raises(UnreadableValue, match=named) as refused:
        Named.from_stored({"id": found, "size": "large"})
    assert "words" not in refused.value.message
    assert refused.value.cure is not None
    assert refused.value.cure.endswith("restore a backup")


def test_kinds_of_a_union_are_read_as_tolerantly() -> None:
    union: TypeAdapter[tuple[Crab, ...]] = TypeAdapter(tuple[Crab, ...])
    (found,) = read_stored_json(union, json.dumps([NEWER]))
    assert json.loads(found.without_defaults()) == NEWER
    with pytest.raises(UnreadableValue):
        read_stored_json(union, '[{"name": 3}]')


def _sized(fields: dict[str, Any]) -> dict[str, Any]:
    """Version 2 counts millimetres, where version 1 counted centimetres."""
    return fields | {"width_mm": fields.pop("width_cm", 0) * 10}


def _coloured(fields: dict[str, Any]) -> dict[str, Any]:
    return {"colour": "red"} | fields


class Shell(Value):
    stored_version: ClassVar[int] = 3
    stored_upgrades: ClassVar[Mapping[int, StoredUpgrade]] = {2: _sized, 3: _coloured}

    width_mm: int
    colour: str


@pytest.mark.parametrize(
    ("stored", "colour"),
    [
        ({"width_cm": 4}, "red"),
        ({"width_mm": 40, "schema": 2}, "red"),
        ({"width_mm": 40, "colour": "青", "schema": 3}, "青"),
    ],
)
def test_every_version_before_is_read(stored: dict[str, Any], colour: str) -> None:
    for body in (stored, json.dumps(stored)):
        shell = Shell.from_stored(body)
        assert shell == Shell(width_mm=40, colour=colour)
        assert json.loads(shell.to_stored()) == {"width_mm": 40, "colour": colour, "schema": 3}


def test_what_an_older_release_rewrote_says_so() -> None:
    """Version 1 knows no stamp: it keeps the newer fields, and the upgrades run once more."""
    newer = {"name": "蟹", "schema": 7, "tide": "high"}
    assert json.loads(Crab.from_stored(newer).to_stored(exclude_defaults=True)) == {
        "name": "蟹",
        "tide": "high",
    }


def test_a_value_that_unknown_fields_might_restrict_is_not_read() -> None:
    class Pass(Value):
        keeps_unknown_fields: ClassVar[bool] = False
        scope: str

    assert Pass.from_stored({"scope": "owner"}).scope == "owner"
    with pytest.raises(UnreadableValue, match="only_on"):
        Pass.from_stored({"scope": "owner", "only_on": "monday"})


def test_nothing_is_looked_at_twice_while_every_field_is_known() -> None:
    crab = Crab.from_stored({"name": "蟹", "claws": [{"size": 2}]})
    assert crab.to_stored() == crab.model_dump_json()
    assert not Value.unknown_fields_read
