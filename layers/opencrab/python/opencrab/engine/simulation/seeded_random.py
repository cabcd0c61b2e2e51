"""Chance: pseudo-random numbers of a simulation, the same for the same seed and place."""

import hashlib


def simulated_chance(seed: int, *places: object) -> float:
    """Return a pseudo-random number from 0 to 1, the same for the same arguments."""
    text = ".".join(map(str, (seed, *places)))
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
