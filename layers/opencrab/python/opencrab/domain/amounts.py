"""Amounts of money as text, for every channel; it imports nothing: the terminal starts with it."""

_MICRO = 1_000_000


def format_micro_usd(micro_usd: int, *, separator: str = "") -> str:
    """Return micro-dollars as dollars: "$0.25", "-$0.000003"; `separator` groups thousands."""
    sign = "-" if micro_usd < 0 else ""
    return f"{sign}${format_dollars_exactly(abs(micro_usd) / _MICRO, separator=separator)}"


def format_dollars_exactly(dollars: float, *, separator: str = "") -> str:
    """Return a number of dollars with two decimal places, or with up to six where it needs them."""
    whole, _, places = f"{dollars:{separator}.6f}".partition(".")
    return f"{whole}.{places.rstrip('0'):0<2}"
