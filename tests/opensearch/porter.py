"""Porter's stems of English words, as Lucene's filter and SQLite's tokenizer make them.

A search has to find what was said a moment ago, before the server can; so what the server does to
words is done here too. M. F. Porter, "An algorithm for suffix stripping", Program 14 (1980), with
the two changes that its author made later: `-bli` and `-logi`.
"""

import re
from functools import lru_cache

_SHORTEST = 3
_LONGEST = 64

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
    *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of one word in lower case; words in other letters are as they were."""
    if not (_SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalnum()):
        return word
    for step in (_plurals, _past_tenses, _final_y, _step_2, _step_3, _step_4, _final_e):
        word = step(word)
    return word


def _plurals(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_tenses(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return _mended(rest) if "v" in _shape(rest) else word
    return word


def _mended(rest: str) -> str:
    """What is left without `-ed` or `-ing`, with the end that its stem has."""
    if rest.endswith(("at", "bl", "iz")):
        return f"{rest}e"
    if _shape(rest)[-2:] == "cc" and rest[-2:-1] == rest[-1:] and rest[-1] not in "lsz":
        return rest[:-1]
    return f"{rest}e" if _measure(rest) == 1 and _is_short(rest) else rest


def _final_y(word: str) -> str:
    return f"{word[:-1]}i" if word.endswith("y") and "v" in _shape(word[:-1]) else word


def _step_2(word: str) -> str:
    return _replaced(word, _STEP_2)


def _step_3(word: str) -> str:
    return _replaced(word, _STEP_3)


def _replaced(word: str, endings: dict[str, str]) -> str:
    found = max((each for each in endings if word.endswith(each)), key=len, default="")
    rest = word[: len(word) - len(found)]
    return rest + endings[found] if found and _measure(rest) > 0 else word


def _step_4(word: str) -> str:
    found = max((each for each in _STEP_4 if word.endswith(each)), key=len, default="")
    rest = word[: len(word) - len(found)]
    if not found or _measure(rest) <= 1 or (found == "ion" and not rest.endswith(("s", "t"))):
        return word
    return rest


def _final_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _measure(rest: str) -> int:
    """How many times vowels are followed by consonants."""
    return len(re.findall("v+c", _shape(rest)))


def _is_short(rest: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, the last none of w, x and y."""
    return _shape(rest)[-3:] == "cvc" and rest[-1] not in "wxy"


def _shape(word: str) -> str:
    """A letter `v` for each vowel and `c` for each consonant; `y` is either."""
    shape = ""
    for letter in word:
        after = shape[-1:]
        vowel = letter in "aeiou" or (letter == "y" and after == "c")
        shape += "v" if vowel else "c"
    return shape
