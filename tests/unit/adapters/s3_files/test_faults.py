"""Whatever call fails, before or after it took place: old or new, and a repeat ends it."""

from contextlib import nullcontext, suppress

import pytest

from opencrab.domain.errors import Invalid, NotFound, TooLarge, Unavailable
from opencrab.ports.workspace.files import ABSENT
from opencrab.ports.workspace.ledger import GRACE
from tests.unit.adapters.s3_files.trouble import LARGEST, World

PATH = "メモ/今日.md"
OLD, NEW = "古い内容".encode() * 10, b"new content " * 20
WRITE_CALLS = ["ledger.entry", "head_object", "ledger.save", "put_object", "ledger.save"]
DELETE_CALLS = ["ledger.entry", "head_object", "delete_object", "ledger.save"]

both_times = pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])


@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "creating"])
def test_a_write_asks_five_times(s3: World, *, existing: bool) -> None:
    if existing:
        s3.files.write("mika", PATH, OLD)
    s3.trouble.disarm()
    s3.files.write("mika", PATH, NEW)
    assert s3.trouble.calls == WRITE_CALLS
    s3.check_exact()


def test_a_repeat_of_a_settled_write_only_looks(s3: World) -> None:
    s3.files.write("mika", PATH, NEW)
    s3.trouble.disarm()
    s3.files.write("mika", PATH, NEW)
    assert s3.trouble.calls == ["ledger.entry", "head_object"]
    assert s3.versions(PATH) == 1


@both_times
@pytest.mark.parametrize("conditional", [True, False], ids=["conditional", "free"])
@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "creating"])
@pytest.mark.parametrize("at", range(len(WRITE_CALLS)))
def test_whatever_call_of_a_write_fails_it_is_whole_and_a_repeat_ends_it(
    at: int, s3: World, *, existing: bool, conditional: bool, afterwards: bool
) -> None:
    first = s3.files.write("mika", PATH, OLD) if existing else None
    condition = (first.version if first else ABSENT) if conditional else None
    s3.trouble.arm(at, afterwards=afterwards)
    with nullcontext() if at == len(WRITE_CALLS) - 1 else pytest.raises(Unavailable):
        s3.files.write("mika", PATH, NEW, condition=condition)
    assert s3.trouble.failed == WRITE_CALLS[at]
    check_whole(s3, existing=existing)
    written = s3.calm.write("mika", PATH, NEW, condition=condition)
    assert s3.calm.read("mika", PATH) == (written, NEW)
    assert s3.calm.list("mika") == (written,)
    assert s3.versions(PATH) == (2 if existing else 1), "no version more than needed"
    s3.check_exact()


def check_whole(s3: World, *, existing: bool) -> None:
    """One file with one of the two contents, or none if there was none; a list shows the same."""
    s3.check_counted()
    listed = s3.calm.list("mika")
    if listed:
        assert s3.calm.read("mika", PATH) in [
            (listed[0], NEW),
            (listed[0], OLD if existing else NEW),
        ]
    assert len(listed) == 1 or not existing
    s3.check_counted()


@both_times
@pytest.mark.parametrize("at", range(len(DELETE_CALLS)))
def test_whatever_call_of_a_deletion_fails_it_is_whole_and_a_repeat_ends_it(
    at: int, s3: World, *, afterwards: bool
) -> None:
    s3.files.write("mika", PATH, OLD)
    s3.trouble.arm(at, afterwards=afterwards)
    with nullcontext() if at == len(DELETE_CALLS) - 1 else pytest.raises(Unavailable):
        s3.files.delete("mika", PATH)
    assert s3.trouble.failed == DELETE_CALLS[at]
    s3.check_counted()
    listed = s3.calm.list("mika")
    assert [s3.calm.read("mika", info.path)[1] for info in listed] in ([OLD], [])
    with suppress(NotFound):
        s3.calm.delete("mika", PATH)
    assert s3.calm.info("mika", PATH) is None
    assert s3.ledger.usage("mika") == 0
    assert s3.calm.write("mika", "メモ", b"now a file").path == "メモ"


@both_times
@pytest.mark.parametrize("at", range(2))
def test_a_read_or_a_list_that_failed_can_be_repeated(
    at: int, s3: World, *, afterwards: bool
) -> None:
    written = s3.files.write("mika", PATH, NEW)
    for attempt, expected in (
        (lambda: s3.files.read("mika", PATH), (written, NEW)),
        (lambda: s3.files.list("mika"), (written,)),
        (lambda: s3.files.info("mika", PATH), written),
    ):
        s3.trouble.arm(at, afterwards=afterwards)
        try:
            assert attempt() == expected
            assert not s3.trouble.failed
        except Unavailable:
            assert s3.trouble.failed
        s3.trouble.disarm()
        assert attempt() == expected


@pytest.mark.parametrize("at", range(len(WRITE_CALLS)))
def test_a_write_cut_off_twice_is_counted_once(at: int, s3: World) -> None:
    for content in (b"x" * 300, b"y" * 350):
        for _ in range(3):
            s3.trouble.arm(at, afterwards=True)
            with suppress(Unavailable):
                s3.files.write("mika", PATH, content)
            s3.check_counted()
    assert s3.ledger.usage("mika") <= 350
    s3.calm.write("mika", PATH, b"y" * 350)
    s3.clock.advance(GRACE.total_seconds())
    s3.calm.write("mika", PATH, b"z")
    s3.check_exact()


def test_what_the_dead_reserved_is_free_again_after_the_grace(s3: World) -> None:
    s3.trouble.arm(WRITE_CALLS.index("put_object"))
    with pytest.raises(Unavailable):
        s3.files.write("mika", PATH, b"x" * LARGEST)
    with pytest.raises(TooLarge, match=r"'b' needs 500 bytes more and the workspace has 400"):
        s3.calm.write("mika", "b", b"x" * 500)
    s3.clock.advance(GRACE.total_seconds())
    s3.calm.write("mika", "b", b"x" * 500)
    s3.check_exact()


def test_a_name_that_only_the_dead_wanted_is_free_again_after_the_grace(s3: World) -> None:
    s3.trouble.arm(WRITE_CALLS.index("put_object"))
    with pytest.raises(Unavailable):
        s3.files.write("mika", "Memo.md", b"x")
    with pytest.raises(Invalid, match="in case or width only"):
        s3.calm.write("mika", "memo.md", b"x")
    s3.clock.advance(GRACE.total_seconds())
    s3.calm.write("mika", "memo.md", b"x")
    s3.check_exact()
