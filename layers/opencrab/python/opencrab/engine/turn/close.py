"""Close: end a turn in one transaction, with its last words and what is left of its money."""

from dataclasses import dataclass

from opencrab.domain.access.authority import Source
from opencrab.domain.conversation.line import LineKind
from opencrab.domain.conversation.utterance import Utterance
from opencrab.domain.errors import Changed, Unavailable
from opencrab.domain.turn.record import Record
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.approvals import approvals
from opencrab.engine.discussion.after_turn import session_change
from opencrab.engine.goals.after_turn import consequence
from opencrab.engine.learning.signals import Ending, signals
from opencrab.engine.memory.compaction.trigger import tell_of_growth
from opencrab.engine.turn.after_close import aftermath, settle, writes_more
from opencrab.engine.turn.work import Beside, Work

DRAWS_BESIDE_CARRIED = 7
"""Budgets that one transaction can settle beside results that were carried up to the end."""

_TRIES = 5


@dataclass(frozen=True)
class _Words:
    """What a turn's end is told with."""

    speech: str
    notice: str
    note: str


def close(
    work: Work,
    status: TurnStatus,
    *records: Record,
    turn: Turn | None = None,
    speech: str = "",
    notice: str = "",
    note: str = "",
) -> None:
    """End the turn.

    `speech` is the agent's answer; `notice` a sentence that OpenCrab says in its place; a turn
    that ends without either delivers nothing. What a heartbeat began delivers no notice: nobody
    waits for it, and the session has it. `records` and `turn` are the result that ended it.
    What follows for the goal that it served is part of the same transaction, and so is what the
    turn tells of its models, skills and memories, unless there is no room left in it: to measure is
    not worth a failure. A turn with a job ends as one that failed at it.
    """
    if work.job is not None:
        work.job.failed(work, status, records, turn or work.turn, note or notice)
        return
    if work.carried and (work.turn.task is not None or writes_more(work)):
        work.save(work.turn, progress=True)
    for _ in range(_TRIES):
        try:
            _close(work, status, records, turn or work.turn, _Words(speech, notice, note))
        except Changed:
            continue
        tell_of_growth(work)
        settle(work)
        return
    raise Unavailable(f"the goal of turn {work.turn.id!r} is changed by others all the time")


def _close(
    work: Work, status: TurnStatus, records: tuple[Record, ...], header: Turn, words: "_Words"
) -> None:
    now = work.runtime.clock.now()
    draws = header.returns(now.strftime("%Y-%m-%d"))
    if len(draws) > DRAWS_BESIDE_CARRIED and work.carried:
        work.save(work.turn, progress=True)
    text = shortened(words.speech or words.notice)
    speech = words.speech
    after = consequence(work, header, status, speech)
    spoke = bool(speech) or work.transcript.speeches > 0
    rest = aftermath(work, status, speech, spoke=spoke)
    withdrawn = approvals.withdrawn(work.runtime, header, work.transcript)
    kind = LineKind.SPEECH if speech else LineKind.SYSTEM
    ended = header.replaced(
        status=status,
        ended_at=now,
        note=words.note or words.notice,
        allowance=0,
    )
    told = (work.line(LineKind.SYSTEM, shortened(after.told)),) if after.told else ()
    facts = (*after.facts, *withdrawn, *rest.facts)
    work.save(
        ended,
        *records,
        lines=(*((work.line(kind, text),) if text else ()), *told),
        utterances=(
            *_last_words(work, text if _is_heard(work, speech) else ""),
            *_asked(work, after.asked),
        ),
        beside=Beside(
            draws=draws,
            facts=facts,
            due=(*after.due, *rest.due),
            session=session_change(work, header, speech, now if spoke else None),
            spare=signals(work, Ending(ended, speech, records, facts)),
        ),
        progress=True,
    )


def _is_heard(work: Work, speech: str) -> bool:
    """Whether its channel hears how a turn ends."""
    return bool(speech) or work.turn.source is not Source.HEARTBEAT


def _last_words(work: Work, text: str) -> tuple[Utterance, ...]:
    """What its channel hears at a turn's end; of a silent one nothing, unless somebody waits."""
    channel = work.turn.channel
    if text or (channel is not None and channel.awaited and not work.was_heard):
        return work.utterance(text, work.transcript.speeches, closes=True)
    return ()


def _asked(work: Work, asked: str) -> tuple[Utterance, ...]:
    """What an agent needs its owner for, on its way to where its heartbeat speaks."""
    channel = work.profile.agent.heartbeat.channel
    if channel is None or not asked:
        return ()
    return work.utterance(shortened(asked), work.transcript.speeches + 1, to=channel)


def shortened(text: str) -> str:
    """A text that fits one message, cut at a character and saying so."""
    encoded = text.encode()
    if len(encoded) <= MESSAGE_BYTES:
        return text
    return encoded[: MESSAGE_BYTES - 16].decode(errors="ignore") + " […]"
