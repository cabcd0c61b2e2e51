"""A quick test of stored JSON: can it repeat erased text at all, or need nobody read it?

It never misses what `ErasureFingerprints.matches_any` finds in texts of that JSON; what it lets
through is read and checked there.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

_CHANGING = re.compile(
    "[\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc-\u00be\u0132-\u0149\u017f\u01c4-\u01f3\u02b0-\u0385"
    "\u03d0-\u03f9\u0483-\u0487\u0587-\u0fc6\u102e-\u135f\u1714-\u1dff\u1e9a\u1e9b\u1f71-\u1ffe"
    "\u2070-\u20f0\u2100-\u2189\u2460-\u24ea\u2adc-\u2fd5\u302a-\u302f\u3038-\u303a\u3099-\u309f"
    "\u30ff-\u33ff\ua66f-\ua770\ua7f2-\uabed\uf900-\ufdfc\ufe20-\ufe2f\ufe70-\ufefc\uff10-\uff19"
    "\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc\U000101fd-\U00011fff\U00016100-\U00016ff1"
    "\U0001bc9e\U0001d165-\U0001d7ff\U0001e000-\U0001fbf9\U0002f800-\U0002fa1d]+"
)
"""Characters that NFKC changes into letters or digits, joins with the one before, or reorders.

Ranges are wider than that where nobody would notice. Full-width punctuation is not among them.
"""

_WORD = re.compile(r"[^\W_]+")
_ASCII_RUN = re.compile(r"[0-9a-z]{3,}")
_MOST_NEEDLES = 16

_FOLDED_BLOCKS = ((0x21, 0x3400), (0xA000, 0xAC00), (0xD7A4, 0xD800), (0xF900, 0x20000))
_COMPATIBLE = (0x2F800, 0x2FA20)
"""The blocks with characters that normalization or case folding changes, but for Hangul's."""


@dataclass(frozen=True)
class StoredTextNeedles:
    """Strings that a database can look for: stored JSON without any of them need not be tested.

    JSON has those of `exact` as they are. Those of `ascii` are of letters a to z and digits, in any
    case; instead of them there may be other letters, none of them ASCII.
    """

    exact: tuple[str, ...] = ()
    ascii: tuple[str, ...] = ()


class StoredTextFilter:
    """Finds ids as they are, and phrases by their words, in any case and width."""

    def __init__(self, ids: Iterable[str], phrases: Iterable[str]) -> None:
        """Take phrases in the form in which fingerprints hash them."""
        self.ids = frozenset(ids)
        self.words = frozenset(tuple(_WORD.findall(phrase)) for phrase in phrases)
        self._id = _any_of(self.ids)
        self._word = _any_of({max(words, key=len, default="") for words in self.words})

    def needles(self) -> StoredTextNeedles | None:
        """Return strings one of which is in all that can match; None if a few do not tell."""
        if len(self.ids) + len(self.words) > _MOST_NEEDLES:
            return None
        exact, narrow = set(self.ids), set[str]()
        for words in self.words:
            # All words of a phrase are there, so the longest of all their pieces is.
            lasting = max(
                (run for word in words for run in _lasting_runs(word)), key=len, default=""
            )
            narrow_runs = [run for word in words for run in _ASCII_RUN.findall(word)]
            if len(lasting) > 1:
                exact.add(lasting)
            elif narrow_runs:
                narrow.add(max(narrow_runs, key=len))
            else:
                return None
        return StoredTextNeedles(tuple(sorted(exact)), tuple(sorted(narrow)))

    def may_match(self, stored: str) -> bool:
        """Check whether stored JSON, or one of several pieces that are joined, can match."""
        if self._id is not None and self._id.search(stored):
            return True
        if self._word is None:
            return False
        folded = _normalize_letters(stored).casefold()
        # The longest word of each phrase first: the others are looked for where it is.
        return self._word.search(folded) is not None and any(
            all(word in folded for word in words) for words in self.words
        )


def _normalize_letters(stored: str) -> str:
    """Normalize where that makes letters or digits; the rest, nearly all, stays as it is."""
    parts, done = list[str](), 0
    for found in _CHANGING.finditer(stored):
        begins = max(found.start() - 1, done)
        parts += stored[done:begins], unicodedata.normalize("NFKC", stored[begins : found.end()])
        done = found.end()
    return "".join([*parts, stored[done:]]) if parts else stored


def _lasting_runs(word: str) -> list[str]:
    """Split a folded word at characters for which something else may be stored."""
    changing = _characters_of_others()
    is_lasting = (each not in changing and unicodedata.is_normalized("NFD", each) for each in word)
    return "".join(
        each if lasts else " " for each, lasts in zip(word, is_lasting, strict=True)
    ).split(" ")


@cache
def _characters_of_others() -> frozenset[str]:
    """Return the characters into which other characters are normalized or folded."""
    blocks = (range(*each) for each in (*_FOLDED_BLOCKS, _COMPATIBLE))
    stored = [chr(number) for block in blocks for number in block]
    # At once, since that takes a third of the time; no character becomes a line break.
    folded = unicodedata.normalize("NFKC", "\n".join(stored)).casefold().split("\n")
    changed = (became for was, became in zip(stored, folded, strict=True) if became != was)
    return frozenset(each for became in changed for each in became)


def _any_of(texts: Collection[str]) -> re.Pattern[str] | None:
    """Compile a pattern that finds any of these texts; None without one."""
    return re.compile("|".join(map(re.escape, sorted(texts)))) if texts else None
