"""The stored progress of an erasure: the fingerprints by which later calls find what is left.

The first calls remove the words, so that repetitions of them could no longer be found: the
fingerprints, with sentences as hashes only, stay until nothing is left to do.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice

from opencrab.domain.document import new_fact
from opencrab.domain.erasure.fingerprint import ErasureFingerprints
from opencrab.domain.erasure.request import ErasureRequest, LineRange
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Value
from opencrab.engine.erasure.checked_text import CheckedText
from opencrab.engine.runtime import Runtime
from opencrab.ports.paging import all_pages

TRAIL = "trail"
"""The kind of document that stores progress, in parts; removed when the erasure is done."""

TRAIL_KEPT = timedelta(days=7)
"""Time for which an erasure can be left unfinished without missing repetitions."""

_HELD = 2_000


class _Part(Value):
    names: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    lines: tuple[LineRange, ...] = ()


class _Head(Value):
    after: str | None = None
    whole: bool = False
    clean: bool = True


@dataclass
class ErasureProgress:
    """The progress of all calls for one request.

    Calls go through all sessions in passes; `after` is the last session that this pass has
    finished. `whole` says that the fingerprints cover all sessions, `clean` that this pass has
    found nothing yet. `checked` is of this call alone.
    """

    traces: ErasureFingerprints
    after: str | None = None
    whole: bool = False
    clean: bool = True
    checked: CheckedText = field(default_factory=CheckedText)

    def next_round(self) -> None:
        """Begin a new pass through all sessions."""
        self.after, self.whole, self.clean = None, True, True


class ErasureProgressStore:
    """The store of one request's progress."""

    def __init__(self, runtime: Runtime, agent_id: str, wish: ErasureRequest) -> None:
        self._runtime, self._agent_id = runtime, agent_id
        self._key = stable_id("forget", wish.model_dump_json())
        self._stored = ErasureFingerprints()
        self._parts = 0

    def read(self) -> ErasureProgress:
        """Load the progress of earlier calls; empty if there were none."""
        known = ErasureProgress(traces=ErasureFingerprints())
        for fact_id in self._ids():
            fact = self._runtime.home.facts.get(self._agent_id, TRAIL, fact_id)
            if fact is None:
                continue
            if fact_id == self._key:
                head = fact.read(_Head)
                known.after, known.whole, known.clean = head.after, head.whole, head.clean
            else:
                part = fact.read(_Part)
                _add(known.traces, part)
                _add(self._stored, part)
                self._parts += 1
        return known

    def keep(self, trail: ErasureProgress) -> None:
        """Store the progress made since it was last read or stored."""
        for part in _news(self._stored, trail.traces):
            self._parts += 1
            self._write(f"{self._key}.{self._parts:06}", part)
            _add(self._stored, part)
        self._write(self._key, _Head(after=trail.after, whole=trail.whole, clean=trail.clean))

    def remove(self) -> None:
        """Delete the progress of a finished erasure."""
        for fact_id in self._ids():
            fact = self._runtime.home.facts.get(self._agent_id, TRAIL, fact_id)
            if fact is not None:
                self._runtime.home.facts.commit(fact.removed())

    def _ids(self) -> list[str]:
        kept = all_pages(self._runtime.home.facts, self._agent_id, TRAIL)
        return [fact.id for fact in kept if fact.id.partition(".")[0] == self._key]

    def _write(self, fact_id: str, value: Value) -> None:
        until = self._runtime.clock.now() + TRAIL_KEPT
        fact = new_fact(self._agent_id, TRAIL, fact_id, value, expires_at=until)
        self._runtime.home.facts.commit(fact.replaced(version=0))


def erased_line_ranges(session_id: str, numbers: Iterable[int]) -> Iterable[LineRange]:
    """Join line numbers into as few ranges as possible."""
    first = last = 0
    for number in sorted(numbers):
        if number == last + 1 and last:
            last = number
            continue
        if last:
            yield LineRange(session_id=session_id, first=first, last=last)
        first = last = number
    if last:
        yield LineRange(session_id=session_id, first=first, last=last)


def add_erased_lines(traces: ErasureFingerprints, lines: Mapping[str, Iterable[int]]) -> None:
    """Add erased lines to the fingerprints."""
    for session_id, numbers in lines.items():
        known: AbstractSet[int] = traces.lines.get(session_id, frozenset())
        traces.lines[session_id] = known | frozenset(numbers)


def _add(traces: ErasureFingerprints, part: _Part) -> None:
    traces.names.update(dict.fromkeys(part.names))
    traces.others.update(part.others)
    traces.sentences.update(part.sentences)
    traces.common.update(part.common)
    traces.ids.update(part.ids)
    lines: dict[str, set[int]] = {}
    for each in part.lines:
        lines.setdefault(each.session_id, set()).update(range(each.first, each.last + 1))
    add_erased_lines(traces, lines)


def _news(stored: ErasureFingerprints, now: ErasureFingerprints) -> Iterable[_Part]:
    """Yield the fingerprints that are not stored yet, in parts that each fit a document."""
    places = (
        each
        for session_id, numbers in now.lines.items()
        for each in erased_line_ranges(
            session_id, numbers - stored.lines.get(session_id, frozenset())
        )
    )
    news: dict[str, Iterable[object]] = {
        "names": [each for each in now.names if each not in stored.names],
        "others": sorted(now.others - stored.others),
        "sentences": sorted(now.sentences - stored.sentences),
        "common": sorted(now.common - stored.common),
        "ids": sorted(now.ids - stored.ids),
        "lines": places,
    }
    for name, values in news.items():
        rest = iter(values)
        while held := tuple(islice(rest, _HELD)):
            yield _Part.model_validate({name: held})
