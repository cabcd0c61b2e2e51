"""Sessions: list, open, look at and end conversations, and instruct their agents."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from opencrab.domain.access.policy import Verb
from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.conversation.message import Audience, Instruction, Line, LineKind
from opencrab.domain.conversation.session import (
    Ending,
    Hearing,
    Mode,
    Participant,
    Phase,
    Session,
    SessionStatus,
)
from opencrab.domain.errors import Refused
from opencrab.domain.name import NewName
from opencrab.domain.value import Identifier, MessageText, Value
from opencrab.engine.access.list_cursor import principal_place_hider
from opencrab.engine.access.membership import let_principal_access_session, revoke_session_access
from opencrab.engine.access.session_access import record_access_speaking_freely
from opencrab.engine.access.visibility import (
    NOBODY,
    collect_items_with_access,
    require_access_to_session,
    sessions_principal_may_access,
)
from opencrab.engine.agents.creation import NewSession, create_first_session_of_agents
from opencrab.engine.conversation.titles import session_title
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_guidance_for_turns
from opencrab.gateways.rest.http.access import Caller, Owner, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.page import (
    Page,
    PageQuery,
    http_cursor_after,
    unhidden_place_in_http_cursor,
)
from opencrab.gateways.rest.http.view import View

LISTING = "sessions"

router = http_routes_below("/api/sessions", "sessions")


class SessionView(View):
    """A conversation: its participants, its counters, and who may read it later."""

    id: str
    title: str = Field(
        default="", description="the name, else the theme, else the beginning of the first message"
    )
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
    members: tuple[str, ...] = Field(
        default=(), description="principals with whom its creator or an owner shares it"
    )
    speaks_freely: bool = Field(
        default=False,
        description="agents may use private memories although others read it",
    )

    @classmethod
    def shared(cls, session: Session, access: SessionAccess, title: str = "") -> "SessionView":
        """Convert a stored session to its view, with who it is shared with and how it speaks."""
        shared = {"members": access.members, "speaks_freely": access.speaks_freely}
        return cls.of(session, title=title, **shared)


class SessionsQuery(PageQuery, defer_build=False):
    """The sessions to list, and the part of the list."""

    agent_id: Identifier | None = Field(default=None, description="only sessions with this agent")
    mine: bool = Field(
        default=False, description="only sessions that the principal of this key opened"
    )

    def includes(self, session: Session, principal_id: str) -> bool:
        """Check whether a session is asked for."""
        if self.mine and session.created_by != principal_id:
            return False
        return self.agent_id is None or self.agent_id in session.agent_ids


class SessionPatch(Value, defer_build=False):
    """The fields of a session that can be changed."""

    name: NewName | None = Field(description="null: the title is that of the first message again")


class SpeakFreely(Value, defer_build=False):
    """Whether agents may use private memories in a session although others read it."""

    speaks_freely: bool


class Mentor(Value, defer_build=False):
    """An instruction to a session's agents."""

    text: MessageText


class MentorView(Value):
    """A stored instruction; `line` is its place in the session."""

    id: str
    line: int
    at: datetime


@router.get("")
def list_sessions(
    api: Api, caller: Reader, query: Annotated[SessionsQuery, Query()]
) -> Page[SessionView]:
    """List sessions in order of their ids, ended ones too.

    An owner key lists all, a chat key those that its principal opened or is a member of.
    """
    home, known = api.runtime.home, dict[str, SessionAccess]()

    def keep(sessions: Sequence[Session]) -> list[Session]:
        asked = [each for each in sessions if query.includes(each, caller.principal.id)]
        seen = sessions_principal_may_access(home, caller.principal, asked)
        known.update({session.id: access for session, access in seen})
        return [session for session, _ in seen]

    items, place = collect_items_with_access(
        lambda after, limit: home.sessions.page(after=after or None, limit=limit),
        keep,
        lambda session: session.id,
        after=unhidden_place_in_http_cursor(api.runtime, LISTING, query.cursor),
        limit=query.limit,
        hide=principal_place_hider(api.runtime, LISTING),
    )
    return Page(
        items=tuple(_view(api.runtime, each, known[each.id]) for each in items),
        next_cursor=http_cursor_after(LISTING, place),
    )


@router.post(
    "",
    status_code=201,
    response_model=SessionView,
    operation_id="create_session",
)
def create_conversation_session(
    api: Api, caller: Talker, once: Repeatable, body: Strict[NewSession]
) -> Response:
    """Open a session with one or more agents.

    Only owner keys may choose its models.
    """
    if body.models and not caller.is_owner:
        raise Refused(
            "only an owner key may choose a session's models",
            field="models",
            cure="use an owner key, or omit models",
        )

    def make() -> SessionView:
        session_id, creator = once.id_of("session"), caller.principal.id
        made = create_first_session_of_agents(
            api.runtime, body, created_by=creator, session_id=session_id
        )
        return _view(api.runtime, made, NOBODY)

    return once.answer(body, make, status=201)


