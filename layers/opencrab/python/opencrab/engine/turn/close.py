"""Close: end a turn in one transaction, with its last message and the return of unused budget."""

from dataclasses import dataclass, replace
from datetime import datetime

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import LineKind, Utterance
from opencrab.domain.errors import Changed, OpenCrabError, Unavailable
from opencrab.domain.turn.record import ModelResult, Record
from opencrab.domain.turn.transcript import turn_session_change
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.consequence import ExtraWrites, FollowUp, TurnEnding
from opencrab.engine.phrases import phrase_for_failure, system_phrase
from opencrab.engine.turn.work import TurnWork

DRAWS_BESIDE_CARRIED = 6
"""The number of budget changes that fit into the closing transaction beside carried results.

A transaction has at most 25 items, and 19 may be taken: the header, the session, up to 5 carried
results with a line each (10), the record that ends the turn, its ledger row (3 items), the last
line, a notice after it, and the last utterance. With more changes the carried results are saved
first.
"""

_TRIES = 5
_NOTHING = FollowUp()


@dataclass(frozen=True)
class _Words:
    """The texts of a turn's end; see `close_turn`."""

    speech: str
    notice: str
    note: str


def close_turn(
    work: TurnWork,
    status: TurnStatus,
    *records: Record,
    turn: Turn | None = None,
    speech: str = "",
    notice: str = "",
    note: str = "",
    at: datetime | None = None,
) -> None:
    """End the turn.

    `speech` is the agent's answer, `notice` a sentence that OpenCrab says in its place, or after an
    answer that is incomplete; `note` is kept in the header for operators. Without speech and notice
    nothing is delivered; a heartbeat's turn writes its notice to the session and not to a channel.
    `records` and `turn` are the result that ended it, and the header with that result settled; `at`
    is the time of the end, None is now. What the consequences write is part of the same
    transaction; optional writes only while it has fewer than 25 items. For a background turn
    `job.end_without_answer` is called instead.

    Raises Unavailable when documents that the consequences read kept changing.
    """
    if work.job is not None:
        work.job.end_without_answer(work, status, records, turn or work.turn, note or notice)
        return
    if work.carried and any(writes(work) for writes in work.hooks.may_write_on_close):
        # Their items and the carried results together could pass the 25 of one transaction.
        work.save(work.turn, progress=True)
    words = _Words(speech, notice, note)
    # `Changed`: another writer changed a document that a consequence had read. The turn is still
    # this worker's (its epoch holds), so the end is computed again from fresh reads (ADR 0015).
    for _ in range(_TRIES):
        try:
            now = at or work.runtime.clock.now()
            _close(work, status, records, turn or work.turn, words, now=now)
        except Changed:
            continue
        for after_close in work.hooks.after_close:
            after_close(work)
        return
    raise Unavailable(
        f"concurrent updates while turn {work.turn.id!r} was closed; {_TRIES} tries failed"
    )


def close_failed_turn(
    work: TurnWork,
    error: OpenCrabError,
    *records: ModelResult,
    turn: Turn | None = None,
) -> None:
    """End the turn as failed, and say why; `records` is the result of the call that failed."""
    why = error.message if error.cure is None else f"{error.message} ({error.cure})"
    fault = records[-1].fault if records else None
    kind = type(error).__name__
    notice = phrase_for_failure(why[:1_000], work.profile.agent.language, fault, kind)
    close_turn(work, TurnStatus.FAILED, *records, turn=turn, notice=notice, note=why[:1_000])


def close_idle_turn(work: TurnWork, error: OpenCrabError, result: ModelResult, turn: Turn) -> None:
    """End a turn as idle after invalid responses; only a person who asked gets the notice."""
    why, language = error.message[:1_000], work.profile.agent.language
    notice = "" if work.turn.is_autonomous else phrase_for_failure(why, language, result.fault)
    close_turn(work, TurnStatus.IDLE, result, turn=turn, notice=notice, note=why)


def close_empty_turn(work: TurnWork, result: ModelResult, turn: Turn) -> None:
    """End a turn whose model answered with nothing; a person who waits for an answer is told."""
    note, at = "empty model response", result.at
    if work.transcript.speeches:
        close_turn(work, TurnStatus.COMPLETED, result, turn=turn, note=note, at=at)
        return
    notice = ""
    if _answers_person(work):
        notice = system_phrase("unusable", work.profile.agent.language)
    close_turn(work, TurnStatus.IDLE, result, turn=turn, notice=notice, note=note, at=at)


