"""Dataclasses that get their methods when they are first used, and are none the worse for it."""

import dataclasses
import sys
from collections.abc import Iterator
from threading import Barrier, Thread
from types import ModuleType
from typing import Any

import pytest

from opencrab.bootstrap.aws.cold_start import defer_dataclasses

SOURCE = """
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Base:
    name: str
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Derived(Base):
    size: int = 3

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("size")


class Plain(Base):
    pass


@dataclass(frozen=True, slots=True)
class Slotted:
    name: str
"""


@pytest.fixture
def loaded() -> Iterator[Any]:
    """A module of ours that is loaded while dataclasses are deferred."""
    usual = dataclasses.dataclass
    defer_dataclasses()
    module = ModuleType("opencrab.loaded_for_a_test")
    sys.modules[module.__name__] = module
    try:
        exec(SOURCE, vars(module))  # noqa: S102 - the text above
        yield module
    finally:
        dataclasses.dataclass = usual
        del sys.modules[module.__name__]


def is_finished(cls: type) -> bool:
    """Whether a class has its methods."""
    return isinstance(vars(cls)["__dataclass_fields__"], dict)


def test_a_class_is_finished_by_its_first_instance(loaded: Any) -> None:
    assert not is_finished(loaded.Base)
    one, same = loaded.Base("蟹", ["a"]), loaded.Base(name="蟹", tags=["a"])
    assert is_finished(loaded.Base)
    assert one == same
    assert repr(one).endswith("Base(name='蟹', tags=['a'])")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "other"
    with pytest.raises(TypeError, match="name"):
        loaded.Base()


def test_a_derived_class_finishes_what_it_derives_from(loaded: Any) -> None:
    made = loaded.Derived("a", size=4)
    assert (made.name, made.tags, made.size) == ("a", [], 4)
    assert is_finished(loaded.Base)
    assert dataclasses.replace(made, size=5) == loaded.Derived("a", size=5)
    with pytest.raises(ValueError, match="size"):
        loaded.Derived("a", size=-1)


def test_a_class_that_derives_without_a_decorator_works(loaded: Any) -> None:
    assert loaded.Plain("a").name == "a"
    assert dataclasses.asdict(loaded.Plain("b")) == {"name": "b", "tags": []}


def test_whoever_asks_for_the_fields_gets_them(loaded: Any) -> None:
    assert dataclasses.is_dataclass(loaded.Derived)
    assert [each.name for each in dataclasses.fields(loaded.Derived)] == ["name", "tags", "size"]


def test_a_class_with_slots_and_classes_of_others_are_made_as_usual(loaded: Any) -> None:
    assert is_finished(loaded.Slotted)

    @dataclasses.dataclass
    class OfATest:
        name: str

    assert is_finished(OfATest)


def test_threads_that_come_first_together_make_the_same_class(loaded: Any) -> None:
    together, found = Barrier(8), []

    def make() -> None:
        together.wait()
        found.append(loaded.Derived("a"))

    threads = [Thread(target=make) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [loaded.Derived("a")] * 8
