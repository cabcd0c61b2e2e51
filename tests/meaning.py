"""Meaning as tests have it: words that stand for the same thing point the same way."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price, Usage
from opencrab.ports.memory.search import TextVectors
from opencrab.ports.models.model import Embeddings, ModelInfo

DIMENSIONS = 256
PRICE = Price(input_per_million=130_000, output_per_million=0)

_SAME = (
    ("犬", "わんこ", "dog", "puppy"),
    ("海", "うみ", "ocean", "sea"),
    ("値段", "料金", "price", "cost"),
    ("病院", "クリニック", "hospital", "clinic"),
)
_PLACES = 12


def vector(text: str) -> tuple[float, ...]:
    """The sum of what is in a text: strongly its meanings, weakly its characters by threes."""
    parts = [0.0] * DIMENSIONS
    for words in _SAME:
        if any(word in text.lower() for word in words):
            _add(parts, words[0], 10.0)
    for start in range(len(text)):
        _add(parts, text[start : start + 3], 0.5)
    return tuple(parts)


def _add(parts: list[float], key: str, weight: float) -> None:
    digest = hashlib.sha256(key.encode("utf-8", "replace")).digest()
    for place in range(_PLACES):
        parts[digest[place]] += weight if digest[place + _PLACES] % 2 else -weight


@dataclass
class Fake:
    """`ports.search.Meaning` without money; it says nothing while it is `silent`."""

    name: str = "fake:one"
    silent: bool = False
    clock: FakeClock | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list)
    queries: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()

    def embed(
        self,
        agent_id: str,
        texts: tuple[str, ...],
        *,
        query: bool = False,
        at_most_seconds: float | None = None,
    ) -> TextVectors | None:
        assert agent_id
        assert at_most_seconds is not None
        if self.clock is not None:
            self.clock.advance(at_most_seconds)
        self.asked.append(texts)
        self.queries += texts if query else ()
        if self.refused & set(texts):
            return TextVectors(self.name, ())
        return None if self.silent else TextVectors(self.name, tuple(map(vector, texts)))


@dataclass
class Vendor:
    """`ports.model.Embedder` that bills: a token for each character, unless it fails."""

    price: Price | None = PRICE
    private: bool = False
    fails: list[ModelCallFailed] = field(default_factory=list)
    counts: bool = True
    received: int = 0
    billed: int = 0
    queries: tuple[str, ...] = ()

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name="fake:vectors", price=self.price, private=self.private)

    def embed(
        self, texts: tuple[str, ...], *, timeout_seconds: float, query: bool = False
    ) -> Embeddings:
        assert timeout_seconds > 0
        self.queries += texts if query else ()
        self.received += 1
        if self.fails:
            raise self.fails.pop(0)
        usage = Usage(input_tokens=sum(map(len, texts)) if self.counts else 0)
        if self.price is not None:
            self.billed += self.price.cost(usage)
        return Embeddings(tuple(map(vector, texts)), usage, "vectors-2026")


class Choosing:
    """The models of a house, one of which makes vectors."""

    def __init__(self, models: Any, vendor: Vendor) -> None:
        self._models = models
        self.vendor = vendor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)

    def embedder(self, name: str | None) -> Vendor:
        assert name is None
        return self.vendor


def unanswered(fault: Fault = Fault.TIMEOUT, **more: Any) -> ModelCallFailed:
    """What a vendor raises."""
    return ModelCallFailed("no vectors today", fault, **more)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """As a schoolbook has it."""
    length = sum(a * a for a in one) ** 0.5 * sum(b * b for b in other) ** 0.5
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0
