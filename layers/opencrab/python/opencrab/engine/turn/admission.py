"""Admission: the one way in, by which a message becomes queued turns exactly once."""

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from itertools import chain
from typing import Any, TypedDict, Unpack

from opencrab.domain.access.authority import (
    Authority,
    Source,
    does_authority_taint_reader,
    is_chat_principal,
)
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import (
    QUOTES,
    SENT_AS,
    Audience,
    Instruction,
    Line,
    LineKind,
    Message,
)
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import Conflict, NotFound, Unavailable
from opencrab.domain.identifier import content_hash, stable_id
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.record import TURN_ACTIONS, ApprovalRequest
from opencrab.domain.turn.turn import UNASKED, Stop, Trigger, Turn, TurnStatus
from opencrab.engine.consequence import TurnTrait
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.agents import Agents
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import AdmittedMessage, queue_message_of_turn


class InheritedContext(TypedDict, total=False):
    """What a turn inherits from the turn, goal or schedule that caused it.

    `hops` counts the agents since a human spoke, `task` is the id of the goal or task that the turn
    carries out. `payer` is the id of the public person who caused it through another agent's turn:
    that person's day budget pays for it too. `scopes` are the budgets of the agent that caused it.
    """

    hops: int
    task: str | None
    taint: bool
    payer: str | None
    scopes: tuple[str, ...] | None


_PEOPLE = frozenset({Source.REST, Source.WEBSOCKET, Source.DISCORD, Source.CLI})
"""Sources whose messages are from people, one principal or sender each."""


def admit_turns_of_message(
    runtime: Runtime,
    session_id: str,
    message: Message,
    *,
    trigger: Trigger = Trigger.MESSAGE,
    only: tuple[str, ...] | None = None,
    after_end: bool = False,
    known: Iterable[Profile] = (),
    **inherited: Unpack[InheritedContext],
) -> tuple[Turn, ...]:
    """Admit a message: one turn for every participant but its sender, stored, then queued.

    `only` limits it to these participants; with `after_end` the session may have ended; `known` are
    agents that the caller has just read. An owner's message may interrupt what is going on in the
    session: it goes before the agent's own work. A person's message may also take over from the
    turns that answer the same person's earlier messages (`domain.turn.interrupt`). The same message
    sent again returns the same turns. Raises NotFound (session), Conflict (ended session, no active
    agent, or the same id with another body).
    """
    session = runtime.home.sessions.get(session_id)
    now, taint = runtime.clock.now(), inherited.get("taint", False)
    # Either is enough: the words of an outsider, or an origin that had read them (ADR 0017).
    inherits = {**inherited, "taint": taint or does_authority_taint_reader(message.authority)}
    profiles = _answering(runtime.home.agents, session, message, only, known)
    turns = tuple(
        _turn(session_id, message, profile.agent.id, now).replaced(trigger=trigger, **inherits)
        for profile in profiles
    )
    message_id, body_hash = turns[0].group, _body_hash(session_id, message)
    line = _line(session_id, message_id, message, now).replaced(taint=taint)
    line = _line_of_trigger(line, trigger, turns)
    person = _sender_hash(message, trigger, inherited.get("task"))
    journal, queued = runtime.home.journal, tuple(map(queue_message_of_turn, turns))
    admission = AdmittedMessage(message_id, body_hash, turns, line, person, queued, after_end)
    stored = journal.admit(admission)
    from_owner = message.authority is Authority.OWNER and inherited.get("task") is None
    # A repeat of a message whose turn is over must interrupt nothing that began since.
    if from_owner and not stored[0].status.is_end:
        for on_message in runtime.consequences[_message_traits(session, profiles)].on_message:
            on_message(runtime, session, message, profiles)
    # Where the queue is another store: stored first, queued after. A crash in between leaves turns
    # that nobody works on, and the sweep finds them by their lease, which begins as lapsed (ADR
    # 0003).
    for turn in () if journal.queues_admitted else stored:
        enqueue_turn(runtime.home, turn)
    if person and not stored[0].status.is_end:
        _take_over(runtime, session, person, stored)
    return stored


def _line_of_trigger(line: Line, trigger: Trigger, turns: tuple[Turn, ...]) -> Line:
    """Return the line as others see it: OpenCrab's, or only the agent's if nobody asked."""
    if trigger is Trigger.CONTINUATION:
        return line.replaced(kind=LineKind.SYSTEM)
    if trigger in UNASKED and len(turns) == 1:
        return _make_line_private(line, turns[0].agent_id)
    return line


def _message_traits(session: Session, profiles: Iterable[Profile]) -> frozenset[TurnTrait]:
    """Return what decides which consequences a message can concern."""
    traits = set[TurnTrait]()
    if session.goal is not None:
        traits.add(TurnTrait.TASK)
    if any(profile.mind.agenda.current is not None for profile in profiles):
        traits.add(TurnTrait.BUSY)
    return frozenset(traits)


def _sender_hash(message: Message, trigger: Trigger, task: str | None) -> str:
    """Return a hash of the person who sends a message; "" if none did, or for a task."""
    if trigger is not Trigger.MESSAGE or task is not None:
        return ""
    if message.source not in _PEOPLE and not is_chat_principal(message.principal_id):
        return ""
    # One key may serve several people, such as a bridge: their names differ.
    sender = message.sender
    return stable_id("sender", message.principal_id, sender.id, sender.name)


