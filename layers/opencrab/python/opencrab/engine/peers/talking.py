"""Talking: a message to a peer is admitted, its answer is told to who asked, and both go on.

Each step is a due item, so that a crash anywhere loses nothing; repeating one changes nothing.
"""

from contextlib import suppress

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.event import ANSWERED, AgentEvent
from opencrab.domain.conversation.loop_guard import minhash_of_conversation_message
from opencrab.domain.conversation.message import LineKind, Message, TextPart
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import Changed, Conflict, NotFound, Unavailable
from opencrab.domain.identifier import stable_id
from opencrab.domain.money.budget import agent_budget_scope, heartbeat_budget_scope
from opencrab.domain.peers.talk import (
    HEARD_ITEM,
    OPENED_BY_ITSELF,
    PEER_TALK,
    PeerTalk,
    caller_of_peer_turn,
    is_peer_session,
)
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.agents.events import send_agent_event_once
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.engine.goals.social.answers import goal_changes_after_answer
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.ports.home import Home
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

_TRIES = 5
_LATELY = 50
_EVENT = 1_900
_TOLD = Texts(__file__, "told")


class PeerConsequence(Consequence):
    """Lets what follows a turn that an agent's message caused come due when the turn ends."""

    def may_write_on_close(self, work: TurnWork) -> bool:
        return work.turn.source is Source.PEER and is_peer_session(work.session)

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        return _after_turn(ending.turn, work.session)

    def on_abandon(self, runtime: Runtime, turn: Turn, why: str) -> FollowUp:  # noqa: ARG002
        if turn.source is not Source.PEER:
            return FollowUp()
        try:
            return _after_turn(turn, runtime.home.sessions.get(turn.session_id))
        except NotFound:
            return FollowUp()


def _after_turn(turn: Turn, session: Session) -> FollowUp:
    """Return the due item that tells the other agent of this turn's end."""
    if turn.source is not Source.PEER or not is_peer_session(session):
        return FollowUp()
    others = tuple(each for each in session.agent_ids if each != turn.agent_id)
    item = DueItem(
        id=f"{HEARD_ITEM}{turn.id}",
        at=turn.ended_at or turn.created_at,
        session_id=turn.session_id,
        message=Message(
            source=Source.PEER,
            source_id=f"heard#{turn.id}",
            principal_id=turn.agent_id,
            sender=OPENCRAB,
            authority=Authority.PEER,
            parts=(TextPart(text="heard"),),
        ),
        hops=turn.hops + 1,
        trigger=Trigger.EVENT,
        taint=True,
        payer=turn.payer,
        only=others,
    )
    return FollowUp(due=(item,))


def admit_message_to_peer(runtime: Runtime, item: DueItem) -> None:
    """Admit an agent's message to another one; its cost counts on the day of both."""
    if item.session is not None:
        runtime.home.sessions.create(item.session)
    unasked = item.message.source_id.partition("#")[2].startswith(f"{OPENED_BY_ITSELF}#")
    _admit(runtime, item, item.message.principal_id, unasked=unasked)


def hear_turn_of_peer(runtime: Runtime, item: DueItem) -> None:
    """Tell an agent how a turn of its talk ended, and let it speak if the talk goes on."""
    turn = runtime.home.journal.header(item.message.source_id.partition("#")[2])
    other = item.only[0] if item.only else ""
    caller = caller_of_peer_turn(turn.agent_id, turn.principal_id, turn.hops)
    words = _spoken_words(runtime.home, turn)
    talk = _count_turn(runtime, caller, turn.agent_id if caller == other else other, turn, words)
    if turn.hops == 1:
        told = _answer_text(runtime.home, caller, turn, words)
        if talk is None or not _tell_where_it_was_asked(runtime, caller, talk, turn, told):
            _tell_caller(runtime, caller, turn, told)
    if talk is None or talk.ended or talk.hops != turn.hops:
        return
    language = runtime.home.agents.get(other).agent.language
    text = _TOLD["spoke"][language].format(
        name=_name(runtime.home, turn.agent_id), left=talk.hop_limit - talk.hops
    )
    floor = item.replaced(message=item.message.replaced(parts=(TextPart(text=text),)))
    _admit(runtime, floor, caller, unasked=talk.unasked)


