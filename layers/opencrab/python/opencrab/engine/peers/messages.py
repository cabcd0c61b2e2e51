"""Messages that an agent sends elsewhere: each is said once, in a turn that asks no model."""

from datetime import timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.conversation.message import Channel, Line, LineKind, Utterance
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.errors import Conflict, Unavailable
from opencrab.domain.identifier import stable_id
from opencrab.domain.peers.message import TOLD
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.agents.events import send_agent_event_once
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import queue_turn_utterance
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line
from opencrab.ports.turn.journal import TurnChange

_LATELY = 50
_EVENT = 1_900
_LEASE = timedelta(minutes=10)
_TOLD = Texts(__file__, "told")


def bring_message_of_agent(runtime: Runtime, item: DueItem) -> None:
    """Say an agent's message in the session of an item, or tell it to the agents that it names.

    A repeat changes nothing. Raises NotFound (session), Conflict (it has ended), and
    Unavailable while the agent is frozen.
    """
    if item.only is not None:
        _tell_agents(runtime, item, item.only)
        return
    home, now, agent_id = runtime.home, runtime.clock.now(), item.message.principal_id
    session = home.sessions.get(item.session_id)
    if session.status is SessionStatus.ENDED or agent_id not in session.agent_ids:
        raise Conflict(f"agent {agent_id!r} has left session {session.id!r}, or it has ended")
    turn_id = stable_id("message", item.id)
    opened = home.journal.open(_turn(item, turn_id))
    if frozen := home.journal.read_step_state(opened).frozen:
        raise Unavailable(f"{frozen!r} is frozen", cure="unfreeze it first")
    # None if it has ended: the message was said.
    claimed = home.journal.claim(turn_id, lease_until=now + _LEASE, receipt=None)
    if claimed is None:
        return
    turn = claimed.turn.replaced(status=TurnStatus.COMPLETED, ended_at=now, lease_until=None)
    utterances = _utterances(runtime, item, turn)
    change = TurnChange(
        turn=turn,
        expected=claimed.turn.sequence,
        lines=(_line(item, turn),),
        utterances=utterances,
        at=now,
    )
    home.journal.commit(change)
    for utterance in utterances:
        queue_turn_utterance(home.deliveries, utterance)


def _turn(item: DueItem, turn_id: str) -> Turn:
    message = item.message
    return Turn(
        id=turn_id,
        agent_id=message.principal_id,
        session_id=item.session_id,
        # The trigger of all turns that no queue carries; releases before this one know it as well.
        trigger=Trigger.EMBEDDING,
        source=Source.SCHEDULE,
        authority=message.authority,
        principal_id=message.principal_id,
        group=turn_id,
        body_hash=turn_id,
        lease_until=item.at + _LEASE,
        taint=item.taint,
        payer=item.payer,
        created_at=item.at,
    )


def _line(item: DueItem, turn: Turn) -> Line:
    message = item.message
    return Line(
        session_id=turn.session_id,
        group=turn.group,
        kind=LineKind.SPEECH,
        speaker_id=message.sender.id,
        speaker_name=message.sender.name,
        from_agent=True,
        authority=message.authority,
        text=message.text,
        turn_id=turn.id,
        taint=item.taint,
        at=turn.ended_at or item.at,
    )


def _utterances(runtime: Runtime, item: DueItem, turn: Turn) -> tuple[Utterance, ...]:
    """Return the message for the channel in which people lately wrote in the session, if any."""
    lines = runtime.home.journal.lines(item.session_id, limit=_LATELY, newest_first=True)
    place = next((line.sent_as.rpartition("/")[0] for line in lines if line.sent_as), "")
    kind, _, address = place.partition(":")
    if not address:
        return ()
    now = turn.ended_at or item.at
    return (
        Utterance(
            channel=Channel(kind=kind, address=address),
            turn_id=turn.id,
            ordinal=0,
            agent_id=turn.agent_id,
            session_id=turn.session_id,
            text=item.message.text,
            nonce=stable_id("nonce", turn.id, "0")[:22],
            closes=True,
            created_at=now,
            updated_at=now,
        ),
    )


def _tell_agents(runtime: Runtime, item: DueItem, agent_ids: tuple[str, ...]) -> None:
    """Tell each agent of the message as an event, which its next own turn reads."""
    message = item.message
    for agent_id in agent_ids:
        language = runtime.home.agents.get(agent_id).agent.language
        told = _TOLD["message"][language].format(
            name=message.sender.name, text=one_line(message.text, _EVENT)
        )
        event = AgentEvent(
            id=runtime.clock.new_id(),
            type=TOLD,
            source=message.principal_id,
            text=told,
            session_id=item.session_id,
            authority=Authority.PEER,
            tainted=True,
            at=runtime.clock.now(),
        )
        send_agent_event_once(runtime, agent_id, event, stable_id(item.id, agent_id))
