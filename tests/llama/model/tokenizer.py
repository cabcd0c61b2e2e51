"""Byte pair encoding (Sennrich et al., 2016), trained on a text; in GPT-2's byte alphabet."""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

# GPT-2's pattern; Python has no \p{L} and \p{N}.
_LETTER, _NUMBER = r"[^\W\d_]", r"\d"
_PIECE = re.compile(
    rf"'s|'t|'re|'ve|'m|'ll|'d| ?{_LETTER}+| ?{_NUMBER}+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
)
Pair = tuple[int, int]


def pieces(text: str) -> list[str]:
    """The parts of a text that no token reaches beyond."""
    return _PIECE.findall(text)


def byte_alphabet() -> list[str]:
    """A printable character for each byte, as GPT-2 writes its tokens."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    shown = {byte: chr(byte) for byte in plain}
    hidden = (byte for byte in range(256) if byte not in shown)
    shown |= {byte: chr(256 + number) for number, byte in enumerate(hidden)}
    return [shown[byte] for byte in range(256)]


class Tokenizer:
    """Merges of bytes, and the tokens that they make; `encode` knows the pieces it trained on."""

    def __init__(self, texts: Iterable[str], size: int) -> None:
        counted = Counter(piece for text in texts for piece in pieces(text))
        self._names = list(counted)
        self._ids = {name: number for number, name in enumerate(self._names)}
        self._counts = [counted[name] for name in self._names]
        self._words = [list(name.encode()) for name in self._names]
        self._where: dict[Pair, set[int]] = defaultdict(set)
        self._pairs: Counter[Pair] = Counter()
        self.tokens = byte_alphabet()
        self.merges: list[str] = []
        self._learn(size)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text that is made of pieces of the text trained on."""
        return [token for piece in pieces(text) for token in self._words[self._ids[piece]]]

    def _learn(self, size: int) -> None:
        for number in range(len(self._words)):
            self._count(number, +1)
        queue = [(-count, pair) for pair, count in self._pairs.items()]
        heapq.heapify(queue)
        while queue and len(self.tokens) < size:
            count, pair = heapq.heappop(queue)
            if -count == self._pairs[pair] > 0:
                for changed in self._merge(pair):
                    heapq.heappush(queue, (-self._pairs[changed], changed))

    def _count(self, number: int, sign: int) -> set[Pair]:
        """Count the pairs of a word, or take them back; the pairs that it has."""
        word, times = self._words[number], sign * self._counts[number]
        there = list(pairwise(word))
        for pair in there:
            self._pairs[pair] += times
        for pair in set(there):
            (self._where[pair].add if sign > 0 else self._where[pair].discard)(number)
        return set(there)

    def _merge(self, pair: Pair) -> set[Pair]:
        """Make a token of a pair wherever it occurs; the pairs whose numbers changed."""
        left, right = (self.tokens[token] for token in pair)
        self.merges.append(f"{left} {right}")
        self.tokens.append(left + right)
        changed = set[Pair]()
        for number in sorted(self._where[pair]):
            changed |= self._count(number, -1)
            self._words[number] = _joined(self._words[number], pair, len(self.tokens) - 1)
            changed |= self._count(number, +1)
        return changed


def _joined(word: Sequence[int], pair: Pair, token: int) -> list[int]:
    made, at = list[int](), 0
    while at < len(word):
        if tuple(word[at : at + 2]) == pair:
            made.append(token)
            at += 2
        else:
            made.append(word[at])
            at += 1
    return made
