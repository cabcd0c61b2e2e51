"""Erasure fingerprints: hashes and names by which repeats of erased text are found."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from opencrab.domain.text.query import has_text_only_common_words

if TYPE_CHECKING:
    from opencrab.domain.erasure.stored_text import StoredTextFilter

SENTENCE_WEIGHT = 12
"""The least weight of a sentence that identifies its author; a letter counts 1, a CJK character 2.
"""

MOST_NAMES = 100
"""The limit of names to search for; the first ones are the person's main names."""

_MOST_PHRASES = 200
"""The limit of sentences up to which looking for their words in stored rows is quicker."""

_NAME_WEIGHT = 12
_KANJI_WEIGHS, _KANA_WEIGHS, _LETTER_WEIGHS = 6, 4, 3
_NUMBER_DIGITS = 8
_ENDS = re.compile(r'[。\uff0e.!?\uff01\uff1f…\n\r「」『』“”"]+|[:\uff1a]\s')
_PLACE = re.compile(r"([A-Za-z0-9_\-]{1,64}):([0-9]{1,10})(?![0-9])")
_ID = re.compile(r"[A-Za-z0-9_\-]+")
_KANA = re.compile(r"[ぁ-ゖゝ-ゟァ-ヺー-ヿ]")
_WIDE = 0x2E80
_NARROW = f"[^\\W_{chr(_WIDE)}-\U0010ffff]"


@dataclass
class ErasureFingerprints:
    """Names, hashes of sentences, ids and lines by which repeats of erased data are found.

    `lines` maps sessions to the numbers of their erased lines. Sentences are kept as short hashes,
    so that the stored fingerprints do not show what was said. `others` are names of other people,
    which do not count; `common` are sentences that somebody else said first. `phrases` are the
    sentences of this call by their hashes; they are not stored.
    """

    lines: dict[str, AbstractSet[int]] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    sentences: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    common: set[str] = field(default_factory=set)
    phrases: dict[str, str] = field(default_factory=dict)

    def add_name(self, *names: str) -> None:
        """Add names of the erased person, except names that too many people may have."""
        for name in map(_normalize_text, names):
            if len(self.names) < MOST_NAMES and _is_identifying_name(name):
                self.names[name] = None

    def add_others(self, *names: str) -> None:
        """Add names of other people, which do not identify the erased person."""
        self.others.update(map(_normalize_text, names))

    def add_words(self, *texts: str, whole: bool = False) -> None:
        """Add the longer sentences of erased texts; `whole` adds each text as a whole too."""
        for text in texts:
            told = {
                _digest(each): each for each in _sentences(text) if _is_distinctive_sentence(each)
            }
            told = {digest: each for digest, each in told.items() if digest not in self.common}
            if whole and text.strip():
                folded = _normalize_text(text)
                told[_digest(folded)] = folded
            self.sentences.update(told)
            self.phrases |= told

    def add_said(self, own: Mapping[str, datetime], others: Mapping[str, datetime]) -> None:
        """Add sentence hashes with the time each was first said: `own` by the erased person.

        A sentence that others said earlier is common and does not count.
        """
        for digest, at in own.items():
            said = others.get(digest)
            (self.sentences if said is None or at <= said else self.common).add(digest)
        self.sentences -= self.common

    def matches_any(self, *texts: str) -> bool:
        """Check whether a text matches any of these fingerprints."""
        return any(self._are_in(text) for text in texts if text)

    def stored_text_filter(self) -> "StoredTextFilter | None":
        """Return a quick test of stored rows; None if only reading them tells.

        That is so for names, for lines, and for sentences that an earlier call has found.
        """
        is_known = self.sentences <= self.phrases.keys()
        if self.names or self.lines or not is_known or len(self.sentences) > _MOST_PHRASES:
            return None
        from opencrab.domain.erasure.stored_text import StoredTextFilter  # noqa: PLC0415 - seldom needed

        phrases = [self.phrases[digest] for digest in self.sentences]
        return StoredTextFilter(self.ids, phrases)

    def _are_in(self, text: str) -> bool:
        folded = _normalize_text(text)
        names = _naming(frozenset(self.names.keys() - self.others)) if self.names else None
        return (
            (names is not None and names.search(folded) is not None)
            or (bool(self.ids) and not self.ids.isdisjoint(_ID.findall(text)))
            or any(int(n) in self.lines.get(session, ()) for session, n in _PLACE.findall(text))
            or (bool(self.sentences) and self._are_said_in(text, folded))
        )

    def _are_said_in(self, text: str, folded: str) -> bool:
        whole = _digest(folded) in self.sentences
        return whole or any(_digest(each) in self.sentences for each in _sentences(text))


def _is_identifying_name(name: str) -> bool:
    """Check whether a name is long enough to identify one person and is no common word.

    That is 2 kanji, 3 kana or 4 letters, or a mixture of that weight; names of digits need 8.
    """
    folded = _normalize_text(name)
    if folded.isdigit():
        return len(folded) >= _NUMBER_DIGITS
    return sum(map(_weight, folded)) >= _NAME_WEIGHT and not has_text_only_common_words(folded)


def erasure_sentence_digests(text: str) -> set[str]:
    """Hash the longer sentences of a text, for comparison."""
    return {_digest(each) for each in _sentences(text) if _is_distinctive_sentence(each)}


def _is_distinctive_sentence(sentence: str) -> bool:
    """Check whether a sentence is long enough to identify its author."""
    return sum(2 if ord(letter) >= _WIDE else 1 for letter in sentence) >= SENTENCE_WEIGHT


def erasable_texts_in_json(value: object) -> Iterable[str]:
    """Yield all texts in a value from JSON; text that is JSON itself without its escapes."""
    if isinstance(value, str):
        yield value.replace("\\n", "\n").replace('\\"', '"')
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from erasable_texts_in_json(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from erasable_texts_in_json(inner)


def _sentences(text: str) -> Iterable[str]:
    return (_normalize_text(part) for part in _ENDS.split(text) if part.strip())


def _weight(letter: str) -> int:
    if not letter.isalnum():
        return 0
    if ord(letter) < _WIDE:
        return _LETTER_WEIGHS
    return _KANA_WEIGHS if _KANA.match(letter) else _KANJI_WEIGHS


@lru_cache(maxsize=8)
def _naming(names: frozenset[str]) -> re.Pattern[str] | None:
    """Compile a pattern that finds these names, not inside longer words of alphabetic scripts."""
    return re.compile("|".join(map(_whole, sorted(names)))) if names else None


def _whole(name: str) -> str:
    before = f"(?<!{_NARROW})" if _is_narrow(name[0]) else ""
    after = f"(?!{_NARROW})" if _is_narrow(name[-1]) else ""
    return f"{before}{re.escape(name)}{after}"


def _is_narrow(letter: str) -> bool:
    return ord(letter) < _WIDE and letter.isalnum()


def _digest(folded: str) -> str:
    return hashlib.blake2b(folded.encode(errors="surrogatepass"), digest_size=12).hexdigest()


def _normalize_text(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip()
