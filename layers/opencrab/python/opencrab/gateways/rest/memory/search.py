"""Search over REST: what an agent can find again, as far as whoever asks may hear of it."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, model_validator

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.errors import Invalid
from opencrab.domain.memory.search_row import RowKind
from opencrab.domain.text.query import LONGEST_QUESTION
from opencrab.domain.value import Identifier, Name, Text, Value
from opencrab.engine.memory import reading
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.timestamps import Moment
from opencrab.ports.memory.search import MOST_FOUND, SearchHit, SearchQuery

router = http_routes_below("/api/agents/{agent_id}/memory", "memory")


class MemorySearch(Value, defer_build=False):
    """A search with filters; a filter that is left out excludes nothing."""

    query: Annotated[Text, Field(min_length=1, max_length=LONGEST_QUESTION)] = Field(
        description="words, or whole questions in the language of the conversation, one a line;"
        " names of speakers and times (last Friday, 6月3日) count",
        examples=["いつ京都に引っ越すと言っていた?", "When did she say she would move to Kyoto?"],
    )
    limit: Annotated[int, Field(ge=1, le=MOST_FOUND)] = 10
    session_id: Identifier | None = Field(default=None, description="only lines of this session")
    kinds: Annotated[tuple[RowKind, ...], Field(max_length=len(RowKind))] = ()
    speaker: Name | None = Field(
        default=None, description="only lines of this speaker, a name or an id"
    )
    since: Moment | None = Field(default=None, examples=["2026-01-01T00:00:00Z"])
    until: Moment | None = Field(default=None, examples=["2026-02-01T00:00:00Z"])
    hearings: Annotated[tuple[Hearing, ...], Field(max_length=len(Hearing))] = ()

    @model_validator(mode="after")
    def _is_a_stretch_of_time(self) -> "MemorySearch":
        if self.since is not None and self.until is not None and self.since > self.until:
            raise ValueError("since is later than until: swap them")
        return self


class FoundView(Value):
    """One search result; the excerpt shows it with neighbouring lines.

    `id` is `SESSION:12` for a line and `memory:ID`, `summary:S3` and so on for documents. A higher
    score is a better match; only owners get it, because it depends on other people's lines too.
    `why` names the matching criteria. `tainted`: untrusted text.
    """

    id: str
    kind: RowKind
    text: str
    excerpt: str
    session_id: str
    sequence: int
    at: datetime
    speaker_id: str
    speaker: str
    hearing: Hearing
    score: float | None = None
    why: tuple[str, ...]
    tainted: bool

    @classmethod
    def of(cls, found: SearchHit, *, scored: bool) -> "FoundView":
        """Convert a search hit to its view; without `scored`, its score is null."""
        row = found.row
        own = ("id", "kind", "text", "session_id", "sequence", "at")
        shown = {name: getattr(row, name) for name in (*own, "speaker_id", "speaker", "hearing")}
        return cls(
            **shown,
            excerpt=found.excerpt,
            score=found.score if scored else None,
            why=found.why,
            tainted=found.taint or row.taint,
        )


class FoundViews(Value):
    """Search results, best first."""

    items: tuple[FoundView, ...]


@router.post("/search")
def search_memory(
    api: Api, caller: Talker, agent_id: Id, _once: Repeatable, body: Strict[MemorySearch]
) -> FoundViews:
    """Search an agent's lines and memories.

    The query may be words, names, times or a whole question. An owner key finds everything. A chat
    key finds what everybody may read, and speech of sessions that its principal opened or is a
    member of, unless they are private.
    Results are not kept for the Idempotency-Key, because they may have to be erased.
    """
    return _run_search(api.runtime, caller, agent_id, body)


def _run_search(runtime: Runtime, caller: Caller, agent_id: str, body: MemorySearch) -> FoundViews:
    if not body.query.strip():
        raise Invalid("query is blank", field="query", cure="give the words to search for")
    query = SearchQuery(
        text=body.query,
        clearance=reading.memory_search_clearance(caller.principal),
        limit=body.limit,
        session_id=body.session_id,
        kinds=frozenset(body.kinds),
        hearings=frozenset(body.hearings),
        speaker=body.speaker,
        since=body.since,
        until=body.until,
    )
    found = reading.search_memory_of_principal(
        runtime.home,
        runtime.search,
        agent_id,
        query,
        caller.principal,
        zone=runtime.rules.time_zone,
    )
    scored = query.clearance.whole
    return FoundViews(items=tuple(FoundView.of(each, scored=scored) for each in found))
