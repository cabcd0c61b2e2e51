"""Turn-taking: which agent speaks next in a discussion, and when it is over.

After each turn one due item lets the next agent speak; the agent is chosen when the item is
admitted. Its id contains the human message under discussion and the turn's number after it, so that
one turn follows however often it is written or admitted.
"""

from contextlib import suppress
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus, Profile
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import Mention, VitalSigns
from opencrab.domain.conversation.message import Channel, Line, LineKind, Message, TextPart
from opencrab.domain.conversation.session import Session, SessionStatus
from opencrab.domain.discussion.turn_taking import (
    Contender,
    discussion_floor_ready_at,
    discussion_speaking_hazard,
    first_discussion_floor_contender,
    is_discussion_participant_named,
)
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.peers.talk import peer_discussion_budget_scopes
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.transcript import turn_session_change
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.agents.vital_signs import change_agent_vital_signs
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.ports.agents import Agents

PATIENCE = timedelta(seconds=60)
"""Time to wait for agents that have not answered a human's message yet."""

CONCLUSION = 0
"""The floor number of the item that comes after a discussion's last turn."""

_LATELY = 20


class DiscussionConsequence(Consequence):
    """Schedules the next speaker after each turn of a discussion."""

    def may_write_on_close(self, work: TurnWork) -> bool:
        return len(work.session.participants) > 1

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        item = _next_floor_item(work, ending.speech)
        return FollowUp(due=() if item is None else (item,))


def _next_floor_item(work: TurnWork, speech: str) -> DueItem | None:
    """Return the due item that lets the next agent speak; None if nobody should."""
    if not work.session.discusses:
        return None
    runtime, now = work.runtime, work.runtime.clock.now()
    session = runtime.home.sessions.get(work.turn.session_id)
    if session.status is SessionStatus.ENDED:
        return None
    change = turn_session_change(work.session, work.transcript, work.turn, speech, now)
    after = session.after_turn(change, now)
    if after.status is SessionStatus.ENDED:
        return _item(work, after, CONCLUSION, now)
    is_late = change.floor is not None and change.floor != after.floor
    if is_late or not after.candidates:
        return None
    return _item(work, after, after.floor + 1, _opens_at(runtime.rules.autonomy, after, now))


def give_floor_for_due_item(runtime: Runtime, item: DueItem) -> None:
    """Start the next speaker's turn for a due item; do nothing for an outdated one.

    Raises NotFound if the session is gone.
    """
    session = runtime.home.sessions.get(item.session_id)
    number, round_ = item.floor or 0, item.message.source_id.rpartition("#")[2]
    if session.status is SessionStatus.ENDED:
        from opencrab.engine.discussion.outcome import (  # noqa: PLC0415 - seldom needed
            conclude_discussion,
        )

        conclude_discussion(runtime, session, item.message.channel)
        return
    if not session.discusses or session.round != round_ or session.floor + 1 != number:
        return
    lines = runtime.home.journal.lines(session.id, limit=_LATELY, newest_first=True)
    agent_id = next_speaker(runtime, session, lines)
    if agent_id is None:
        return
    from opencrab.engine.discussion.after_turn import (  # noqa: PLC0415 - seldom needed
        discussion_speaker_prompt,
    )

    language = runtime.home.agents.get(agent_id).agent.language
    text = discussion_speaker_prompt(
        session, agent_id, language, runtime.rules.autonomy.speech_characters
    )
    with suppress(Conflict):
        # It ended meanwhile, or the item was admitted before when somebody else was next.
        admit_turns_of_message(
            runtime,
            session.id,
            item.message.replaced(parts=(TextPart(text=text),)),
            trigger=item.trigger,
            hops=item.hops,
            taint=item.taint,
            payer=item.payer,
            only=(agent_id,),
            scopes=peer_discussion_budget_scopes(session, agent_id),
        )
    _tell_the_named(runtime, session, lines, agent_id, item.message.channel)


