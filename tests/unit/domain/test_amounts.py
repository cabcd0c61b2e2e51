"""Dollars as text: as many decimal places as an amount needs, and never fewer than two."""

import pytest

from opencrab.domain.amounts import format_dollars_exactly, format_micro_usd


@pytest.mark.parametrize(
    ("micro_usd", "shown"),
    [
        (0, "$0.00"),
        (1, "$0.000001"),
        (412, "$0.000412"),
        (1_500_000, "$1.50"),
        (1_234_567_890_000, "$1,234,567.89"),
        (-50_000, "-$0.05"),
    ],
)
def test_money_is_shown_in_dollars(micro_usd: int, shown: str) -> None:
    assert format_micro_usd(micro_usd, separator=",") == shown
    assert format_micro_usd(micro_usd) == shown.replace(",", "")


def test_dollars_have_two_decimal_places_and_at_most_six() -> None:
    shown = [format_dollars_exactly(amount) for amount in (5.0, 0.25, 0.1234567)]
    assert shown == ["5.00", "0.25", "0.123457"]