def _admit(runtime: Runtime, item: DueItem, caller: str, *, unasked: bool) -> None:
    """Admit the turn of an item; the day of the agent that asked pays for it too.

    What no person caused is paid from the shares of own turns of both.
    """
    both = tuple(dict.fromkeys((caller, *(item.only or ()))))
    # The caller's own turns draw from its day by themselves.
    scopes: tuple[str, ...] = (agent_budget_scope(caller),) if len(both) > 1 else ()
    if unasked:
        scopes += tuple(map(heartbeat_budget_scope, both))
    admit_turns_of_message(
        runtime,
        item.session_id,
        item.message,
        trigger=item.trigger,
        only=item.only,
        hops=item.hops,
        taint=item.taint,
        payer=item.payer,
        scopes=scopes or None,
    )


def _count_turn(
    runtime: Runtime, caller: str, peer_id: str, turn: Turn, words: str
) -> PeerTalk | None:
    """Count a turn in the talk that it belongs to; the caller's goal that waits for it goes on.

    Both are one transaction. None if the talk is not known any more, or is about something else.
    """
    home, now = runtime.home, runtime.clock.now()
    marks = minhash_of_conversation_message(words) if words else ()
    for _ in range(_TRIES):
        stored = home.facts.get(caller, PEER_TALK, peer_id)
        if stored is None:
            return None
        before = stored.read(PeerTalk)
        if turn.created_at < before.asked_at:
            # It answers an earlier question, for which the agent did not wait any longer.
            return None
        after = before.after_turn(turn.hops, turn.id, marks, now)
        if after == before:
            return after
        text = _answer_text(home, caller, turn, words) if after.answer_turn else ""
        goal, due = goal_changes_after_answer(runtime, caller, before, text)
        after = after.replaced(waits=False)
        with suppress(Changed):
            home.facts.commit(stored.with_body(after), *goal, due=due)
            return after
    raise Unavailable(
        f"concurrent updates to the talk of agent {caller!r}; retries exhausted", cure="try again"
    )


def _tell_where_it_was_asked(
    runtime: Runtime, caller: str, talk: PeerTalk, turn: Turn, told: str
) -> bool:
    """Let the agent pass the answer on in the conversation where a person had it ask.

    That of an instruction is its goal's session. False if no person waits: it asked by itself,
    or the conversation is over.
    """
    if talk.unasked:
        return False
    language = runtime.home.agents.get(caller).agent.language
    with suppress(NotFound, Conflict):
        asked = runtime.home.journal.header(talk.turn_id)
        if runtime.home.sessions.get(asked.session_id).discusses:
            return False
        message = Message(
            source=Source.PEER,
            source_id=f"reported#{turn.id}",
            principal_id=turn.agent_id,
            sender=OPENCRAB,
            authority=Authority.PEER,
            parts=(TextPart(text=_TOLD["report"][language].format(told=told)),),
            channel=asked.channel and asked.channel.replaced(awaited=False),
        )
        admit_turns_of_message(
            runtime,
            asked.session_id,
            message,
            trigger=Trigger.EVENT,
            hops=turn.hops + 1,
            taint=True,
            payer=asked.public_payer,
            only=(caller,),
        )
        return True
    return False


def _tell_caller(runtime: Runtime, caller: str, turn: Turn, told: str) -> None:
    """Tell the agent that asked of the answer, once: its next own turn reads it."""
    event = AgentEvent(
        id=runtime.clock.new_id(),
        type=ANSWERED,
        source=turn.agent_id,
        text=told,
        session_id=turn.session_id,
        authority=Authority.PEER,
        tainted=True,
        at=runtime.clock.now(),
    )
    send_agent_event_once(runtime, caller, event, stable_id("peer-answered", turn.id))


def _answer_text(home: Home, caller: str, turn: Turn, words: str) -> str:
    language = home.agents.get(caller).agent.language
    told = _TOLD["answered" if words else "silent"][language]
    return told.format(name=_name(home, turn.agent_id), text=one_line(words, _EVENT))


def _spoken_words(home: Home, turn: Turn) -> str:
    """Return what a turn said in its session; "" for nothing."""
    lines = home.journal.lines(turn.session_id, after=turn.trigger_line, limit=_LATELY)
    return "\n".join(
        line.text
        for line in lines
        if line.turn_id == turn.id and line.kind is LineKind.SPEECH and line.text.strip()
    )


def _name(home: Home, agent_id: str) -> str:
    return home.agents.get(agent_id).identity.name