def next_speaker(runtime: Runtime, session: Session, lines: tuple[Line, ...]) -> str | None:
    """Return the agent that speaks next; None if nobody may or wants to until a human speaks.

    `lines` are the newest of the session, newest first. The same session and lines give the same
    speaker.
    """
    last = _last_speech(session, lines)
    profiles = {
        each.agent_id: _profile(runtime.home.agents, each.agent_id) for each in session.candidates
    }
    seats, now = session.agent_ids, runtime.clock.now()
    contenders = []
    for each in session.candidates:
        profile = profiles[each.agent_id]
        if profile is None or profile.agent.status is not AgentStatus.ACTIVE:
            continue
        named = last is not None and is_discussion_participant_named(
            profile.identity.name, last.text
        )
        at = discussion_floor_ready_at(session, each, runtime.rules.autonomy)
        contenders.append(
            Contender(
                agent_id=each.agent_id,
                seat=seats.index(each.agent_id),
                hazard=discussion_speaking_hazard(profile.soul, named=named),
                ready=at is None or at <= now,
                leads=each.agent_id == session.facilitator_id,
            )
        )
    return first_discussion_floor_contender(contenders)


def _opens_at(autonomy: Autonomy, session: Session, now: datetime) -> datetime:
    """Return when the next turn may start: soon, but not before an agent may speak again."""
    if session.hops == 0 and session.awaited:
        return now + PATIENCE
    soon = now + timedelta(seconds=autonomy.floor_seconds)
    ready = [
        discussion_floor_ready_at(session, each, autonomy) or now for each in session.candidates
    ]
    return max(soon, min(ready))


def _item(work: TurnWork, session: Session, number: int, at: datetime) -> DueItem:
    """Return the due item of one turn in a round; `source_id` ends with the round's id."""
    turn, place = work.turn, number or "end"
    return DueItem(
        id=f"floor-{session.id}-{session.round}-{place}",
        at=at,
        session_id=session.id,
        message=Message(
            source=Source.PEER,
            source_id=f"floor#{place}#{session.round}",
            principal_id=OPENCRAB.id,
            sender=OPENCRAB,
            authority=Authority.PEER,
            parts=(TextPart(text="floor"),),
            channel=turn.channel and turn.channel.replaced(awaited=False),
        ),
        hops=number,
        trigger=Trigger.EVENT,
        taint=True,
        payer=session.payer,
        floor=number,
    )


def _profile(agents: Agents, agent_id: str) -> Profile | None:
    try:
        return agents.get(agent_id)
    except NotFound:
        return None


def _last_speech(session: Session, lines: tuple[Line, ...]) -> Line | None:
    return next(
        (x for x in lines if x.kind is LineKind.SPEECH and x.speaker_id == session.speaker_id), None
    )


def _tell_the_named(
    runtime: Runtime,
    session: Session,
    lines: tuple[Line, ...],
    speaker_id: str,
    channel: Channel | None,
) -> None:
    """Store a mention in the vital signs of agents that were named but do not speak next.

    Their next heartbeat looks at it, even when the discussion has moved on. The speaker's own
    mention is cleared.
    """
    last = _last_speech(session, lines)
    _note_answered_in_vital_signs(runtime, session, speaker_id)
    if last is None:
        return
    mention = Mention(
        session_id=session.id,
        line=last.sequence,
        authority=Authority.PEER,
        principal_id=last.speaker_id,
        channel=channel,
        payer=session.payer,
        at=last.at,
    )
    for each in session.candidates:
        profile = _profile(runtime.home.agents, each.agent_id)
        if each.agent_id == speaker_id or profile is None:
            continue
        if is_discussion_participant_named(profile.identity.name, last.text):
            change_agent_vital_signs(
                runtime, each.agent_id, lambda signs: _add_mention(signs, mention)
            )


def _add_mention(signs: VitalSigns, mention: Mention) -> VitalSigns:
    return signs if signs.mention is not None else signs.replaced(mention=mention)


def _note_answered_in_vital_signs(runtime: Runtime, session: Session, agent_id: str) -> None:
    def answered(signs: VitalSigns) -> VitalSigns:
        here = signs.mention is not None and signs.mention.session_id == session.id
        return signs.replaced(mention=None) if here else signs

    change_agent_vital_signs(runtime, agent_id, answered)
