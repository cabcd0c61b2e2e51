"""Sign-in codes: one use, ten minutes, twenty wrong guesses."""

from datetime import UTC, datetime

import pytest

from opencrab.adapters.system_clock import FakeClock, SystemClock
from opencrab.domain.errors import Unauthenticated
from opencrab.engine.access.sign_in_codes import MOST_OPEN, MOST_WRONG, SignInCodes

START = datetime(2026, 11, 29, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


def is_open(codes: SignInCodes, code: str) -> bool:
    """Whether a code still gives its key."""
    try:
        return codes.redeem(code) == "key"
    except Unauthenticated:
        return False


def test_a_wrong_code_is_refused_with_a_cure_and_not_repeated(clock: FakeClock) -> None:
    with pytest.raises(Unauthenticated) as refused:
        SignInCodes(clock).redeem("wrong-code")
    assert refused.value.field == "code"
    assert "opencrab open" in (refused.value.cure or "")
    assert "wrong-code" not in refused.value.message


def test_a_code_gives_the_key_it_was_made_with_once(clock: FakeClock) -> None:
    codes = SignInCodes(clock)
    first, second = codes.make("one"), codes.make("two")
    assert first.code != second.code
    assert codes.redeem(second.code) == "two"
    assert codes.redeem(first.code) == "one"
    for made in (first, second):
        assert not is_open(codes, made.code)


@pytest.mark.parametrize(("seconds", "opens"), [(599, True), (600, False)])
def test_a_code_is_good_for_ten_minutes(clock: FakeClock, seconds: int, *, opens: bool) -> None:
    codes = SignInCodes(clock)
    made = codes.make("key")
    assert (made.expires_at - START).total_seconds() == 600
    clock.advance(seconds)
    assert is_open(codes, made.code) is opens


def test_after_twenty_wrong_codes_the_open_ones_are_void(clock: FakeClock) -> None:
    codes = SignInCodes(clock)
    old = codes.make("key")
    for number in range(MOST_WRONG - 1):
        assert not is_open(codes, f"guess {number}")
    new = codes.make("key")
    assert not is_open(codes, "鍵")
    assert not is_open(codes, old.code)
    assert is_open(codes, new.code), "the guesses were not at this one"


def test_nobody_fills_the_memory_with_codes(clock: FakeClock) -> None:
    codes = SignInCodes(clock)
    made = [codes.make("key") for _ in range(MOST_OPEN + 1)]
    assert not is_open(codes, made[0].code)
    assert all(is_open(codes, each.code) for each in made[1:])


def test_a_code_has_at_least_128_bits_and_is_kept_as_a_hash() -> None:
    codes = SignInCodes(SystemClock())
    made = codes.make("key")
    assert len(made.code) >= 22
    assert made.code.isalnum()
    assert made.code not in repr(vars(codes))
