"""How ids are made: sortable ones from time and randomness, stable ones from their causes."""

import hashlib

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 26


def new_ulid(milliseconds: int, randomness: bytes) -> str:
    """Make a 26-character id that sorts by time: 48 bits time, 80 bits randomness (ULID spec)."""
    number = (milliseconds << 80) | int.from_bytes(randomness[:10], "big")
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def ulid_milliseconds(identifier: str) -> int | None:
    """Return the time in a ULID, in ms since 1970; None for an id of another form."""
    places = [_CROCKFORD.find(letter) for letter in identifier[:_LENGTH]]
    if len(identifier) != _LENGTH or min(places) < 0:
        return None
    number = 0
    for place in places[:10]:
        number = number * 32 + place
    return number


def stable_id(*causes: str) -> str:
    """Compute an id from its causes: the same causes always give the same id.

    Each cause is preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
    """
    framed = "".join(f"{len(cause)}:{cause}" for cause in causes)
    digest = hashlib.sha256(framed.encode()).digest()
    number = int.from_bytes(digest[:17], "big") >> 6
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def turn_id(*, source: str, principal: str, source_id: str, agent_id: str) -> str:
    """Compute a turn's id: one per message and agent, the same if the message comes twice."""
    return stable_id("turn", source, principal, source_id, agent_id)


def content_hash(content: bytes) -> str:
    """Compute the SHA-256 of some content in hexadecimal, to prove that two bodies are equal."""
    return hashlib.sha256(content).hexdigest()
