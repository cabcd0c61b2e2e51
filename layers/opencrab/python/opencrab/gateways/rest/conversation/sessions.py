"""Sessions: list, open, look at and end conversations, and instruct their agents."""

from datetime import datetime

from fastapi import Response

from opencrab.domain.conversation.message import Audience, Instruction, Line, LineKind
from opencrab.domain.conversation.session import (
    Ending,
    Hearing,
    Mode,
    Participant,
    Phase,
    SessionStatus,
)
from opencrab.domain.errors import Refused
from opencrab.domain.value import MessageText, Value
from opencrab.engine.agents.creation import NewSession, create_session
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import instruct_session
from opencrab.gateways.rest.http.access import Caller, Owner, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import Page, Paged, page_of, page_place
from opencrab.gateways.rest.http.view import View

LISTING = "sessions"

router = routes_below("/api/sessions", "sessions")


class SessionView(View):
    """A conversation: its participants, its counters, and who may read it later."""

    id: str
    name: str | None
    theme: str
    mode: Mode
    phase: Phase
    status: SessionStatus
    turn_number: int
    done_count: int
    max_turns: int | None
    hop_limit: int | None
    hops: int
    quorum: int | None
    budget_micro_usd: int | None
    spent_micro_usd: int
    ended_by: Ending | None
    participants: tuple[Participant, ...]
    facilitator_id: str | None
    goal: str | None
    hearing: Hearing
    guild_id: str | None
    created_by: str
    created_at: datetime
    updated_at: datetime


class Mentor(Value, defer_build=False):
    """An instruction to a session's agents."""

    text: MessageText


class MentorView(Value):
    """A stored instruction; `line` is its place in the session."""

    id: str
    line: int
    at: datetime


@router.get("")
def list_sessions(api: Api, _caller: Reader, query: Paged) -> Page[SessionView]:
    """List sessions in order of their ids, ended ones too."""
    after = page_place(LISTING, query.cursor)
    found = api.runtime.home.sessions.page(after=after, limit=query.limit + 1)
    items, cursor = page_of(LISTING, found, query.limit, lambda session: session.id)
    return Page(items=tuple(map(SessionView.of, items)), next_cursor=cursor)


@router.post(
    "",
    status_code=201,
    response_model=SessionView,
    operation_id="create_session",
)
def create(api: Api, caller: Talker, once: Repeatable, body: Strict[NewSession]) -> Response:
    """Open a session with one or more agents; only owner keys may choose its models."""
    if body.models and not caller.is_owner:
        raise Refused("only an owner key may choose a session's models", field="models")

    def make() -> SessionView:
        session_id, creator = once.id_of("session"), caller.principal.id
        return SessionView.of(
            create_session(api.runtime, body, created_by=creator, session_id=session_id)
        )

    return once.answer(body, make, status=201)


@router.get("/{session_id}")
def get_session(api: Api, _caller: Reader, session_id: Id) -> SessionView:
    """Get a session."""
    return SessionView.of(api.runtime.home.sessions.get(session_id))


@router.delete("/{session_id}")
def delete_session(api: Api, caller: Talker, session_id: Id) -> SessionView:
    """End a session: it takes no more messages and stays readable."""
    return _end_session_if_allowed(api.runtime, caller, session_id)


@router.post("/{session_id}/end", response_model=SessionView)
def end_session(api: Api, caller: Talker, session_id: Id, once: Repeatable) -> Response:
    """End a session: it takes no more messages and stays readable."""
    return once.answer(None, lambda: _end_session_if_allowed(api.runtime, caller, session_id))


@router.post(
    "/{session_id}/mentor",
    status_code=201,
    response_model=MentorView,
)
def mentor(
    api: Api, caller: Owner, session_id: Id, once: Repeatable, body: Strict[Mentor]
) -> Response:
    """Give the session's agents an instruction that only they and the owner see.

    A running turn reads it before its next step, later turns find it in their history. It starts no
    turn.
    """
    instruction_id = once.id_of("instruction")

    def make() -> MentorView:
        placed = _instruct(api.runtime, caller, session_id, instruction_id, body.text)
        return MentorView(id=placed.id, line=placed.line, at=placed.at)

    return once.answer(body, make, status=201)


def _end_session_if_allowed(runtime: Runtime, caller: Caller, session_id: str) -> SessionView:
    session = runtime.home.sessions.get(session_id)
    if not caller.is_owner and session.created_by != caller.principal.id:
        raise Refused(
            "only the key that opened a session, or an owner key, may end it",
            cure="use that key, or one with scope owner",
        )
    return SessionView.of(runtime.home.sessions.end(session_id, runtime.clock.now()))


def _instruct(
    runtime: Runtime, caller: Caller, session_id: str, instruction_id: str, text: str
) -> Instruction:
    now, principal = runtime.clock.now(), caller.principal
    instruction = Instruction(
        id=instruction_id, session_id=session_id, text=text, by=principal.id, at=now
    )
    line = Line(
        session_id=session_id,
        group=instruction_id,
        kind=LineKind.SYSTEM,
        audience=Audience.AGENTS,
        speaker_id=principal.id,
        speaker_name=principal.name,
        authority=caller.authority,
        text=text,
        message_id=instruction_id,
        at=now,
    )
    return instruct_session(runtime.home, instruction, line)
