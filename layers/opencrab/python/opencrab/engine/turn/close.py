"""Close: end a turn in one transaction, with its last words and what is left of its money."""

from dataclasses import dataclass, replace
from datetime import datetime

from opencrab.domain.access.authority import Source
from opencrab.domain.conversation.message import LineKind, Utterance
from opencrab.domain.errors import Changed, Unavailable
from opencrab.domain.turn.record import Record
from opencrab.domain.turn.transcript import session_change
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.consequence import ExtraWrites, FollowUp, TurnEnding
from opencrab.engine.turn.work import TurnWork

DRAWS_BESIDE_CARRIED = 7
"""Budgets that one transaction can settle beside results that were carried up to the end."""

_TRIES = 5


@dataclass(frozen=True)
class _Words:
    """What a turn's end is told with."""

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

    `speech` is the agent's answer; `notice` a sentence that OpenCrab says in its place; a turn
    that ends without either delivers nothing. A turn that a heartbeat started sends no notice to a
    channel: its session has it. `records` and `turn` are the result that ended it; `at` is when, if
    that is known. The writes of each capability are part of the same transaction; optional ones
    only while it has fewer than 25 items. For a background turn `job.failed` is called instead.
    """
    if work.job is not None:
        work.job.failed(work, status, records, turn or work.turn, note or notice)
        return
    following = work.runtime.consequences
    if work.carried and any(writes(work) for writes in following.writes_on_close):
        # Their items and the carried results together could pass the 25 of one transaction.
        work.save(work.turn, progress=True)
    words = _Words(speech, notice, note)
    # `Changed`: somebody else wrote a fact that a consequence has read. The turn is still this
    # worker's (its epoch holds), so the end is worked out anew from fresh reads (ADR 0015).
    for _ in range(_TRIES):
        try:
            now = at or work.runtime.clock.now()
            _close(work, status, records, turn or work.turn, words, now=now)
        except Changed:
            continue
        for after_close in following.after_close:
            after_close(work)
        return
    raise Unavailable(f"concurrent updates to the goal of turn {work.turn.id!r}; retries exhausted")


def _close(
    work: TurnWork,
    status: TurnStatus,
    records: tuple[Record, ...],
    header: Turn,
    words: _Words,
    *,
    now: datetime,
) -> None:
    draws = header.returns(now.strftime("%Y-%m-%d"))
    if len(draws) > DRAWS_BESIDE_CARRIED and work.carried:
        work.save(work.turn, progress=True)
    speech = words.speech
    text = truncate_message(speech or words.notice)
    spoke = bool(speech) or work.transcript.speeches > 0
    ended = header.replaced(
        status=status, ended_at=now, note=words.note or words.notice, allowance=0
    )
    after = _following(work, TurnEnding(ended, status, speech, spoke, records))
    change = session_change(work.session, work.transcript, header, speech, now)
    asked = _owner_request_messages(work, after.asked, now)
    last_words = _last_words(work, text if _is_heard(work, speech) else "", now)
    kind = LineKind.SPEECH if speech else LineKind.SYSTEM
    said = (work.line(kind, text, at=now),) if text else ()
    told = (work.line(LineKind.SYSTEM, truncate_message(after.told), at=now),) if after.told else ()
    work.save(
        ended,
        *records,
        lines=(*said, *told),
        utterances=(*last_words, *asked),
        beside=ExtraWrites(
            draws=draws, session=change, facts=after.facts, due=after.due, spare=after.spare
        ),
        progress=True,
        at=now,
    )


def _following(work: TurnWork, ending: TurnEnding) -> FollowUp:
    """All that follows from the end, in the order in which the consequences are registered."""
    merged = FollowUp()
    for on_close in work.runtime.consequences.on_close:
        added = on_close(work, replace(ending, facts=merged.facts))
        merged = FollowUp(
            facts=(*merged.facts, *added.facts),
            due=(*merged.due, *added.due),
            told="\n".join(filter(None, (merged.told, added.told))),
            asked="\n".join(filter(None, (merged.asked, added.asked))),
            spare=added.spare or merged.spare,
        )
    return merged


def _is_heard(work: TurnWork, speech: str) -> bool:
    """Whether its channel hears how a turn ends."""
    return bool(speech) or work.turn.source is not Source.HEARTBEAT


def _last_words(work: TurnWork, text: str, now: datetime) -> tuple[Utterance, ...]:
    """What its channel hears at a turn's end; of a silent one nothing, unless somebody waits."""
    channel = work.turn.channel
    if text or (channel is not None and channel.awaited and not work.was_heard):
        return work.utterance(text, work.transcript.speeches, closes=True, at=now)
    return ()


def _owner_request_messages(work: TurnWork, asked: str, now: datetime) -> tuple[Utterance, ...]:
    """What an agent needs its owner for, on its way to where its heartbeat speaks."""
    channel = work.profile.agent.heartbeat.channel
    if channel is None or not asked:
        return ()
    return work.utterance(truncate_message(asked), work.transcript.speeches + 1, to=channel, at=now)


def truncate_message(text: str) -> str:
    """A text that fits one message, cut at a character and saying so."""
    encoded = text.encode()
    if len(encoded) <= MESSAGE_BYTES:
        return text
    return encoded[: MESSAGE_BYTES - 16].decode(errors="ignore") + " […]"
