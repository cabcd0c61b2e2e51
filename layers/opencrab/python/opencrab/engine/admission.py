"""Admission: the one way in, by which a message becomes queued turns exactly once."""

import json
from datetime import datetime

from opencrab.domain.authority import taints
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.identifier import content_hash, stable_id, turn_id
from opencrab.domain.line import Instruction, Line, LineKind
from opencrab.domain.message import Message
from opencrab.domain.session import Session
from opencrab.domain.turn import Trigger, Turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.journal import Admission


def admit(
    runtime: Runtime,
    session_id: str,
    message: Message,
    *,
    trigger: Trigger = Trigger.MESSAGE,
    hops: int = 0,
) -> tuple[Turn, ...]:
    """Admit a message: one turn for every participant but its sender, stored, then queued.

    The same message again answers the same turns. Raises NotFound (session), Conflict (ended
    session, nobody left to answer, or the same id for another body).
    """
    session = runtime.home.sessions.get(session_id)
    now = runtime.clock.now()
    body_hash = _body_hash(session_id, message)
    message_id = stable_id(
        "message", message.source, message.principal_id, session_id, message.source_id
    )
    turns = tuple(
        Turn(
            id=turn_id(
                source=message.source,
                principal=message.principal_id,
                source_id=f"{session_id}/{message.source_id}",
                agent_id=agent_id,
            ),
            agent_id=agent_id,
            session_id=session_id,
            trigger=trigger,
            source=message.source,
            authority=message.authority,
            principal_id=message.principal_id,
            group=message_id,
            body_hash=body_hash,
            channel=message.channel,
            lease_until=now,
            taint=taints(message.authority),
            hops=hops,
            created_at=now,
        )
        for agent_id in _answering(runtime, session, message)
    )
    line = _line(session_id, message_id, message, now)
    stored = runtime.home.journal.admit(Admission(message_id, body_hash, turns, line))
    for turn in stored:
        enqueue(runtime, turn)
    return stored


def enqueue(runtime: Runtime, turn: Turn, *, again: str = "") -> None:
    """Queue a turn that still has something to do; `again` makes it a new queue message."""
    if turn.status.is_end:
        return
    body = json.dumps({"v": 1, "turn": turn.id}, separators=(",", ":"))
    deduplication = f"{turn.id}{again}"
    runtime.home.turns.send(body, group=turn.session_id, deduplication=deduplication)


def instruct(runtime: Runtime, instruction: Instruction, line: Line) -> Instruction:
    """Give a session's agents an instruction that people do not see; it starts no turn.

    Running turns hear it before their next model call, later turns find it in the history.
    """
    runtime.home.sessions.get(instruction.session_id)
    return runtime.home.journal.instruct(instruction, line)


def _answering(runtime: Runtime, session: Session, message: Message) -> tuple[str, ...]:
    answering = []
    for agent_id in session.agent_ids:
        if agent_id != message.sender.id and _answers(runtime, agent_id):
            answering.append(agent_id)
    if not answering:
        raise Conflict(
            f"session {session.id!r} has no agent that could answer",
            cure="create a session with an active agent",
        )
    return tuple(answering)


def _answers(runtime: Runtime, agent_id: str) -> bool:
    try:
        return runtime.home.agents.get(agent_id).agent.answers
    except NotFound:
        return False


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
        data={"images": list(message.images)} if message.images else None,
        message_id=message_id,
        at=now,
    )
