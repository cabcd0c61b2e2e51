"""What differs from run to run in printed output, and what is the same in spite of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from tests.docs.page import GAP

_ID = re.compile(r"\b[0-9a-hjkmnp-tv-z]{26}\b")
_VARYING = (
    (_ID, "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?"), "<time>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "<day>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"#sign-in=\w+"), "#sign-in=<code>"),
    (re.compile(r"\b1-[0-9a-f]{8}-[0-9a-f]{24}\b"), "<trace>"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|秒)(?![a-z])"), r"<n> \2"),
    (re.compile(r"\d+→\d+( (?:tokens|トークン))"), r"<n>→<n>\1"),
    (re.compile(r'("location": "\w+:)\d+'), r"\1<line>"),
    (re.compile(r"(milliseconds=)\d+"), r"\1<n>"),
    (re.compile(r"\b\d{1,3}(,\d{3})+\b"), "<n>"),
    (re.compile(r"([Pp]ython: )\d+\.\d+\.\d+"), r"\1<version>"),
)
"""Patterns of what no two runs have in common."""

_INSTALLING = re.compile(r"^installing requirements/")


def _normal(line: str) -> str:
    for pattern, name in _VARYING:
        line = pattern.sub(name, line)
    return line.rstrip()


@dataclass
class Comparison:
    """Compares lines, and remembers which printed id stands for which real one.

    A printed id must always stand for the same real one. Where a checkout lends its environment,
    nothing is installed, so those lines are passed over.
    """

    lent: bool = True
    ids: dict[str, str] = field(default_factory=dict)

    def real(self, typed: str) -> str:
        """What is typed, with the ids of this run."""
        return _ID.sub(lambda found: self.ids.get(found[0], found[0]), typed)

    def is_same(self, printed: Sequence[str], actual: Sequence[str]) -> bool:
        """Whether the printed lines, which may have gaps, are the actual ones."""
        printed, actual = self._kept(printed), self._kept(actual)
        pairs = list(_aligned(printed, actual))
        if len(pairs) != sum(line != GAP for line in printed):
            return False
        if GAP not in printed and len(printed) != len(actual):
            return False
        same = [self._is_same_line(one, other) for one, other in pairs]
        return all(same)

    def merged(self, printed: Sequence[str], actual: Sequence[str]) -> tuple[str, ...]:
        """The actual lines, each as it is printed already where only varying parts differ."""
        known = {other: one for one, other in self.ids.items()}
        actual = [_ID.sub(lambda found: known.get(found[0], found[0]), line) for line in actual]
        before, now = ([_normal(line) for line in each] for each in (printed, actual))
        lines: list[str] = []
        matching = SequenceMatcher(a=before, b=now, autojunk=False)
        for tag, start, end, to, until in matching.get_opcodes():
            if tag == "equal":
                lines += printed[start:end]
                continue
            if self.lent:
                lines += [line for line in printed[start:end] if _INSTALLING.match(line)]
            lines += actual[to:until]
        return tuple(line.rstrip() for line in lines)

    def _is_same_line(self, printed: str, actual: str) -> bool:
        pairs = zip(_ID.findall(printed), _ID.findall(actual), strict=False)
        known = [self.ids.setdefault(one, other) == other for one, other in pairs]
        return _normal(printed) == _normal(actual) and all(known)

    def _kept(self, lines: Sequence[str]) -> list[str]:
        return [line for line in lines if not (self.lent and _INSTALLING.match(line))]


def _aligned(printed: Sequence[str], actual: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each printed line with the actual one that it stands for; what lies in gaps is left out."""
    place, after_gap = 0, False
    for number, line in enumerate(printed):
        if line == GAP:
            after_gap = True
            continue
        if after_gap:
            place = _next_place(printed[number:], actual, place)
        after_gap = False
        if place >= len(actual):
            return
        yield line, actual[place]
        place += 1


def _next_place(printed: Sequence[str], actual: Sequence[str], start: int) -> int:
    """Where the printed lines up to the next gap begin; those at the end lie at the end."""
    length = printed.index(GAP) if GAP in printed else len(printed)
    wanted = [_normal(line) for line in printed[:length]]
    if GAP not in printed:
        return max(start, len(actual) - length)
    places = range(start, len(actual))
    return next(
        (at for at in places if [_normal(line) for line in actual[at : at + length]] == wanted),
        len(actual),
    )
