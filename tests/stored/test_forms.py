"""A stored value changes its form with its version only, and the last release reads it."""

import json
from typing import Any, ClassVar

import pytest

from opencrab.domain.value import Value
from tests.stored.forms import (
    FORMS,
    Forms,
    changes_between,
    forms_of,
    hindrances_between,
    stored_kinds,
)
from tests.stored.release import (
    changelog,
    known_releases,
    released_versions,
    version_of_package,
)


def forms_of_release(index: int) -> Forms:
    path = known_releases()[index] / FORMS
    found: Forms = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def now() -> Forms:
    found: Forms = json.loads(json.dumps(forms_of(stored_kinds())))
    return found


def is_being_prepared() -> bool:
    newest = known_releases()[-1].name
    return newest == version_of_package() and newest not in released_versions(changelog())


def test_what_is_stored_is_found() -> None:
    """The walk itself: a guard that finds nothing would always pass."""
    kinds = stored_kinds()
    assert len(kinds) > 90
    assert {"Session", "Turn", "Line", "ModelIntent", "Goal", "Preferences"} <= kinds.keys()


def test_no_stored_value_changed_without_its_version(now: Forms) -> None:
    released = forms_of_release(-1)
    changed = changes_between(released, now)
    newest = known_releases()[-1].name
    if is_being_prepared():
        new = now["kinds"].keys() ^ released["kinds"].keys()
        different = changed or new
        assert not different, (
            f"stored values changed: {different}. {newest} is not released yet: write its "
            "forms again with `python -m tests.stored --forms`, and look at the difference"
        )
        return
    silent = {
        kind: words
        for kind, words in changed.items()
        if now["kinds"][kind] <= released["kinds"][kind]
    }
    assert not silent, (
        f"stored values changed since {newest}: {silent}. Raise `stored_version` of each by one; "
        "if a default does not say what older rows mean, add a function to its `stored_upgrades` "
        "(CONTRIBUTING.md, “Changing what is stored”)"
    )


def test_the_release_before_reads_what_this_one_writes(now: Forms) -> None:
    hindrances = hindrances_between(forms_of_release(-1), now)
    assert not hindrances, (
        f"{hindrances}: {known_releases()[-1].name} could not read it after going back. Add it "
        "beside what there is, with a default, and take the old one away a release later"
    )


def test_no_stored_kind_is_forgotten(now: Forms) -> None:
    gone = forms_of_release(-1)["kinds"].keys() - now["kinds"].keys()
    assert not gone, f"{gone} are read no more, although rows of the last release may hold them"


# What the comparison sees, shown with values of its own.


class Claw(Value):
    size: int = 1


class Crab(Value):
    name: str
    claws: tuple[Claw, ...] = ()


class Reef(Value):
    """Its default holds another value, whose new fields are no new default."""

    claw: Claw = Claw(size=3)


def test_a_default_that_got_a_field_is_the_same_default() -> None:
    before = _forms(Reef=Reef)
    after = json.loads(json.dumps(before))
    after["values"]["Reef"]["properties"]["claw"]["default"]["grip"] = 0
    assert changes_between(before, after)["Reef"]
    assert hindrances_between(before, after) == []


def _forms(**kinds: type[Value]) -> Forms:
    found: Forms = json.loads(json.dumps(forms_of(kinds)))
    return found


def test_a_new_field_with_a_default_is_a_change_that_the_release_before_reads() -> None:
    before = _forms(Crab=Crab)

    class Claw(Value):
        size: int = 1
        grip: int = 0

    class Crab2(Value):
        stored_version: ClassVar[int] = 2
        name: str
        claws: tuple[Claw, ...] = ()

    after = _renamed(_forms(Crab2=Crab2), "Crab2", "Crab")
    assert changes_between(before, after)["Crab"] == ["Claw.grip is new"]
    assert after["kinds"]["Crab"] > before["kinds"]["Crab"]
    assert hindrances_between(before, after) == []


def test_what_the_release_before_cannot_read_is_named() -> None:
    class Crab3(Value):
        name: int
        tide: str
        claws: tuple[Claw, ...] = (Claw(size=2),)

    class Bare(Value):
        claws: tuple[Claw, ...] = ()

    before = _forms(Crab=Crab)
    changed = _renamed(_forms(Crab3=Crab3), "Crab3", "Crab")
    assert hindrances_between(before, changed) == [
        "Crab.tide is required now",
        "Crab.claws has another default",
        "Crab.name has another type",
    ]
    bare = _renamed(_forms(Bare=Bare), "Bare", "Crab")
    assert hindrances_between(before, bare) == [
        "Crab.name is required by the release before",
        "Crab.name is still written by the release before",
    ]


def _renamed(forms: Forms, name: str, other: str) -> Forms:
    found: dict[str, Any] = json.loads(json.dumps(forms).replace(f'"{name}"', f'"{other}"'))
    return found
