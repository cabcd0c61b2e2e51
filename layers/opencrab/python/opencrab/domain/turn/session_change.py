"""Session change: what a turn that ends changes in its session, for whoever speaks there next."""

from datetime import datetime

from opencrab.domain.access.authority import Source
from opencrab.domain.conversation.loop_guard import marks_of
from opencrab.domain.conversation.session import Phase, Session, SessionChange
from opencrab.domain.models.routing import Duration
from opencrab.domain.turn.action import Spoke
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn

_NO_ROUND = frozenset({Source.PEER, Source.HEARTBEAT, Source.WORLD})
"""Sources whose messages begin no round: those of humans and of schedules do."""


def session_change(
    session: Session, transcript: Transcript, header: Turn, speech: str, now: datetime
) -> SessionChange:
    """What a turn that closes changes in its session; `header` says what it cost in the end."""
    spoken = [*_spoken(transcript), *([speech] if speech else [])]
    return SessionChange(
        agent_id=header.agent_id,
        spoke_at=now if speech or transcript.speeches else None,
        declared_done=transcript.declared_done,
        models={
            choice.use: choice.model
            for choice in transcript.choices
            if choice.duration is Duration.THIS_SESSION
        },
        heard=None if header.source in _NO_ROUND else header.group,
        payer=header.public_payer,
        floor=header.hops if header.source is Source.PEER else None,
        speeches=len(spoken),
        characters=sum(map(len, spoken)),
        marks=marks_of("\n".join(spoken)) if spoken and session.discusses else (),
        spent_micro_usd=header.spent,
        phase=_set_phase(transcript),
    )


def _spoken(transcript: Transcript) -> list[str]:
    """What the turn said with actions."""
    return [effect.text for effect in transcript.effects if isinstance(effect, Spoke)]


def _set_phase(transcript: Transcript) -> Phase | None:
    """The phase that the turn set last, if it did."""
    effects = transcript.effects
    phases = [Phase(effect.phase) for effect in effects if effect.kind == "phase_set"]
    return phases[-1] if phases else None
