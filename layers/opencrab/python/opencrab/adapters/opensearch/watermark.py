"""How far an index has come, and which of that a search can rely on.

The server says that a document is written long before a search can find it. Watermarks therefore
keep their own past: a search goes by the newest one that is old enough for everything before it to
be found, and takes the rest from the journal. They are written after what they speak of, and may
be lost or older than they could be: then a few rows are written twice, which changes nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from opencrab.adapters.opensearch.client import DocumentWrite, OpenSearchClient
from opencrab.adapters.opensearch.limits import term_filter
from opencrab.adapters.opensearch.schema import SEEN
from opencrab.adapters.search_rows import IndexProgress, search_row_micros, search_row_time

SETTLED = timedelta(minutes=2)
"""After this a written document is found; OpenSearch Serverless says 10 to 60 seconds."""

_APART = timedelta(seconds=30)
_RECENT = 100
_AGENT = ""
"""The session of the watermark that is about the agent."""


@dataclass(frozen=True)
class Watermark:
    """One watermark: when it was written, and what it says.

    Of a session the last line and how many rows of it are speech; of the agent the last id of
    each kind of what is kept, and when the reading began.
    """

    at: datetime
    last: int = 0
    place: int = 0
    kept: Mapping[str, str] | None = None
    began: datetime | None = None


class Watermarks:
    """The watermarks of one index, read as they are needed."""

    def __init__(self, client: OpenSearchClient, index: str, until: datetime | None = None) -> None:
        """With `until`, none that was written later counts."""
        self._client = client
        self._index = index
        self._until = until
        self._steps: dict[str, tuple[Watermark, ...]] = {}
        self.lines: Mapping[str, int] = _Lines(self)

    def read(self, answer: Mapping[str, Any] | None) -> None:
        """Take in what a search for the newest watermarks found."""
        for hit in (answer or {}).get("hits", {}).get("hits", ()):
            source = hit["_source"]
            self._steps[source["session"]] = tuple(map(_step, source["steps"]))

    def load(self) -> None:
        """Read the newest watermarks and the agent's own."""
        self.read(self._client.search(self._index, newest_watermarks_query()))

    def of(self, session_id: str) -> Watermark | None:
        """What counts of a session's watermarks; read now unless it is known."""
        if session_id not in self._steps:
            self._steps[session_id] = ()
            body = {"size": 1, "query": _watermark_filter([term_filter("session", session_id)])}
            self.read(self._client.search(self._index, body))
        counting = [
            step
            for step in self._steps[session_id]
            if self._until is None or step.at <= self._until
        ]
        return max(counting, key=lambda step: step.at, default=None)

    def agent(self) -> Watermark | None:
        """What counts of the agent's watermarks."""
        return self.of(_AGENT)

    def seen(self) -> IndexProgress:
        """How far the index has come; with all marks still to be read."""
        agent = self.agent()
        if agent is None:
            return IndexProgress(lines=self.lines)
        return IndexProgress(lines=self.lines, kept=agent.kept or {}, at=agent.began)

    def known(self) -> Iterator[tuple[str, Watermark]]:
        """The sessions whose watermarks were read."""
        for session_id in sorted(self._steps):
            step = self.of(session_id) if session_id else None
            if step is not None:
                yield session_id, step

    def line(self, session_id: str, last: int, place: int, now: datetime) -> DocumentWrite:
        """The document that says how far a session was read."""
        return self._write(session_id, Watermark(now, last=last, place=place))

    def whole(self, kept: Mapping[str, str], began: datetime, now: datetime) -> DocumentWrite:
        """The document that says how far the agent was read."""
        return self._write(_AGENT, Watermark(now, kept=dict(kept), began=began))

    def _write(self, session_id: str, step: Watermark) -> DocumentWrite:
        steps = _prune_steps((*self._steps.get(session_id, ()), step), step.at)
        self._steps[session_id] = steps
        source = {
            "doc": SEEN,
            "session": session_id,
            "at": search_row_micros(step.at),
            "steps": list(map(_source, steps)),
        }
        return DocumentWrite(f"seen:{session_id}", source)


class _Lines(Mapping[str, int]):
    """The last line of each session, for those who ask for few of many sessions."""

    def __init__(self, reached: Watermarks) -> None:
        self._reached = reached

    def __getitem__(self, session_id: str) -> int:
        step = self._reached.of(session_id)
        if step is None:
            raise KeyError(session_id)
        return step.last

    def __iter__(self) -> Iterator[str]:
        return (session_id for session_id, _ in self._reached.known())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def newest_watermarks_query(most: int = _RECENT) -> dict[str, Any]:
    """The search for the watermarks that were written last, the agent's first."""
    order = [{"session": {"order": "asc"}}] if most > _RECENT else [{"at": {"order": "desc"}}]
    return {"size": most, "query": _watermark_filter([]), "sort": order}


def _watermark_filter(more: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bool": {"filter": [term_filter("doc", SEEN), *more]}}


def _prune_steps(steps: tuple[Watermark, ...], now: datetime) -> tuple[Watermark, ...]:
    """The newest of those that are settled, and of the others one in half a minute."""
    settled = [step for step in steps if step.at <= now - SETTLED][-1:]
    kept: list[Watermark] = []
    for step in sorted((each for each in steps if each not in settled), key=lambda one: one.at):
        if step.at <= now - SETTLED:
            continue
        if len(kept) > 1 and kept[-1].at - kept[-2].at < _APART:
            kept.pop()
        kept.append(step)
    return (*settled, *kept)


def _step(source: Mapping[str, Any]) -> Watermark:
    began = source.get("began")
    return Watermark(
        search_row_time(source["at"]),
        last=source.get("last", 0),
        place=source.get("place", 0),
        kept=source.get("kept"),
        began=None if began is None else search_row_time(began),
    )


def _source(step: Watermark) -> dict[str, Any]:
    if step.kept is not None and step.began is not None:
        return {
            "at": search_row_micros(step.at),
            "kept": dict(step.kept),
            "began": search_row_micros(step.began),
        }
    return {"at": search_row_micros(step.at), "last": step.last, "place": step.place}
