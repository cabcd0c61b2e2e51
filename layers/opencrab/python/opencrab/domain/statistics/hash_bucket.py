"""Coin: chance that everybody who asks about the same thing finds the same."""

import hashlib
from collections.abc import Mapping


def hash_fraction(*causes: str) -> float:
    """A number from 0 up to 1 that is the same for the same causes, and even over all others."""
    framed = "".join(f"{len(cause)}:{cause}" for cause in ("coin", *causes))
    return int.from_bytes(hashlib.sha256(framed.encode()).digest()[:6], "big") / 2**48


def draw_hash_bucket(weights: Mapping[str, float], *causes: str) -> str:
    """One of the names, each as likely as its share of all weights; raises ValueError for none."""
    listed = sorted((name, weight) for name, weight in weights.items() if weight > 0)
    if not listed:
        raise ValueError("there is nothing to draw from")
    place = hash_fraction(*causes) * sum(weight for _, weight in listed)
    for name, weight in listed:
        place -= weight
        if place < 0:
            return name
    return listed[-1][0]
