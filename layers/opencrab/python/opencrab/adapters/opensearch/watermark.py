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
from opencrab.adapters.opensearch.limits import opensearch_term_filter
from opencrab.adapters.opensearch.schema import SEEN
from opencrab.adapters.search_rows import IndexProgress, search_row_microseconds, time_of_search_row

SETTLED = timedelta(minutes=2)
"""After this a written document is found; OpenSearch Serverless says 10 to 60 seconds."""

_APART = timedelta(seconds=30)
_RECENT = 100
_AGENT = ""
"""The session of the watermark that is about the agent."""


@dataclass(frozen=True)
class Watermark:
    """A record of how far an index has come, and when it was written (`at`).

    For a session: `last` line and number of speech rows (`place`). For the agent: the last id of
    each kind of stored document (`kept`), and when that indexing pass began.
    """

    at: datetime
    last: int = 0
    place: int = 0
    kept: Mapping[str, str] | None = None
    began: datetime | None = None


class Watermarks:
    """The watermarks of one index, read as they are needed."""

    def __init__(self, client: OpenSearchClient, index: str, until: datetime | None = None) -> None:
        """Ignore watermarks that were written after `until`."""
        self._client = client
        self._index = index
        self._until = until
        self._steps: dict[str, tuple[Watermark, ...]] = {}
        self.lines: Mapping[str, int] = _Lines(self)

    def read(self, answer: Mapping[str, Any] | None) -> None:
        """Take the watermarks from a search response."""
        for hit in (answer or {}).get("hits", {}).get("hits", ()):
            source = hit["_source"]
            self._steps[source["session"]] = tuple(map(_step, source["steps"]))

    def load(self) -> None:
        """Read the newest watermarks, the agent's own among them."""
        self.read(self._client.search(self._index, opensearch_watermarks_query()))

    def session_watermark(self, session_id: str) -> Watermark | None:
        """Return a session's newest valid watermark, read if it is not cached; None without one."""
        if session_id not in self._steps:
            self._steps[session_id] = ()
            body = {
                "size": 1,
                "query": _watermark_filter([opensearch_term_filter("session", session_id)]),
            }
            self.read(self._client.search(self._index, body))
        counting = [
            step
            for step in self._steps[session_id]
            if self._until is None or step.at <= self._until
        ]
        return max(counting, key=lambda step: step.at, default=None)

    def agent_watermark(self) -> Watermark | None:
        """Return the agent's newest valid watermark; None without one."""
        return self.session_watermark(_AGENT)

    def progress(self) -> IndexProgress:
        """Return the index's progress; without a last mark, so that all erasure marks are read."""
        agent = self.agent_watermark()
        if agent is None:
            return IndexProgress(lines=self.lines)
        return IndexProgress(lines=self.lines, kept=agent.kept or {}, at=agent.began)

    def known(self) -> Iterator[tuple[str, Watermark]]:
        """Yield the sessions whose watermarks were read."""
        for session_id in sorted(self._steps):
            step = self.session_watermark(session_id) if session_id else None
            if step is not None:
                yield session_id, step

    def session_document(
        self, session_id: str, last: int, place: int, now: datetime
    ) -> DocumentWrite:
        """Return the write that records how far a session was indexed."""
        return self._write(session_id, Watermark(now, last=last, place=place))

    def agent_document(
        self, kept: Mapping[str, str], began: datetime, now: datetime
    ) -> DocumentWrite:
        """Return the write that records how far the agent was indexed."""
        return self._write(_AGENT, Watermark(now, kept=dict(kept), began=began))

    def _write(self, session_id: str, step: Watermark) -> DocumentWrite:
        steps = _prune_steps((*self._steps.get(session_id, ()), step), step.at)
        self._steps[session_id] = steps
        source = {
            "doc": SEEN,
            "session": session_id,
            "at": search_row_microseconds(step.at),
            "steps": list(map(_source, steps)),
        }
        return DocumentWrite(f"seen:{session_id}", source)


class _Lines(Mapping[str, int]):
    """The last indexed line per session, read lazily for callers that need few sessions."""

    def __init__(self, reached: Watermarks) -> None:
        self._reached = reached

    def __getitem__(self, session_id: str) -> int:
        step = self._reached.session_watermark(session_id)
        if step is None:
            raise KeyError(session_id)
        return step.last

    def __iter__(self) -> Iterator[str]:
        return (session_id for session_id, _ in self._reached.known())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def opensearch_watermarks_query(most: int = _RECENT) -> dict[str, Any]:
    """Return the search for watermarks: newest first, or by session for large limits."""
    order = [{"session": {"order": "asc"}}] if most > _RECENT else [{"at": {"order": "desc"}}]
    return {"size": most, "query": _watermark_filter([]), "sort": order}


def _watermark_filter(more: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bool": {"filter": [opensearch_term_filter("doc", SEEN), *more]}}


def _prune_steps(steps: tuple[Watermark, ...], now: datetime) -> tuple[Watermark, ...]:
    """Keep the newest settled watermark, and of newer ones about one per 30 seconds."""
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
        time_of_search_row(source["at"]),
        last=source.get("last", 0),
        place=source.get("place", 0),
        kept=source.get("kept"),
        began=None if began is None else time_of_search_row(began),
    )


def _source(step: Watermark) -> dict[str, Any]:
    if step.kept is not None and step.began is not None:
        return {
            "at": search_row_microseconds(step.at),
            "kept": dict(step.kept),
            "began": search_row_microseconds(step.began),
        }
    return {"at": search_row_microseconds(step.at), "last": step.last, "place": step.place}
