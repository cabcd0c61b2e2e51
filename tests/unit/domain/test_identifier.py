"""Ids: sortable ones sort by time, stable ones depend on every cause and nothing else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.identifier import content_hash, new_ulid, stable_id, turn_id

FORM = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")

times = st.integers(0, 2**48 - 1)
chances = st.binary(min_size=10, max_size=10)
causes = st.lists(st.text("ab:0123海", max_size=6), max_size=4)


@given(one=st.tuples(times, chances), other=st.tuples(times, chances))
def test_ids_sort_by_time_and_then_by_chance(
    one: tuple[int, bytes], other: tuple[int, bytes]
) -> None:
    assert (new_ulid(*one) < new_ulid(*other)) is (one < other)
    assert FORM.fullmatch(new_ulid(*one))


def test_an_id_is_the_ulid_of_the_specification() -> None:
    assert new_ulid(1_469_918_176_385, bytes(10)) == "01aryz6s410000000000000000"
    assert new_ulid(2**48 - 1, b"\xff" * 10) == "7" + "z" * 25


@given(one=causes, other=causes)
def test_two_lists_of_causes_give_one_id_only_when_they_are_equal(
    one: list[str], other: list[str]
) -> None:
    assert (stable_id(*one) == stable_id(*other)) is (one == other)
    assert FORM.fullmatch(stable_id(*one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", ""), ("", "a")),
        (("a",), ("a", "")),
        (("1:a",), ("a",)),
        (("海", "の"), ("海の",)),
    ],
)
def test_causes_are_framed(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert stable_id(*one) != stable_id(*other)


def test_a_stable_id_stays_what_it_is_for_ever() -> None:
    assert stable_id("turn", "海") == "xtgr2d4mdgwp5w5gxy0djn76mq"


def test_a_message_to_three_agents_is_three_turns_and_twice_the_same_is_one() -> None:
    def turn(**changes: str) -> str:
        fields = {"source": "rest", "principal": "k1", "source_id": "海", "agent_id": "a"}
        return turn_id(**fields | changes)

    assert len({turn(agent_id=agent_id) for agent_id in ("a", "b", "c")}) == 3
    assert turn() == turn()
    changed = [turn(source="cli"), turn(principal="k2"), turn(source_id="山"), turn(agent_id="b")]
    assert len({turn(), *changed}) == 5


def test_content_is_known_by_its_sha256() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert content_hash(b"") == empty
    assert content_hash("蟹".encode()) != content_hash("蟹\n".encode())