def _take_over(runtime: Runtime, session: Session, person: str, stored: tuple[Turn, ...]) -> None:
    """Stop the running turns that answer earlier messages of the same person, by their policies.

    A turn that has not begun is left to answer, and so is one that asked a human for an approval:
    what was decided is done. In a discussion every message waits for its turn. If the store fails
    or the process dies here, the message waits as well.
    """
    if session.discusses:
        return
    answering = {turn.agent_id: turn for turn in stored}
    earlier = (each.turn_ids for each in session.unanswered if each.person == person)
    for turn_id in chain.from_iterable(earlier):
        with suppress(NotFound, Unavailable):
            recorded = runtime.home.journal.load(turn_id)
            turn, newer = recorded.turn, answering.get(recorded.turn.agent_id)
            # The same message again takes over nothing that came after it.
            if newer is None or turn.trigger_line >= newer.trigger_line:
                continue
            interrupt = runtime.home.agents.get(turn.agent_id).agent.interrupt
            asked = any(isinstance(each, ApprovalRequest) for each in recorded.records)
            if turn.status is TurnStatus.RUNNING and interrupt is not Interrupt.QUEUE and not asked:
                stop = Stop.for_next_message(interrupt, runtime.clock.now())
                runtime.home.journal.stop(turn_id, stop)


def _make_line_private(line: Line, agent_id: str) -> Line:
    """Return the line as one that only the agent itself sees: it is what woke the agent."""
    return line.replaced(
        kind=LineKind.SYSTEM, audience=Audience.SELF, speaker_id=agent_id, from_agent=True
    )


def _turn(session_id: str, message: Message, agent_id: str, now: datetime) -> Turn:
    """Return the header of one participant's turn."""
    source_id = message.source_id
    return Turn(
        id=message.turn_in(session_id, agent_id),
        agent_id=agent_id,
        session_id=session_id,
        trigger=Trigger.MESSAGE,
        source=message.source,
        authority=message.authority,
        principal_id=message.principal_id,
        group=id_of_admitted_message(message.source, message.principal_id, session_id, source_id),
        # The marker of the message has it; each write of the header would pay for it (ADR 0010).
        body_hash="",
        channel=message.channel,
        lease_until=now,
        created_at=now,
    )


def id_of_admitted_message(
    source: Source, principal_id: str, session_id: str, source_id: str
) -> str:
    """Compute the id of a message in a session, which its line and its turns have."""
    return stable_id("message", source, principal_id, session_id, source_id)


def admit_guidance_for_turns(home: Home, instruction: Instruction, line: Line) -> Instruction:
    """Give a session's agents guidance (`/mentor`), which people do not see; it starts no turn.

    Running turns read it before their next model call, later turns find it in the history. It is
    stored, and named in REST, as an `instruction`.
    """
    home.sessions.get(instruction.session_id)
    return home.journal.instruct(instruction, line)


def _answering(
    agents: Agents,
    session: Session,
    message: Message,
    only: tuple[str, ...] | None,
    known: Iterable[Profile],
) -> tuple[Profile, ...]:
    read = {profile.agent.id: profile for profile in known}
    wanted = session.agent_ids if only is None else only
    found = (
        read.get(agent_id) or _profile_of(agents, agent_id)
        for agent_id in wanted
        if agent_id != message.sender.id
    )
    answering = [profile for profile in found if profile is not None and profile.agent.answers]
    if not answering:
        raise Conflict(
            f"session {session.id!r} has no active agent",
            cure="create a session with an active agent",
        )
    return tuple(answering)


def _profile_of(agents: Agents, agent_id: str) -> Profile | None:
    try:
        return agents.get(agent_id)
    except NotFound:
        return None


def _body_hash(session_id: str, message: Message) -> str:
    body = {"session": session_id, **message.body()}
    return content_hash(json.dumps(body, sort_keys=True, ensure_ascii=False).encode())


def _line(session_id: str, message_id: str, message: Message, now: datetime) -> Line:
    return Line(
        session_id=session_id,
        group=message_id,
        kind=LineKind.SPEECH,
        speaker_id=message.sender.id,
        speaker_name=message.sender.name,
        authority=message.authority,
        text=message.text,
        data=_data(message) or None,
        message_id=message_id,
        at=now,
    )


def _data(message: Message) -> dict[str, Any]:
    quoted = message.metadata.get(QUOTES)
    known = message.attachments() | ({QUOTES: quoted.split()} if quoted else {})
    if TURN_ACTIONS in message.metadata:
        known = known | {TURN_ACTIONS: True}
    return known | ({SENT_AS: message.sent_as} if message.sent_as else {})


def admit_turn_for_due_item(runtime: Runtime, item: DueItem) -> None:
    """Admit a due item's message, in a session that is created first if it is a new one."""
    if item.session is not None:
        runtime.home.sessions.create(item.session)
    admit_turns_of_message(
        runtime,
        item.session_id,
        item.message,
        trigger=item.trigger,
        hops=item.hops,
        task=item.task,
        taint=item.taint,
        payer=item.payer,
        only=item.only,
    )
