"""Report wording: checks of a model's summary before it is shown above a learning report."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime

from opencrab.domain.value import Language, Value

WORDING = "wording"
"""The kind of an agent's documents that store report wordings; the id is the period's."""

WRITTEN = "written"
"""The kind of an agent's documents that list reports written by code; the id is the period's."""

SENTENCES = 6
CHARACTERS = 1_200
"""The length limit of a wording."""

_WRITTEN = 20
_WHOLE = {"", "stop", "end_turn", "stop_sequence"}
"""Finish reasons of an answer that is complete; all others count as cut off."""

_END = re.compile(r"[。！？]+|[.!?]+(?=\s|$)")
_MARKUP = re.compile(r"[<>]|\]\(|\[\[|://|```|\bwww\.|\w@\w", re.IGNORECASE)
_LEADING = "#>*-+_ 　"
_NAMED = re.compile(r"`([^`\n]+)`")
_COMMA = re.compile(r"(?<=\d)[,'’](?=\d{3}(?!\d))")
_SPACED = re.compile(r"(?<![\w.])\d{1,3}(?: \d{3})+(?![\d.])")
_WORD = re.compile(r"(?=[\w.]*[A-Za-z_])(?=[\w.]*\d)[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*", re.ASCII)
_NUMBER = re.compile(r"([A-Za-z_]*)(\d+(?:\.\d+)*)([A-Za-z_]*)")
_UNITS = {"", "s", "ms", "st", "nd", "rd", "th", "usd"}
"""Texts that may follow a number directly without being a part of it."""

_LETTER = re.compile(r"[^\W\d_]")
_SCALED = re.compile(
    r"\d[ -]?(?:k|m|b|bn|mn|mio|dozen)\b|\d ?[十百千万億兆]|[一二三四五六七八九〇十百千数]+[万億兆]"
    r"|\b(?:hundred|thousand|million|billion|trillion)s?\b",
    re.IGNORECASE,
)
_SPELLED = re.compile(
    r"[〇一二三四五六七八九十百千万億]+(?:パーセント|%|ポイント|ターン|トークン|回|件|ドル|円|割|倍)"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty"
    r"|forty|fifty|sixty|seventy|eighty|ninety)[ -]"
    r"(?:per ?cent|%|points?|turns?|calls?|tokens?|times|dollars?|usd)\b",
    re.IGNORECASE,
)


class ReportWording(Value):
    """The result of asking a model once to summarise a report.

    `missing` is the code for why there is no text, "" if there is one; `language` is that of the
    report which the model was shown.
    """

    at: datetime
    turn_id: str
    language: Language
    text: str = ""
    model: str = ""
    missing: str = ""


class WrittenReports(Value):
    """SHA-256 digests of the reports on one period that code wrote, the newest last."""

    digests: tuple[str, ...] = ()

    def with_digest(self, digest: str) -> "WrittenReports":
        """Return the digests with one more; the oldest beyond 20 are dropped."""
        others = (each for each in self.digests if each != digest)
        return self.replaced(digests=(*others, digest)[-_WRITTEN:])


def first_learning_report_sentences(said: str, finish: str = "") -> str:
    """Return the first sentences on one line, without leading marks that would make a heading.

    Of an answer that was cut off only whole sentences stay, which may be none.
    """
    text = " ".join(said.split()).lstrip(_LEADING)
    cut = finish.lower() not in _WHOLE
    ends = [
        found.end() for found in _END.finditer(text) if not (cut and _may_go_on(text, found.end()))
    ]
    if cut and not ends:
        return ""
    if cut or len(ends) > SENTENCES:
        return text[: ends[:SENTENCES][-1]]
    return text


def _may_go_on(text: str, end: int) -> bool:
    """Check whether what looks like the end of a sentence may be a decimal point."""
    return end == len(text) and re.search(r"\d\.$", text) is not None


def learning_report_wording_flaw(text: str, report: str) -> str:
    """Return the code for why a text may not stand above a report; "" if it may.

    Every number in it must be one of the report, and none may be scaled, as in 12k and 12 million.
    Numbers that are part of a name that the report puts in backquotes, or of a word of the report,
    do not count. Code cannot check whether a number refers to the right thing, nor a number in
    words unless what it counts comes after it.
    """
    if not text:
        return "empty"
    quoted = set(_NAMED.findall(report))
    names = quoted | {name.rpartition(":")[2] for name in quoted}
    if len(text) > CHARACTERS or _MARKUP.search(text) or not names.issuperset(_NAMED.findall(text)):
        return "form"
    bare = _plain(_NAMED.sub(" ", report))
    words = set(_WORD.findall(bare))
    plain = _plain(_nameless(text, names))
    plain = _WORD.sub(lambda found: " " if found[0] in words else found[0], plain)
    if _SPELLED.search(plain) or _SCALED.search(plain):
        return "number"
    joined = _SPACED.sub(lambda found: found[0].replace(" ", ""), plain)
    known = {number for before, number, _ in _numbers(bare) if not before}
    fits = all(number in known and after in _UNITS for _, number, after in _numbers(joined))
    return "" if fits else "number"


def _nameless(text: str, names: set[str]) -> str:
    """Remove names from the text, except those of digits only."""
    for name in sorted(names, key=len, reverse=True):
        if _LETTER.search(name):
            text = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", " ", text)
    return text


def _plain(text: str) -> str:
    """Convert all digits to 0 to 9 and remove commas within numbers."""
    folded = unicodedata.normalize("NFKC", text)
    digits = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in folded)
    return _COMMA.sub("", digits)


def _numbers(text: str) -> Iterator[tuple[str, tuple[str, str], str]]:
    """Yield the numbers of a text with the letters right before and after them.

    Each is a pair of the digits before and after its point, equal however it is written.
    """
    for before, number, after in _NUMBER.findall(text):
        whole, _, part = number.partition(".")
        yield before, (whole.lstrip("0"), part.rstrip("0")), after.lower()
