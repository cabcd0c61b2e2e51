"""Blobs: bytes under their own hash."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencrab.adapters.local_files import LocalBlobs
from opencrab.adapters.s3_files import S3Blobs
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.identifier import content_hash
from opencrab.ports.turn.blobs import Blobs
from tests.aws import account
from tests.aws_memory.account import MemoryAccount
from tests.contract.example import ENGLISH, JAPANESE
from tests.contract.waiting import at_once
from tests.soak import examples

Opens = Callable[[Path, FakeClock], AbstractContextManager[Blobs]]


@contextmanager
def local(folder: Path, clock: FakeClock) -> Iterator[Blobs]:
    yield LocalBlobs(folder)


@contextmanager
def s3(folder: Path, clock: FakeClock) -> Iterator[Blobs]:
    with account(clock) as opened:
        yield S3Blobs(opened.client("s3"), opened.bucket())


@contextmanager
def s3_in_memory(folder: Path, clock: FakeClock) -> Iterator[Blobs]:
    opened = MemoryAccount(clock)
    yield S3Blobs(opened.client("s3"), opened.bucket())


ADAPTERS: tuple[Opens, ...] = (local, s3, s3_in_memory)
"""An adapter of another home is one more line here."""


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: adapter.__name__)
def blobs(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Blobs]:
    opens: Opens = request.param
    with opens(tmp_path, clock) as opened:
        yield opened


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=2_000))
def test_bytes_come_back_as_they_were_put(blobs: Blobs, content: bytes) -> None:
    blobs.put(content_hash(content), content)
    assert blobs.get(content_hash(content)) == content


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_large_body_comes_back_whole(blobs: Blobs, text: str) -> None:
    content = (text * 20_000).encode()
    blobs.put(content_hash(content), content)
    assert blobs.get(content_hash(content)) == content


def test_put_twice_is_put_once(blobs: Blobs) -> None:
    for _ in range(2):
        blobs.put(content_hash(b"crab"), b"crab")
    assert blobs.get(content_hash(b"crab")) == b"crab"


def test_eight_who_put_the_same_at_once_all_succeed(blobs: Blobs) -> None:
    content = JAPANESE.encode() * 1_000
    at_once(8, lambda _: blobs.put(content_hash(content), content))
    assert blobs.get(content_hash(content)) == content


def test_content_that_is_not_what_its_hash_says_is_not_kept(blobs: Blobs) -> None:
    with pytest.raises(Invalid):
        blobs.put(content_hash(b"one"), b"two")
    with pytest.raises(NotFound):
        blobs.get(content_hash(b"one"))


@pytest.mark.parametrize(
    "name", [content_hash(b"never put"), "", "../../etc/passwd", "朝", "A" * 64]
)
def test_what_was_never_put_is_not_found(blobs: Blobs, name: str) -> None:
    with pytest.raises(NotFound):
        blobs.get(name)


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_removed_body_is_gone_with_every_version_of_it(blobs: Blobs, text: str) -> None:
    other = f"{text} too".encode()
    for content in (text.encode(), text.encode(), other):
        blobs.put(content_hash(content), content)
    for _ in range(2):
        blobs.remove(content_hash(text.encode()))
    blobs.remove("nothing")
    with pytest.raises(NotFound):
        blobs.get(content_hash(text.encode()))
    assert blobs.get(content_hash(other)) == other
