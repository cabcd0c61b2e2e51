"""What agents live through in tests of search: lines in sessions, kept things, marks."""

from datetime import datetime
from typing import Any

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Audience, Instruction, Line, LineKind
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.erasure.request import FORGOTTEN, ErasureMark, ErasureScope, LineRange
from opencrab.domain.memory.memory import (
    EXPERIENCE,
    MEMORY,
    REWRITTEN,
    Experience,
    IndexRewrite,
    Memory,
)
from opencrab.domain.memory.summary import SUMMARY, Summary, SummarySpan, memory_summary_document_id
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Value
from opencrab.ports.home import Home


class Life:
    """Writes into a home as turns do; each thing takes a second."""

    def __init__(self, home: Home, clock: FakeClock) -> None:
        self.home, self.clock = home, clock

    def meet(self, session_id: str, *agent_ids: str, **changes: Any) -> Session:
        """A session of these agents."""
        now = self._passed()
        session = Session(
            id=session_id,
            participants=tuple(Participant(agent_id=each) for each in agent_ids or ("hana",)),
            created_by="owner",
            created_at=now,
            updated_at=now,
        )
        return self.home.sessions.create(session.replaced(**changes))

    def say(self, text: str, session_id: str = "s1", **changes: Any) -> int:
        """A line, by Taro unless the changes say otherwise; answers its number."""
        now = self._passed()
        fields: dict[str, Any] = {
            "group": "g",
            "kind": LineKind.SPEECH,
            "audience": Audience.ALL,
            "speaker_id": "taro",
            "speaker_name": "太郎",
            "authority": Authority.USER,
            "at": now,
        } | changes
        line = Line(session_id=session_id, text=text, **fields)
        told = Instruction(
            id=self.clock.new_id(), session_id=session_id, text=text or "-", by="taro", at=now
        )
        return self.home.journal.instruct(told, line).line

    def remember(self, content: str, **changes: Any) -> str:
        """A memory; answers its id."""
        now, memory_id = self._passed(), self.clock.new_id()
        memory = Memory(
            id=memory_id, category="fact", content=content, created_at=now, updated_at=now
        ).replaced(**changes)
        self._keep(MEMORY, memory_id, memory)
        return memory_id

    def experience(self, happened: str, lesson: str) -> str:
        """An experience; answers its id."""
        now, experience_id = self._passed(), self.clock.new_id()
        lived = Experience(
            id=experience_id, experience=happened, outcome=Outcome.SUCCESS, lesson=lesson, at=now
        )
        self._keep(EXPERIENCE, experience_id, lived)
        return experience_id

    def retire(self, experience_id: str, *, back: bool = False) -> None:
        """Have an experience found no more, or again."""
        fact, now = self._stored(EXPERIENCE, experience_id), self._passed()
        lived = fact.read(Experience).replaced(retired_at=None if back else now)
        told = IndexRewrite(refs=(experience_id,), kind=EXPERIENCE)
        beside = [new_fact("hana", REWRITTEN, self.clock.new_id(), told)] if back else []
        self.home.facts.commit(fact.with_body(lived), *beside)

    def summarise(self, number: int, text: str, **changes: Any) -> str:
        """A summary; answers its id."""
        now, summary_id = self._passed(), f"S{number}"
        summary = Summary(
            id=summary_id, span=SummarySpan.TOPIC, text=text, since=now, until=now, at=now
        ).replaced(**changes)
        self._keep(SUMMARY, memory_summary_document_id(summary_id), summary)
        return summary_id

    def reword(self, memory_id: str, content: str, **changes: Any) -> None:
        """Change what a memory says."""
        fact = self._stored(MEMORY, memory_id)
        memory = fact.read(Memory).replaced(content=content, updated_at=self._passed(), **changes)
        self.home.facts.commit(fact.with_body(memory))

    def remove(self, kind: str, fact_id: str) -> None:
        """Remove a kept thing."""
        self.home.facts.commit(self._stored(kind, fact_id).removed())

    def mark(
        self, *lines: tuple[str, int, int], refs: tuple[str, ...] = (), everything: bool = False
    ) -> None:
        """Say that lines of sessions, first to last, and kept things are forgotten."""
        now = self._passed()
        named = tuple(LineRange(session_id=each, first=one, last=two) for each, one, two in lines)
        mark = ErasureMark(
            scope=ErasureScope.PERIOD, lines=named, refs=refs, everything=everything, at=now
        )
        self.home.facts.commit(new_fact("hana", FORGOTTEN, self.clock.new_id(), mark))

    def _keep(self, kind: str, fact_id: str, value: Value) -> None:
        self.home.facts.commit(new_fact("hana", kind, fact_id, value))

    def _stored(self, kind: str, fact_id: str) -> Document:
        fact = self.home.facts.get("hana", kind, fact_id)
        assert fact is not None
        return fact

    def _passed(self) -> datetime:
        self.clock.advance(1)
        return self.clock.now()


PUBLIC = {"hearing": Hearing.PUBLIC}
