"""Hash bucketing: a random choice that is the same for the same ids."""

import hashlib
from collections.abc import Mapping


def hash_fraction(*causes: str) -> float:
    """Compute a number in [0, 1) that is the same for the same causes.

    Over different causes it is uniformly distributed.
    """
    framed = "".join(f"{len(cause)}:{cause}" for cause in ("coin", *causes))
    return int.from_bytes(hashlib.sha256(framed.encode()).digest()[:6], "big") / 2**48


def draw_hash_bucket(weights: Mapping[str, float], *causes: str) -> str:
    """Choose a name by hash bucketing, each with the probability of its share of all weights.

    The same causes always give the same name. Raises ValueError without a positive weight.
    """
    listed = sorted((name, weight) for name, weight in weights.items() if weight > 0)
    if not listed:
        raise ValueError("cannot draw a name: no weight is above 0")
    place = hash_fraction(*causes) * sum(weight for _, weight in listed)
    for name, weight in listed:
        place -= weight
        if place < 0:
            return name
    return listed[-1][0]
