"""Blobs: bytes under their own hash."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.identifier import content_hash
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE
from tests.contract.waiting import at_once


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=2_000))
def test_bytes_come_back_as_they_were_put(home: Home, content: bytes) -> None:
    home.blobs.put(content_hash(content), content)
    assert home.blobs.get(content_hash(content)) == content


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_large_body_comes_back_whole(home: Home, text: str) -> None:
    content = (text * 20_000).encode()
    home.blobs.put(content_hash(content), content)
    assert home.blobs.get(content_hash(content)) == content


def test_put_twice_is_put_once(home: Home) -> None:
    for _ in range(2):
        home.blobs.put(content_hash(b"crab"), b"crab")
    assert home.blobs.get(content_hash(b"crab")) == b"crab"


def test_eight_who_put_the_same_at_once_all_succeed(home: Home) -> None:
    content = JAPANESE.encode() * 1_000
    at_once(8, lambda _: home.blobs.put(content_hash(content), content))
    assert home.blobs.get(content_hash(content)) == content


def test_content_that_is_not_what_its_hash_says_is_not_kept(home: Home) -> None:
    with pytest.raises(Invalid):
        home.blobs.put(content_hash(b"one"), b"two")
    with pytest.raises(NotFound):
        home.blobs.get(content_hash(b"one"))


@pytest.mark.parametrize(
    "name", [content_hash(b"never put"), "", "../../etc/passwd", "朝", "A" * 64]
)
def test_what_was_never_put_is_not_found(home: Home, name: str) -> None:
    with pytest.raises(NotFound):
        home.blobs.get(name)
