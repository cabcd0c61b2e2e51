"""Two who write the same file: one acts as a whole just before each call of the other."""

from collections.abc import Callable

import pytest

from opencrab.domain.errors import Conflict, NotFound, OpenCrabError, TooLarge, Unavailable
from opencrab.ports.workspace.files import ABSENT
from tests.unit.adapters.s3_files.trouble import Client, World, refusal

PATH = "メモ/今日.md"
CALLS = 5


class Outcome:
    """What became of an attempt."""

    def __init__(self, attempt: Callable[[], object]) -> None:
        self._attempt = attempt
        self.error: OpenCrabError | None = None
        self.ended = False

    def __call__(self) -> None:
        try:
            self._attempt()
        except OpenCrabError as error:
            self.error = error
        self.ended = True


@pytest.mark.parametrize("at", range(CALLS))
@pytest.mark.parametrize("existing", [True, False], ids=["replacing", "creating"])
@pytest.mark.parametrize(("mine", "theirs"), [(10, 300), (300, 10)])
def test_of_two_writers_with_the_same_condition_one_wins(
    at: int, mine: int, theirs: int, s3: World, *, existing: bool
) -> None:
    first = s3.files.write("mika", PATH, b"old") if existing else None
    condition = first.version if first else ABSENT
    one = Outcome(lambda: s3.files.write("mika", PATH, b"1" * mine, condition=condition))
    other = Outcome(lambda: s3.calm.write("mika", PATH, b"2" * theirs, condition=condition))
    s3.trouble.between(at, other)
    one()
    assert other.ended
    assert isinstance(one.error or other.error, Conflict)
    assert (one.error is None) != (other.error is None)
    winner = b"1" * mine if one.error is None else b"2" * theirs
    assert s3.calm.read("mika", PATH)[1] == winner
    assert s3.calm.list("mika") == (s3.calm.info("mika", PATH),)
    assert s3.versions(PATH) == (2 if existing else 1)
    s3.check_exact()


@pytest.mark.parametrize("at", range(CALLS))
def test_two_who_write_the_same_both_succeed(at: int, s3: World) -> None:
    one = Outcome(lambda: s3.files.write("mika", PATH, "海".encode(), condition=ABSENT))
    other = Outcome(lambda: s3.calm.write("mika", PATH, "海".encode(), condition=ABSENT))
    s3.trouble.between(at, other)
    one()
    assert (one.error, other.error) == (None, None)
    assert s3.versions(PATH) == 1
    s3.check_exact()


@pytest.mark.parametrize("at", range(CALLS))
@pytest.mark.parametrize("size", [5, 400])
def test_of_two_free_writers_the_last_one_stays_and_is_counted(
    at: int, size: int, s3: World
) -> None:
    s3.files.write("mika", PATH, b"old")
    one = Outcome(lambda: s3.files.write("mika", PATH, b"1" * 100))
    other = Outcome(lambda: s3.calm.write("mika", PATH, b"2" * size))
    s3.trouble.between(at, other)
    one()
    assert (one.error, other.error) == (None, None)
    assert s3.calm.read("mika", PATH)[1] in (b"1" * 100, b"2" * size)
    assert s3.calm.list("mika") == (s3.calm.info("mika", PATH),)
    s3.check_exact()


@pytest.mark.parametrize("at", range(CALLS))
def test_a_deletion_during_a_write_leaves_what_is_counted(at: int, s3: World) -> None:
    first = s3.files.write("mika", PATH, b"old")
    one = Outcome(lambda: s3.files.write("mika", PATH, b"new", condition=first.version))
    other = Outcome(lambda: s3.calm.delete("mika", PATH))
    s3.trouble.between(at, other)
    one()
    assert other.error is None
    assert isinstance(one.error, Conflict) or at == CALLS - 1
    assert s3.calm.info("mika", PATH) is None
    s3.check_exact()


@pytest.mark.parametrize("at", range(4))
def test_a_write_during_a_deletion_is_counted_or_deleted(at: int, s3: World) -> None:
    s3.files.write("mika", PATH, b"old")
    one = Outcome(lambda: s3.files.delete("mika", PATH))
    other = Outcome(lambda: s3.calm.write("mika", PATH, b"new content"))
    s3.trouble.between(at, other)
    one()
    assert (one.error, other.error) == (None, None)
    s3.check_exact()
    s3.calm.write("mika", "メモ/他.md", b"x" * 500)
    s3.check_exact()


@pytest.mark.parametrize("at", range(4))
def test_of_two_deletions_one_finds_nothing(at: int, s3: World) -> None:
    s3.files.write("mika", PATH, b"old")
    one = Outcome(lambda: s3.files.delete("mika", PATH))
    other = Outcome(lambda: s3.calm.delete("mika", PATH))
    s3.trouble.between(at, other)
    one()
    assert isinstance(one.error or other.error, NotFound)
    assert (one.error is None) != (other.error is None)
    assert s3.ledger.entries("mika") == ()


@pytest.mark.parametrize("at", range(CALLS))
def test_two_who_together_exceed_the_quota_do_not_both_succeed(at: int, s3: World) -> None:
    one = Outcome(lambda: s3.files.write("mika", "海", b"1" * 600))
    other = Outcome(lambda: s3.calm.write("mika", "b", b"2" * 600))
    s3.trouble.between(at, other)
    one()
    assert isinstance(one.error or other.error, TooLarge)
    assert (one.error is None) != (other.error is None)
    s3.check_counted()
    s3.check_exact()


@pytest.mark.parametrize("at", range(CALLS))
def test_of_two_names_that_look_the_same_one_is_refused(at: int, s3: World) -> None:
    one = Outcome(lambda: s3.files.write("mika", "カニ/A.md", b"1"))
    other = Outcome(lambda: s3.calm.write("mika", "ｶﾆ/b.md", b"2"))
    s3.trouble.between(at, other)
    one()
    assert (one.error is None) != (other.error is None)
    assert "in case or width only" in str(one.error or other.error)
    assert len(s3.calm.list("mika")) == 1
    s3.check_exact()


@pytest.mark.parametrize("code", ["ConditionalRequestConflict", "PreconditionFailed", "NoSuchKey"])
def test_a_write_begins_anew_when_the_condition_of_s3_fails(code: str, s3: World) -> None:
    def refuses() -> None:
        raise refusal(code)

    s3.files.write("mika", PATH, b"old")
    s3.trouble.between(3, refuses)
    s3.files.write("mika", PATH, b"new")
    assert s3.trouble.calls.count("put_object") == 2
    s3.check_exact()


def test_a_write_that_is_always_too_late_gives_up(s3: World) -> None:
    class Refusing(Client):
        def __init__(self) -> None:
            super().__init__(s3.s3, s3.trouble)
            self.put_object = self.delete_object = self._refuse

        def _refuse(self, **_: object) -> None:
            raise refusal("ConditionalRequestConflict")

    files = s3.opened(Refusing(), s3.ledger)
    with pytest.raises(Unavailable, match="retries exhausted") as refused:
        files.write("mika", PATH, b"new")
    assert refused.value.cure
    s3.calm.write("mika", PATH, b"new")
    with pytest.raises(Unavailable, match="retries exhausted"):
        files.delete("mika", PATH)
    s3.check_exact()
