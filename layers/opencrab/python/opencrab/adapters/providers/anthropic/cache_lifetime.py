"""Lifetimes of Anthropic's prompt caches: five minutes or an hour, whichever costs less."""

from typing import Any

from opencrab.domain.money.budget import Price

SHORT_SECONDS, LONG_SECONDS = 300, 3_600
_LONG = {"type": "ephemeral", "ttl": "1h"}
_SHORT = {"type": "ephemeral", "ttl": "5m"}

Mark = dict[str, Any]


def anthropic_cache_marks(price: Price | None, reuse_seconds: float | None) -> tuple[Mark, Mark]:
    """Return the cache marks of the fixed part of a prompt, and of the history behind it.

    Without a known cadence the fixed part, which all sessions of an agent share, is kept for an
    hour, and the history for five minutes. Anthropic wants the longer lifetime first.
    """
    if reuse_seconds is None:
        return _LONG, _SHORT
    mark = _LONG if is_long_anthropic_cache_cheaper(price, reuse_seconds) else _SHORT
    return mark, mark


def is_long_anthropic_cache_cheaper(price: Price | None, reuse_seconds: float) -> bool:
    """Check whether an hour costs less than five minutes for a prompt that is used so often.

    A read renews an entry. Used within five minutes, both live on, and the shorter is written for
    less. Used after more than an hour, both are written each time. Between, one long write and a
    read (2.1 times the input price) replace two short writes (2.5 times).
    """
    if not SHORT_SECONDS < reuse_seconds <= LONG_SECONDS:
        return False
    if price is None:
        return True
    plain = price.input_per_million
    read, short, long = (
        plain if each is None else each
        for each in (
            price.cached_per_million,
            price.cache_write_per_million,
            price.cache_write_long_per_million,
        )
    )
    return long + read < 2 * short
