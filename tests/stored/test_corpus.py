"""Rows of every release are read, and written again with all that they hold."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from opencrab.domain.document import Document
from opencrab.domain.value import Value
from tests.stored.forms import CORPUS, FORMS, stored_kinds
from tests.stored.release import known_releases

Row = tuple[str, dict[str, Any]]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """As in a process that has read nothing of a newer release, before and after."""
    Value.unknown_fields_read = False
    yield
    Value.unknown_fields_read = False


def rows_of(release: Path) -> list[Row]:
    lines = (release / CORPUS).read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [(each["kind"], each["body"]) for each in found]


@pytest.mark.parametrize("release", known_releases(), ids=lambda each: each.name)
def test_every_row_of_a_release_is_read_and_written_as_it_was(release: Path) -> None:
    rows = rows_of(release)
    assert len(rows) > 200
    for kind, body in rows:
        value = stored_kinds()[kind].from_stored(json.dumps(body))
        again = type(value).from_stored(value.to_stored())
        assert again == value, kind
        assert _without_defaults(value, body) == {}, kind


@pytest.mark.parametrize("release", known_releases(), ids=lambda each: each.name)
def test_a_row_with_the_fields_of_a_later_release_keeps_them(release: Path) -> None:
    """As this release reads the next one: a field more in each row, here and within documents."""
    for kind, body in rows_of(release):
        if not stored_kinds()[kind].keeps_unknown_fields:
            continue
        later = body | {"潮": {"満ち": [1, 2]}}
        value = stored_kinds()[kind].from_stored(json.dumps(later))
        assert json.loads(value.to_stored())["潮"] == later["潮"], kind
        fact = Document(owner="hana", kind="crab", id="c", body=later)
        kept = fact.with_body(fact.read(stored_kinds()[kind]))
        assert kept.body is not None
        assert kept.body["潮"] == later["潮"], kind


@pytest.mark.parametrize("release", known_releases()[1:], ids=lambda each: each.name)
def test_rows_of_a_release_fit_the_forms_of_the_one_before(release: Path) -> None:
    """What a reader of the release before would do: its JSON Schemas, further fields allowed."""
    releases = known_releases()
    before = releases[releases.index(release) - 1]
    forms = json.loads((before / FORMS).read_text(encoding="utf-8"))
    for kind, body in rows_of(release):
        if kind in forms["kinds"]:
            assert unfit(forms, kind, body) == [], kind


def test_a_release_s_own_rows_fit_its_forms_and_others_do_not() -> None:
    """The judge itself: it accepts what was written, and sees what is wrong."""
    release = known_releases()[-1]
    forms = json.loads((release / FORMS).read_text(encoding="utf-8"))
    for kind, body in rows_of(release):
        assert unfit(forms, kind, body) == [], kind
        required = forms["values"][kind]["required"]
        if required:
            assert unfit(forms, kind, {k: v for k, v in body.items() if k != required[0]}), kind


def unfit(forms: dict[str, Any], kind: str, body: dict[str, Any]) -> list[str]:
    """What of a row a reader with these forms could not read."""
    schema = {"$ref": f"#/$defs/{kind}", "$defs": forms["values"]}
    return [each.message for each in jsonschema.Draft202012Validator(schema).iter_errors(body)]


def _without_defaults(value: Value, body: dict[str, Any]) -> dict[str, Any]:
    """Fields of a row that the value does not have in the same form; none if all is kept."""
    now = json.loads(value.to_stored())
    return {name: each for name, each in body.items() if name not in now}
