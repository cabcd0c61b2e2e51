"""A quick test of stored JSON: can it repeat erased text at all, or need nobody read it?

It never misses what `ErasureFingerprints.matches_any` finds in texts of that JSON; what it lets
through is read and checked there.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable

_CHANGING = re.compile(
    "[\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc-\u00be\u0132-\u0149\u017f\u01c4-\u01f3\u02b0-\u0385"
    "\u03d0-\u03f9\u0483-\u0487\u0587-\u0fc6\u102e-\u135f\u1714-\u1dff\u1e9a\u1e9b\u1f71-\u1ffe"
    "\u2070-\u20f0\u2100-\u2189\u2460-\u24ea\u2adc-\u2fd5\u302a-\u302f\u3038-\u303a\u3099-\u309f"
    "\u30ff-\u33ff\ua66f-\ua770\ua7f2-\uabed\uf900-\ufdfc\ufe20-\ufe2f\ufe70-\ufefc\uff10-\uff19"
    "\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc\U000101fd-\U00011d97\U00016af0-\U00016ff1"
    "\U0001bc9e\U0001d165-\U0001d7ff\U0001e000-\U0001fbf9\U0002f800-\U0002fa1d]+"
)
"""Characters that NFKC changes into letters or digits, joins with the one before, or reorders.

Ranges are wider than that where nobody would notice. Full-width punctuation is not among them.
"""

_WORD = re.compile(r"[^\W_]+")


class StoredTextFilter:
    """Finds ids as they are, and phrases by their words, in any case and width."""

    def __init__(self, ids: Iterable[str], phrases: Iterable[str]) -> None:
        """Take phrases in the form in which fingerprints hash them."""
        self.ids = frozenset(ids)
        self.words = frozenset(tuple(_WORD.findall(phrase)) for phrase in phrases)
        self._id = _any_of(self.ids)
        self._word = _any_of({max(words, key=len, default="") for words in self.words})

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


def _any_of(texts: Collection[str]) -> re.Pattern[str] | None:
    """Compile a pattern that finds any of these texts; None without one."""
    return re.compile("|".join(map(re.escape, sorted(texts)))) if texts else None
