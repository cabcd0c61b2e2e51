"""One summary: its sources, the question to the model, and the storing of the answer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from opencrab.domain.agents.agent import Agent
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Invalid, Unavailable
from opencrab.domain.memory.search_row import RowKind, memory_search_row_of_line
from opencrab.domain.memory.summary import (
    COMPACTION,
    SHELF,
    SUMMARY,
    CompactionState,
    Summary,
    SummaryIndex,
    SummarySource,
    SummarySpan,
    SummaryTopic,
    memory_summary_document_id,
)
from opencrab.domain.models.routing import CallOptions, RoutingBasis, Use
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.record import ModelAnswer, ModelIntent, ModelResult, Record
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.memory.compaction.prompt import (
    OVERHEAD_TOKENS,
    parse_summary_answer,
    summary_question,
    summary_rules,
    summary_source_of_row,
    summary_source_of_summary,
    summary_source_tokens,
)
from opencrab.engine.models import router
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.prompt.request import (
    prompt_answer_token_limit,
    prompt_input_token_limit,
    prompt_token_limit,
)
from opencrab.engine.turn.prompt.single_question import single_question_prompt_request
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.documents import Documents
from opencrab.ports.models.model import (
    ChatRequest,
    ModelInfo,
    Models,
    TrustedText,
    label_text_for_model_call,
)
from opencrab.ports.turn.journal import Journal

SOURCE_TOKENS = 16_000
"""The most tokens of sources for one summary, even if the model would accept more."""

_TRIES = 5


class StoredSummaries:
    """An agent's stored summaries and their progress, with the documents that hold them."""

    def __init__(self, facts: Documents, agent_id: str) -> None:
        self._facts = facts
        self._agent_id = agent_id

    def compaction(self, session_id: str) -> tuple[Document, CompactionState]:
        """Return the summary progress of a session, with its document, which may be new."""
        fact = self._fact(COMPACTION, session_id)
        return fact, fact.read(CompactionState)

    def load_summary_index(self) -> tuple[Document, SummaryIndex]:
        """Return the index of summaries: the newest number, and the periods that wait."""
        fact = self._fact(SHELF, SHELF)
        return fact, fact.read(SummaryIndex)

    def summaries(self, ids: tuple[str, ...]) -> tuple[Summary, ...]:
        """Return those of these summaries that still exist."""
        stored = (
            self._facts.get(self._agent_id, SUMMARY, memory_summary_document_id(each))
            for each in ids
        )
        return tuple(fact.read(Summary) for fact in stored if fact is not None)

    def failure_document(
        self,
        stretch: "SummaryStretch",
        session_id: str,
        why: str,
        now: datetime,
        *,
        blamed: bool = True,
    ) -> Document:
        """Return the write that counts a failed summary."""
        if stretch.span is SummarySpan.TOPIC:
            fact, compaction = self.compaction(session_id)
            lines = stretch.first, stretch.last
            return fact.with_body(compaction.with_failed_lines(*lines, why, now, blamed=blamed))
        fact, shelf = self.load_summary_index()
        return fact.with_body(shelf.with_failed_period(stretch.key, why, now, blamed=blamed))

    def _fact(self, kind: str, fact_id: str) -> Document:
        stored = self._facts.get(self._agent_id, kind, fact_id)
        return stored or Document(owner=self._agent_id, kind=kind, id=fact_id, version=0, body={})


@dataclass(frozen=True)
class SummaryStretch:
    """The range of one summary: lines of a session, or a day or month of the agent's."""

    span: SummarySpan
    first: int = 0
    last: int = 0
    key: str = ""

    @classmethod
    def named(cls, name: str) -> "SummaryStretch":
        """Parse the range in a turn's header; raise Invalid."""
        span, _, rest = name.partition(":")
        first, _, last = rest.partition("-")
        try:
            if span == SummarySpan.TOPIC:
                return cls(SummarySpan.TOPIC, first=int(first), last=int(last))
            return cls(SummarySpan(span), key=rest)
        except ValueError:
            raise Invalid(f"invalid range of a summary: {name!r}") from None

    @property
    def name(self) -> str:
        """The range as it is written in a turn's header."""
        return f"{self.span.value}:{self.key or f'{self.first}-{self.last}'}"