def _answers_person(work: TurnWork) -> bool:
    """Check whether a person waits for this turn's answer, and for no other agent's.

    In a channel that is who asked a question there: to other words silence is an answer.
    """
    turn = work.turn
    if turn.channel is not None and not turn.channel.awaited:
        return False
    is_asked = not turn.is_autonomous and turn.task is None and not work.session.discusses
    return is_asked and turn.authority is not Authority.PEER


def close_narrowed_turn(work: TurnWork) -> None:
    """End a turn that others hear than those for whom it has read (ADR 0033)."""
    notice = system_phrase("narrowed", work.profile.agent.language)
    close_turn(work, TurnStatus.STOPPED, notice=notice)


def _close(
    work: TurnWork,
    status: TurnStatus,
    records: tuple[Record, ...],
    header: Turn,
    words: _Words,
    *,
    now: datetime,
) -> None:
    """Compute the end from fresh reads and commit it; raises Changed when a read is outdated."""
    draws = header.closing_budget_draws(now.strftime("%Y-%m-%d"))
    if len(draws) > DRAWS_BESIDE_CARRIED and work.carried:
        work.save(work.turn, progress=True)
    speech = words.speech
    texts = [truncate_turn_message(text) for text in (speech, words.notice) if text]
    spoke = bool(speech) or work.transcript.speeches > 0
    ended = header.replaced(
        status=status, ended_at=now, note=words.note or words.notice, allowance=0
    )
    after = _ask_consequences(work, TurnEnding(ended, status, speech, spoke, records))
    change = turn_session_change(work.session, work.transcript, header, speech, now)
    asked = _owner_request_messages(work, after.owner_question, now)
    sent = truncate_turn_message("\n\n".join(texts)) if _is_sent(work, speech) else ""
    last = _closing_utterances(work, sent, now)
    kinds = (LineKind.SPEECH, LineKind.SYSTEM) if speech else (LineKind.SYSTEM,)
    said = tuple(work.line(kind, text, at=now) for kind, text in zip(kinds, texts, strict=False))
    told = (
        (work.line(LineKind.SYSTEM, truncate_turn_message(after.session_notice), at=now),)
        if after.session_notice
        else ()
    )
    work.save(
        ended,
        *records,
        lines=(*said, *told),
        utterances=(*last, *asked),
        beside=ExtraWrites(
            draws=draws,
            session=change,
            facts=after.facts,
            due=after.due,
            optional_fact=after.optional_fact,
        ),
        progress=True,
        at=now,
    )


def _ask_consequences(work: TurnWork, ending: TurnEnding) -> FollowUp:
    """Return what all consequences add to the end, asked in the order of their registration."""
    merged = _NOTHING
    for on_close in work.hooks.on_close:
        added = on_close(work, replace(ending, facts=merged.facts) if merged.facts else ending)
        if added == _NOTHING:
            continue
        merged = FollowUp(
            facts=(*merged.facts, *added.facts),
            due=(*merged.due, *added.due),
            session_notice="\n".join(filter(None, (merged.session_notice, added.session_notice))),
            owner_question="\n".join(filter(None, (merged.owner_question, added.owner_question))),
            optional_fact=added.optional_fact or merged.optional_fact,
        )
    return merged


def _is_sent(work: TurnWork, speech: str) -> bool:
    """Check whether the last text goes to the turn's channel: all but the notice of a heartbeat."""
    return bool(speech) or work.turn.source is not Source.HEARTBEAT


def _closing_utterances(work: TurnWork, text: str, now: datetime) -> tuple[Utterance, ...]:
    """Return the last utterance to the turn's channel, () if there is none to send.

    Without a text it is empty, and only sent where a person still waits for an answer.
    """
    channel = work.turn.channel
    if text or (channel is not None and channel.awaited and not work.has_notified_clients):
        return work.utterance(text, work.transcript.speeches, closes=True, at=now)
    return ()


def _owner_request_messages(work: TurnWork, asked: str, now: datetime) -> tuple[Utterance, ...]:
    """Return what the agent asks its owner for, addressed to the channel of its heartbeat."""
    channel = work.profile.agent.heartbeat.channel
    if channel is None or not asked:
        return ()
    return work.utterance(
        truncate_turn_message(asked), work.transcript.speeches + 1, to=channel, at=now
    )


def truncate_turn_message(text: str) -> str:
    """Return a text that fits one message: a longer one is cut at a character and marked " […]"."""
    encoded = text.encode()
    if len(encoded) <= MESSAGE_BYTES:
        return text
    return encoded[: MESSAGE_BYTES - 16].decode(errors="ignore") + " […]"
