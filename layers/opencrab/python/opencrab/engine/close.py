"""Close: end a turn in one transaction, with its last words and what is left of its money."""

from opencrab.domain.line import LineKind
from opencrab.domain.record import Record
from opencrab.domain.routing import Duration
from opencrab.domain.session import SessionChange
from opencrab.domain.turn import Turn, TurnStatus
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.work import Work

DRAWS_BESIDE_CARRIED = 7
"""Budgets that one transaction can settle beside results that were carried up to the end."""


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
    that ends without either delivers nothing. `records` and `turn` are the result that ended it.
    """
    now = work.runtime.clock.now()
    header = turn or work.turn
    draws = header.returns(now.strftime("%Y-%m-%d"))
    if len(draws) > DRAWS_BESIDE_CARRIED and work.carried:
        work.save(work.turn, progress=True)
    text = shortened(speech or notice)
    kind = LineKind.SPEECH if speech else LineKind.SYSTEM
    spoke = bool(speech) or work.transcript.speeches > 0
    ended = header.replaced(
        status=status,
        ended_at=now,
        note=note or notice,
        allowance=0,
    )
    work.save(
        ended,
        *records,
        lines=(work.line(kind, text),) if text else (),
        utterances=work.utterance(text, work.transcript.speeches) if text else (),
        draws=draws,
        session=SessionChange(
            agent_id=header.agent_id,
            spoke_at=now if spoke else None,
            declared_done=work.declared_done,
            models={
                choice.use: choice.model
                for choice in work.transcript.choices
                if choice.duration is Duration.THIS_SESSION
            },
        ),
        progress=True,
    )


def shortened(text: str) -> str:
    """A text that fits one message, cut at a character and saying so."""
    encoded = text.encode()
    if len(encoded) <= MESSAGE_BYTES:
        return text
    return encoded[: MESSAGE_BYTES - 16].decode(errors="ignore") + " […]"