@dataclass(frozen=True)
class PendingSummary:
    """The `QuestionJob` for one summary; `draft` has all of it except number, title and text."""

    stretch: SummaryStretch
    sources: tuple[str, ...]
    draft: Summary

    @classmethod
    def of(cls, runtime: Runtime, turn: Turn, agent: Agent, session: Session) -> "PendingSummary":
        """Create the summary that a turn has to write, with its sources as they are now."""
        stretch = SummaryStretch.named(turn.group)
        room = summary_source_room(runtime.models, runtime.rules, agent)
        if stretch.span is SummarySpan.TOPIC:
            return _of_lines(runtime.home.journal, turn, session, stretch, room)
        return _of_parts(runtime.home.facts, turn, stretch, room)

    def limits(self, work: TurnWork, limits: Limits) -> Limits:  # noqa: ARG002 - the port's
        """Return the turn's limits unchanged."""
        return limits

    def skip_reason(self, work: TurnWork) -> str:
        """Return why the summary is no longer needed; "" while it is."""
        library = _library(work)
        if self.stretch.span is SummarySpan.TOPIC:
            wanted = library.compaction(work.turn.session_id)[1].wants(self.stretch.first)
            return "" if wanted else "these lines are summarised already"
        waiting = (period.key for period in library.load_summary_index()[1].periods)
        return "" if self.stretch.key in waiting else "this period is summarised already"

    def request(self, work: TurnWork, info: ModelInfo, manner: CallOptions) -> ChatRequest:
        language = work.profile.agent.language
        if not self.sources:
            raise Invalid(f"the sources of summary {self.stretch.name!r} no longer exist")
        system = TrustedText(summary_rules(work.profile.soul.persona_name, language))
        draft = self.draft
        about = self.stretch.key or f"{draft.since:%Y-%m-%d %H:%M} – {draft.until:%Y-%m-%d %H:%M}"
        question = label_text_for_model_call(
            summary_question(self.stretch.span, about, self.sources, language),
            tainted=draft.tainted,
        )
        output = prompt_answer_token_limit(info, work.runtime.rules)
        return single_question_prompt_request(
            work, info, manner, system=system, question=question, output=output
        )

    def end_with_answer(self, work: TurnWork, result: ModelResult, turn: Turn) -> None:
        intent = work.transcript.open_intent
        model = intent.model if isinstance(intent, ModelIntent) else ""
        try:
            title, text = parse_summary_answer(result.answer or ModelAnswer())
            told = {"title": title, "text": text, "model": model, "turn_id": turn.id}
            made = Summary.model_validate(self.draft.model_dump() | told)
        except (ValueError, ValidationError) as error:
            why = "the summary has invalid characters"
            why = why if isinstance(error, ValidationError) else str(error)
            self.end_without_answer(work, TurnStatus.FAILED, (result,), turn, why)
            return
        now = PendingSummary.of(work.runtime, work.turn, work.profile.agent, work.session)
        if now.sources != self.sources:
            why = "the summarised lines were changed concurrently"
            self.end_without_answer(work, TurnStatus.FAILED, (result,), turn, why)
            return
        done = turn.replaced(status=TurnStatus.COMPLETED)
        self._end(work, (result,), done, lambda: self._kept(work, made))

    def end_without_answer(
        self, work: TurnWork, status: TurnStatus, result: tuple[Record, ...], turn: Turn, why: str
    ) -> None:
        ended = turn.replaced(status=status, note=why[:1_000])
        # Idle is who found the work done already: nothing was wrong.
        counts = status is not TurnStatus.IDLE
        # Who was stopped, or frozen, says nothing of what was to be summarised.
        blamed = status is not TurnStatus.STOPPED
        self._end(work, result, ended, lambda: self._missed(work, why, blamed) if counts else ())

    def _end(
        self,
        work: TurnWork,
        records: tuple[Record, ...],
        header: Turn,
        facts: Callable[[], tuple[Document, ...]],
    ) -> None:
        """End the turn in one transaction; `facts` is called again after a concurrent change."""
        now = work.runtime.clock.now()
        draws = header.closing_budget_draws(now.strftime("%Y-%m-%d"))
        for _ in range(_TRIES):
            told = facts()
            ended = header.replaced(ended_at=now, allowance=0)
            if header.status is TurnStatus.COMPLETED and not told:
                ended = ended.replaced(status=TurnStatus.IDLE, note=self.skip_reason(work))
            try:
                work.save(
                    ended, *records, beside=ExtraWrites(draws=draws, facts=told), progress=True
                )
            except Changed:
                continue
            return
        raise Unavailable(
            f"concurrent updates to the summaries of agent {work.turn.agent_id!r}; retries "
            "exhausted",
            cure="try again",
        )

    def _kept(self, work: TurnWork, made: Summary) -> tuple[Document, ...]:
        """Return the writes of the summary and its progress; empty if it was already written."""
        if self.skip_reason(work):
            return ()
        library, now = _library(work), work.runtime.clock.now()
        shelved, shelf = library.load_summary_index()
        made = made.replaced(id=f"S{shelf.last + 1}", at=now)
        shelf = shelf.replaced(last=shelf.last + 1)
        stored = new_fact(work.turn.agent_id, SUMMARY, memory_summary_document_id(made.id), made)
        if self.stretch.span is not SummarySpan.TOPIC:
            shelf = shelf.succeeded(now).without_parts(self.stretch.key, set(made.parts))
            if self.stretch.span is SummarySpan.DAY:
                shelf = shelf.with_part(self.stretch.key[: len("2026-10")], made.id)
            return stored, shelved.with_body(shelf)
        shelf = shelf.with_part(f"{made.until:%Y-%m-%d}", made.id)
        fact, compaction = library.compaction(work.turn.session_id)
        topic = SummaryTopic(
            id=made.id,
            title=made.title,
            last=self.stretch.last,
            until=made.until,
            tainted=made.tainted,
        )
        compaction = compaction.succeeded(now).with_topic(topic, self.stretch.first)
        return stored, shelved.with_body(shelf), fact.with_body(compaction)

    def _missed(self, work: TurnWork, why: str, blamed: bool) -> tuple[Document, ...]:  # noqa: FBT001
        if self.skip_reason(work):
            return ()
        now, session_id = work.runtime.clock.now(), work.turn.session_id
        return (_library(work).failure_document(self.stretch, session_id, why, now, blamed=blamed),)


