"""Plain search: the newest lines of a session and the agent's memories, read and compared."""

from collections.abc import Iterator

from opencrab.domain.authority import taints
from opencrab.domain.line import Audience, Line, LineKind
from opencrab.domain.memory import Memory
from opencrab.domain.terms import share, terms
from opencrab.ports.facts import Facts
from opencrab.ports.journal import Journal
from opencrab.ports.search import Found

LINES = 500
"""How many of a session's newest lines are looked through."""

MEMORIES = 500
"""How many of an agent's newest memories are looked through."""

_PAGE = 100
_SPOKEN = {LineKind.SPEECH, LineKind.INNER_VOICE}
_KINDS = {
    Audience.ALL: "speech",
    Audience.AGENTS: "instruction",
    Audience.SELF: "inner_voice",
}
"""What a line found is called; only `speech` is what everybody in the session could hear."""


class PlainSearch:
    """`ports.search.Search` without an index: exact, and no larger than what it reads at once.

    A text fits by the share of the query's terms that it has; of two that fit alike the newer one
    comes first.
    """

    def __init__(self, journal: Journal, facts: Facts) -> None:
        self._journal = journal
        self._facts = facts

    def search(
        self, agent_id: str, query: str, *, session_id: str, limit: int = 10
    ) -> tuple[Found, ...]:
        sought = terms(query)
        found: list[Found] = []
        for line in self._lines(session_id):
            if _visible(line, agent_id) and (score := share(sought, line.text)):
                found.append(_of_line(line, agent_id, score))
        for memory in self._memories(agent_id):
            if score := share(sought, memory.content):
                found.append(_of_memory(memory, agent_id, score))
        found.sort(key=lambda each: (each.score, each.at), reverse=True)
        return tuple(found[:limit])

    def _lines(self, session_id: str) -> Iterator[Line]:
        before: int | None = None
        for _ in range(LINES // _PAGE):
            page = self._journal.lines(session_id, before=before, limit=_PAGE, newest_first=True)
            yield from page
            if len(page) < _PAGE:
                return
            before = page[-1].sequence

    def _memories(self, agent_id: str) -> Iterator[Memory]:
        after = ""
        for _ in range(MEMORIES // _PAGE):
            page = self._facts.page(agent_id, "memory", after=after, limit=_PAGE, newest_first=True)
            yield from (fact.read(Memory) for fact in page)
            if len(page) < _PAGE:
                return
            after = page[-1].id


def _visible(line: Line, agent_id: str) -> bool:
    """Whether these are words that the agent may see: of the thoughts only its own."""
    own = line.speaker_id == agent_id
    return line.kind in _SPOKEN and (own or line.audience is not Audience.SELF)


def _of_line(line: Line, agent_id: str, score: float) -> Found:
    foreign = line.speaker_id != agent_id and (line.from_agent or taints(line.authority))
    return Found(
        kind=_KINDS[line.audience],
        text=line.text,
        session_id=line.session_id,
        speaker=line.speaker_name,
        at=line.at,
        score=score,
        taint=line.taint or foreign,
    )


def _of_memory(memory: Memory, agent_id: str, score: float) -> Found:
    return Found(
        kind="memory",
        text=memory.content,
        session_id=memory.session_id,
        speaker=agent_id,
        at=memory.updated_at,
        score=score,
        taint=memory.tainted,
    )
