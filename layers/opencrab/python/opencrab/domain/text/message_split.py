"""Pieces: a long text as several messages, cut where a reader would pause.

Lengths are in UTF-16 units, the stricter of the two ways in which a character can be counted.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

LIMIT = 2_000
"""The limit of one message on Discord, in UTF-16 units."""

_FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9_+\-.#]{1,32}(?=\n)")
_WHOLE = re.compile(
    r"(?<!`)(`{1,2})(?!`)[^`\n]+\1(?!`)"  # inline code
    r"|<(?:a?:\w{1,32}:|[@#][!&]?|t:)-?\d{1,20}(?::[A-Za-z])?>"  # emoji, mention, time
    r"|\[[^\[\]\n]{1,200}\]\([^()\s]{1,1000}\)"
    r"|https?://[^\s<>\u3000-\u30ff\uff00-\uffef]+"
)
_BREAKS = (
    re.compile(r"\n[ \t\r]*\n"),
    re.compile(r"\n"),
    re.compile(r"[。\uff0e！？]+[」』）】〉》\u201d\u2019]*|[.!?][\u201d\u2019\"')\]]*(?=\s)"),
    re.compile(r"\s|[、，]"),
)
"""The ends of paragraphs, lines, sentences and words, at which a text may be cut."""

_BLANK_LINES = re.compile(r"(?:[ \t\r]*\n)+")
_BLANK = re.compile(r"\s+")
_JOINER = "\u200d"
_NEVER_FIRST = frozenset(
    f"{_JOINER}\u200c\uff9e\uff9f、。，\uff0e！？：；」』）】〉》\u3015\u201d\u2019"
    "ーぁぃぅぇぉっゃゅょァィゥェォッャュョ"
)
"""Characters that stay with the one before, by their shape or by the rules of Japanese type."""

_BMP = "\uffff"


def split_text_to_limit(text: str, limit: int = LIMIT) -> tuple[str, ...]:
    """Split a text into messages of at most `limit` UTF-16 units each, none of them blank.

    Only white space at the cuts is lost. A code block that is longer than a message is closed at
    the cut and opened again after it.
    """
    if not text.strip():
        return ()
    if _units(text) <= limit:
        return (text,)
    return tuple(_Cutting(text, limit).pieces())


def first_piece_of_text(text: str, limit: int) -> str:
    """Return the first piece of a text, with an ellipsis if the text goes on."""
    found = split_text_to_limit(text, limit)
    return text if len(found) <= 1 else f"{split_text_to_limit(text, limit - 2)[0]}\n…"


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True)
class _Block:
    """A code block: from its opening marks to the end of its closing ones.

    Its content is between `inner` and `closer`, without leading white space.
    """

    start: int
    inner: int
    closer: int
    end: int
    language: str


class _Cutting:
    """A text while it is split."""

    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._blocks = tuple(_blocks(text))
        self._starts = [block.start for block in self._blocks]
        self._spans = [
            match.span() for match in _WHOLE.finditer(text) if len(match[0]) <= limit // 2
        ]
        self._span_starts = [start for start, _ in self._spans]

    def pieces(self) -> Iterator[str]:
        """Yield the pieces in order."""
        place = self._skipped(0)
        while place < len(self._text):
            piece, place = self._next(place)
            yield piece
            place = self._skipped(place)

    def _next(self, place: int) -> tuple[str, int]:
        """Return the piece that begins at a place, and the place where the next one begins."""
        block = self._block_at(place)
        opening = f"{_FENCE}{block.language}\n" if block else ""
        room = self._limit - len(opening)
        cut = self._cut(place, room)
        inside = self._open_at(cut)
        if inside is None:
            return opening + self._text[place:cut].rstrip(), cut
        room -= len(_FENCE) + 1
        cut = self._cut(place, room)
        inside = self._open_at(cut)
        closing = f"\n{_FENCE}" if inside else ""
        piece = f"{opening}{self._text[place:cut].rstrip()}{closing}"
        if inside and not self._text[cut : inside.closer].strip():
            cut = inside.end
        return piece, cut

    def _cut(self, place: int, room: int) -> int:
        """Return the end of a piece that begins at a place and has at most `room` units."""
        end = self._furthest(place, room)
        if end >= len(self._text):
            return end
        block = self._block_at(end)
        # Marks that open a block never end a piece.
        if block and block.start > place and (self._fits(block) or end <= block.inner):
            return block.start
        for least in (place + room // 2, place):
            for kind in _BREAKS:
                found = [match.end() for match in kind.finditer(self._text, place, end)]
                for cut in reversed(found):
                    if cut <= least:
                        break
                    if self._may_cut(cut, place):
                        return cut
        return self._hard(place, end)

    def _may_cut(self, cut: int, place: int) -> bool:
        block = self._block_at(cut)
        if block is not None:
            elsewhere_whole = block.start > place and self._fits(block)
            if elsewhere_whole or cut <= block.inner:
                return False
        return self._span_at(cut) is None and self._parts(cut, place)

    def _hard(self, place: int, end: int) -> int:
        """Return the last place that separates nothing that belongs together, else `end`."""
        cut = end
        while cut > place:
            span = self._span_at(cut)
            if span is not None and span > place:
                cut = span
            elif self._parts(cut, place):
                return cut
            else:
                cut -= 1
        return end

    def _parts(self, cut: int, place: int) -> bool:
        """Check whether a cut separates two complete characters."""
        if not 0 < cut < len(self._text):
            return True
        before, after = self._text[cut - 1], self._text[cut]
        if before == "`" == after or before == _JOINER or _extends(after):
            return False
        if not (_is_flag(before) and _is_flag(after)):
            return (before, after) != ("\r", "\n")
        first = cut
        while first > place and _is_flag(self._text[first - 1]):
            first -= 1
        return (cut - first) % 2 == 0

    def _furthest(self, place: int, room: int) -> int:
        """Return the end of the longest stretch from a place of at most `room` units."""
        window = self._text[place : place + room]
        if not window or max(window) <= _BMP:
            return place + len(window)
        used = 0
        for at, character in enumerate(window):
            used += 2 if character > _BMP else 1
            if used > room:
                return place + at
        return place + len(window)

    def _skipped(self, place: int) -> int:
        """Return the next place that is not blank; indentation in code is kept."""
        within = self._open_at(place) is not None
        found = (_BLANK_LINES if within else _BLANK).match(self._text, place)
        return place if found is None else found.end()

    def _fits(self, block: _Block) -> bool:
        size = block.end - block.start
        return size <= self._limit and _units(self._text[block.start : block.end]) <= self._limit

    def _block_at(self, place: int) -> _Block | None:
        """Return the code block around a place, not one that begins or ends there; or None."""
        found = bisect_right(self._starts, place - 1) - 1
        if found < 0 or place >= self._blocks[found].end:
            return None
        return self._blocks[found]

    def _open_at(self, cut: int) -> _Block | None:
        """Return the block that is open at a cut; at the text's end also an unclosed one."""
        block = self._block_at(cut)
        if block is None and cut >= len(self._text) and self._blocks:
            last = self._blocks[-1]
            block = last if last.closer == last.end else None
        return block

    def _span_at(self, place: int) -> int | None:
        """Return the start of the link, mention or inline code that a cut would split, or None."""
        found = bisect_right(self._span_starts, place - 1) - 1
        if found < 0 or place >= self._spans[found][1]:
            return None
        return self._spans[found][0]


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the code blocks: from one fence to the next, or to the end."""
    place = 0
    while (start := text.find(_FENCE, place)) >= 0:
        marks = start + len(_FENCE)
        named = _LANGUAGE.match(text, marks)
        inner = marks if named is None else named.end()
        blank = _BLANK.match(text, inner)
        inner = inner if blank is None else blank.end()
        closer = text.find(_FENCE, inner)
        language = "" if named is None else named[0]
        if closer < 0:
            yield _Block(start, inner, len(text), len(text), language)
            return
        place = closer + len(_FENCE)
        yield _Block(start, inner, closer, place, language)


def _extends(character: str) -> bool:
    """Check whether a character may not begin a piece: accents, selectors, skin tones, 。」."""
    code = ord(character)
    return (
        character in _NEVER_FIRST
        or 0x1F3FB <= code <= 0x1F3FF  # noqa: PLR2004 - skin tones
        or 0xE0020 <= code <= 0xE007F  # noqa: PLR2004 - tags, as in the flag of Wales
        or 0x1160 <= code <= 0x11FF  # noqa: PLR2004 - vowels and ends of Hangul syllables
        or unicodedata.category(character).startswith("M")
    )


def _is_flag(character: str) -> bool:
    """Check whether a character is a regional indicator, two of which make a flag."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"