def summary_source_room(models: Models, rules: Rules, agent: Agent) -> int:
    """Return how many tokens of sources the agent's summary model accepts."""
    basis = RoutingBasis(model=agent.model, models=agent.llm.models)
    info = router.first_routed_model(models, Use.ANALYSIS, basis, ())[0].info
    most = prompt_token_limit(
        prompt_input_token_limit(info, prompt_answer_token_limit(info, rules)), rules
    )
    return max(min(most - OVERHEAD_TOKENS, SOURCE_TOKENS), OVERHEAD_TOKENS)


def _library(work: TurnWork) -> StoredSummaries:
    return StoredSummaries(work.runtime.home.facts, work.turn.agent_id)


def _of_lines(
    journal: Journal, turn: Turn, session: Session, stretch: SummaryStretch, room: int
) -> PendingSummary:
    """Prepare a summary of what everyone could hear, without thoughts and instructions."""
    lines = journal.lines(
        session.id,
        after=stretch.first - 1,
        before=stretch.last + 1,
        limit=stretch.last - stretch.first + 1,
    )
    rows = (memory_search_row_of_line(line, session, turn.agent_id) for line in lines)
    spoken = [row for row in rows if row is not None and row.kind is RowKind.SPEECH]
    draft = _draft(
        turn,
        span=SummarySpan.TOPIC,
        sources=(SummarySource(session_id=session.id, first=stretch.first, last=stretch.last),),
        session_id=session.id,
        hearing=session.hearing,
        guild_id=session.guild_id,
        tainted=any(row.taint for row in spoken),
        times=[row.at for row in spoken],
    )
    return PendingSummary(stretch, tuple(summary_source_of_row(row, room) for row in spoken), draft)


def _of_parts(facts: Documents, turn: Turn, stretch: SummaryStretch, room: int) -> PendingSummary:
    """Prepare a summary of a period's summaries, as many as the model accepts; the rest waits."""
    library = StoredSummaries(facts, turn.agent_id)
    waiting = (
        period.parts
        for period in library.load_summary_index()[1].periods
        if period.key == stretch.key
    )
    parts, sources, used = list[Summary](), list[str](), 0
    for part in library.summaries(next(waiting, ())):
        source = summary_source_of_summary(part, room)
        used += summary_source_tokens(source)
        if used > room and parts:
            break
        parts.append(part)
        sources.append(source)
    places = {(part.session_id, part.hearing, part.guild_id) for part in parts}
    alone = next(iter(places)) if len(places) == 1 else ("", Hearing.PRIVATE, None)
    draft = _draft(
        turn,
        span=stretch.span,
        sources=tuple(source for part in parts for source in part.sources),
        parts=tuple(part.id for part in parts),
        session_id=alone[0],
        hearing=alone[1],
        guild_id=alone[2],
        tainted=any(part.tainted for part in parts),
        times=[at for part in parts for at in (part.since, part.until)],
    )
    return PendingSummary(stretch, tuple(sources), draft)


def _draft(turn: Turn, *, times: list[datetime], **known: Any) -> Summary:
    """Create a summary without number, title and text."""
    since, until = min(times, default=turn.created_at), max(times, default=turn.created_at)
    return Summary(id="S1", text="…", since=since, until=until, at=turn.created_at, **known)