@router.get("/{session_id}")
def get_session(api: Api, caller: Reader, session_id: Id) -> SessionView:
    """Get a session."""
    runtime = api.runtime
    return _view(runtime, *require_access_to_session(runtime.home, caller.principal, session_id))


@router.patch("/{session_id}")
def rename_session(
    api: Api, caller: Talker, session_id: Id, body: Strict[SessionPatch]
) -> SessionView:
    """Name a session.

    Everybody who reads the session reads its name. Its creator and owner keys may name it.
    """
    home = api.runtime.home
    _, access = require_access_to_session(home, caller.principal, session_id, Verb.CHANGE)
    return _view(api.runtime, home.sessions.rename(session_id, body.name), access)


@router.put("/{session_id}/speak-freely", operation_id="let_speak_freely")
def let_session_speak_freely(
    api: Api, _caller: Owner, session_id: Id, body: Strict[SpeakFreely]
) -> SessionView:
    """Let agents use private memories in a session although others read it, or end that.

    By default they use only what everybody who reads the session may know. Needs an owner key.
    """
    home = api.runtime.home
    session = home.sessions.get(session_id)
    access = record_access_speaking_freely(home.facts, session_id, speaks_freely=body.speaks_freely)
    return _view(api.runtime, session, access)


@router.delete("/{session_id}")
def delete_session(api: Api, caller: Talker, session_id: Id) -> SessionView:
    """End a session; the same as `POST .../end`.

    It takes no more messages and stays readable.
    """
    return _end_session_if_allowed(api.runtime, caller, session_id)


@router.post("/{session_id}/end", response_model=SessionView)
def end_session(api: Api, caller: Talker, session_id: Id, once: Repeatable) -> Response:
    """End a session.

    It takes no more messages and stays readable.
    """
    return once.answer(None, lambda: _end_session_if_allowed(api.runtime, caller, session_id))


@router.post(
    "/{session_id}/mentor",
    status_code=201,
    response_model=MentorView,
    operation_id="mentor",
)
def give_session_guidance(
    api: Api, caller: Owner, session_id: Id, once: Repeatable, body: Strict[Mentor]
) -> Response:
    """Give the session's agents guidance that only they and the owner see.

    A running turn reads it before its next step, later turns find it in their history. It starts no
    turn.
    """
    instruction_id = once.id_of("instruction")

    def make() -> MentorView:
        placed = _instruct(api.runtime, caller, session_id, instruction_id, body.text)
        return MentorView(id=placed.id, line=placed.line, at=placed.at)

    return once.answer(body, make, status=201)


def _end_session_if_allowed(runtime: Runtime, caller: Caller, session_id: str) -> SessionView:
    _, access = require_access_to_session(runtime.home, caller.principal, session_id, Verb.CHANGE)
    ended = runtime.home.sessions.end(session_id, runtime.clock.now())
    return _view(runtime, ended, access)


@router.put("/{session_id}/members/{principal_id}", operation_id="invite")
def invite_to_session(api: Api, caller: Talker, session_id: Id, principal_id: Id) -> SessionView:
    """Share a session with a principal that has a chat key.

    The principal reads the whole session, past lines too, and writes in it. The creator of a
    session and owner keys may share it.
    """
    home = api.runtime.home
    session, _ = require_access_to_session(home, caller.principal, session_id, Verb.CHANGE)
    access = let_principal_access_session(home.facts, home.keys, session_id, principal_id)
    return _view(api.runtime, session, access)


@router.delete("/{session_id}/members/{principal_id}", operation_id="uninvite")
def uninvite_from_session(
    api: Api, caller: Talker, session_id: Id, principal_id: Id
) -> SessionView:
    """Stop sharing a session with a principal.

    Live connections of this principal stop receiving the session within about a minute.
    """
    home = api.runtime.home
    session, _ = require_access_to_session(home, caller.principal, session_id, Verb.CHANGE)
    access = revoke_session_access(home.facts, session_id, principal_id)
    return _view(api.runtime, session, access)


def _view(runtime: Runtime, session: Session, access: SessionAccess) -> SessionView:
    return SessionView.shared(session, access, session_title(runtime.home.journal, session))


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
    return admit_guidance_for_turns(runtime.home, instruction, line)
