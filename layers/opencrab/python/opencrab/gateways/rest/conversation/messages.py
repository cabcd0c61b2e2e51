"""Messages: what was said in a session, and the way in for what is said next."""

import re
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from fastapi import Header, Query, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field, ValidationError, model_validator

from opencrab.domain.access.policy import Verb
from opencrab.domain.conversation.attachment import PICTURES, WORKSPACE
from opencrab.domain.conversation.message import (
    METADATA_ENTRIES,
    PARTS,
    ImagePart,
    LineKind,
    Message,
    Part,
    Sender,
    TextPart,
)
from opencrab.domain.errors import Invalid
from opencrab.domain.name import NewName
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MESSAGE_BYTES, Language, MessageText, Name, ShortText, Value
from opencrab.engine.access.visibility import require_session_access
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.engine.conversation.live import collect_visible_session_lines
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.conversation.lines import (
    LinesQuery,
    LineView,
    ReaderLanguage,
    lines_visible_to,
)
from opencrab.gateways.rest.conversation.replies import Replies, wait_for_session_replies
from opencrab.gateways.rest.http.access import Caller, Reader, Talker
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import IdempotentRequest, Repeatable
from opencrab.gateways.rest.http.page import Page, http_page_cursor, sequence_in_http_cursor
from opencrab.gateways.rest.insight.turn_outcome import TurnOutcome, insight_turn_outcome

LISTING = "lines"
LONGEST_WAIT = 60

router = http_routes_below("/api/sessions/{session_id}/messages", "messages")


class NewMessage(Value, defer_build=False):
    """A message to everybody in a session: text, parts, or text followed by parts."""

    text: MessageText | None = None
    parts: Annotated[tuple[Part, ...], Field(max_length=PARTS)] = ()
    sender_name: NewName | None = Field(
        default=None, description="name of the sender that agents see; by default the key's name"
    )
    metadata: dict[Name, ShortText] = Field(default_factory=dict, max_length=METADATA_ENTRIES)

    @model_validator(mode="after")
    def _says_something(self) -> "NewMessage":
        if not self.content:
            raise ValueError("text is blank: write text")
        return self

    @property
    def content(self) -> tuple[Part, ...]:
        """The text followed by the parts."""
        said = () if self.text is None else (TextPart(text=self.text),)
        return (*said, *self.parts)


class Accepted(Value):
    """The ids of a stored message and of its queued turns, which a crash no longer loses."""

    turn_ids: tuple[str, ...]
    message_id: str


class ReplyView(Value):
    """The answer of one agent."""

    agent_id: str
    agent_name: str
    text: str
    kind: LineKind
    turn_id: str
    sequence: int
    reply_to: int | None = Field(
        default=None, description="the sequence of the line that it replies to, if named"
    )
    at: datetime


class Answered(Accepted):
    """A message with the replies that arrived in time; pending turns continue.

    `turns` has the status of each turn, its cost so far, and why it brought no answer.
    """

    replies: tuple[ReplyView, ...]
    pending: tuple[str, ...]
    turns: tuple[TurnOutcome, ...]


@router.get("")
def list_messages(
    api: Api,
    caller: Reader,
    session_id: Id,
    query: Annotated[LinesQuery, Query()],
    language: ReaderLanguage,
) -> Page[LineView]:
    """List the lines of a session in order: speech of people and agents, and notices."""
    runtime = api.runtime
    visible = lines_visible_to(caller, query.kinds)
    place = sequence_in_http_cursor(f"{LISTING}-{query.order}", query.cursor)
    require_session_access(runtime.home, caller.principal, session_id)
    runtime.home.sessions.get(session_id)
    newest = query.order == "newest"
    lines, last = collect_visible_session_lines(
        runtime.home.journal,
        session_id,
        visible,
        limit=query.limit,
        after=query.after if newest else max(place or 0, query.after),
        before=place if newest else None,
        newest_first=newest,
    )
    cursor = None if last is None else http_page_cursor(f"{LISTING}-{query.order}", str(last))
    items = (LineView.described(line, runtime.actions, language) for line in lines)
    return Page(items=tuple(items), next_cursor=cursor)


@router.post(
    "",
    status_code=202,
    response_model=Accepted,
    responses={200: {"model": Answered, "description": "With `Prefer: wait`: the replies"}},
)
async def post_message(
    *,
    api: Api,
    caller: Talker,
    session_id: Id,
    once: Repeatable,
    body: Strict[NewMessage],
    prefer: Annotated[
        str | None,
        Header(description="`wait=25`: answer with the replies that come within 25 seconds"),
    ] = None,
    accept_language: Annotated[
        str | None, Header(description="the language of an error's message and cure")
    ] = None,
) -> Response:
    """Send a message to every agent of a session.

    Each agent answers in a turn of its own. The same Idempotency-Key with the same message returns
    the same turns for 35 days, not 24 hours.
    """
    wanted = wanted_conversation_reply_wait(prefer)
    seconds = None if wanted is None else api.capped_wait(wanted)
    admit = partial(_admit, api.runtime, caller, session_id, once, body)
    if seconds is None:
        return _json(_acceptance(await run_in_threadpool(admit)), 202)
    language = language_of_http_request(accept_language or "")
    async with api.watch.watching(session_id, settled=True) as next_change:
        replies = Replies(api.runtime.home.journal, await run_in_threadpool(admit))
        accepted = _acceptance(replies.turns)
        outcomes = await wait_for_session_replies(
            replies, next_change, seconds, partial(_outcomes, api.runtime, replies, language)
        )
    await run_in_threadpool(_require_hearer, api.runtime, caller, session_id)
    fault = api.runtime.home.storage.fault()
    if fault is not None and replies.pending and not replies.lines:
        # The turns wait until it is mended, and so would the client without knowing why.
        raise fault
    return _json(
        _answer_with_replies(accepted, replies, outcomes),
        200,
        {"Preference-Applied": f"wait={seconds}"},
    )


def wanted_conversation_reply_wait(prefer: str | None) -> int | None:
    """Parse the seconds of `Prefer: wait=N`, at most 60; None if there is no such preference.

    Raises Invalid if N is not a whole number. Other preferences are ignored.
    """
    for preference in (prefer or "").split(","):
        name, _, value = preference.partition(";")[0].partition("=")
        if name.strip().lower() == "wait":
            value = value.strip().strip('"')
            if not re.fullmatch(r"[0-9]{1,9}", value):
                raise Invalid(
                    "wait must be a whole number of seconds",
                    field="Prefer",
                    cure="send `Prefer: wait=25`, or omit it",
                )
            return min(int(value), LONGEST_WAIT)
    return None


def _admit(
    runtime: Runtime, caller: Caller, session_id: str, once: IdempotentRequest, body: NewMessage
) -> tuple[Turn, ...]:
    principal = caller.principal
    require_session_access(runtime.home, principal, session_id, Verb.TAKE_PART)
    _require_pictures_here(body.content)
    try:
        message = Message(
            source=caller.source,
            source_id=once.key or runtime.clock.new_id(),
            principal_id=principal.id,
            sender=Sender(id=principal.id, name=body.sender_name or principal.name),
            authority=caller.authority,
            parts=body.content,
            metadata=body.metadata,
        )
    except ValidationError as error:
        raise Invalid(
            "text and parts exceed the limit of one message",
            field="parts",
            cure=f"send at most {PARTS} parts and {MESSAGE_BYTES} bytes of text in all",
        ) from error
    return admit_turns_of_message(runtime, session_id, message)


def _require_hearer(runtime: Runtime, caller: Caller, session_id: str) -> None:
    """Raise Unauthenticated or NotFound if whoever waited may not hear the replies any more."""
    who = conversation_connection_holder(runtime.home.keys, caller.key_hash)
    require_session_access(runtime.home, who, session_id)


def _require_pictures_here(parts: tuple[Part, ...]) -> None:
    """Raise Invalid for pictures at addresses, which nobody would fetch, and for too many."""
    pictures = [part.reference for part in parts if isinstance(part, ImagePart)]
    if any(not reference.startswith(WORKSPACE) for reference in pictures):
        raise Invalid(
            "pictures at https addresses are not fetched",
            field="parts",
            cure="upload the picture with POST /api/sessions/{session_id}/uploads and send its "
            "reference",
        )
    if len(pictures) > PICTURES:
        raise Invalid(
            f"{len(pictures)} pictures are too many for one message",
            field="parts",
            cure=f"send at most {PICTURES} pictures with each message",
        )


def _outcomes(runtime: Runtime, replies: Replies, language: Language) -> tuple[TurnOutcome, ...]:
    journal = runtime.home.journal
    return tuple(insight_turn_outcome(journal, turn, language) for turn in replies.turns)


def _acceptance(turns: tuple[Turn, ...]) -> Accepted:
    return Accepted(turn_ids=tuple(turn.id for turn in turns), message_id=turns[0].group)


def _answer_with_replies(
    accepted: Accepted, replies: Replies, outcomes: tuple[TurnOutcome, ...]
) -> Answered:
    views = (
        ReplyView(
            agent_id=line.speaker_id,
            agent_name=line.speaker_name,
            text=line.text,
            kind=line.kind,
            turn_id=line.turn_id or "",
            sequence=line.sequence,
            reply_to=line.reply_to,
            at=line.at,
        )
        for line in replies.lines
    )
    return Answered(**dict(accepted), replies=tuple(views), pending=replies.pending, turns=outcomes)


def _json(value: Value, status: int, headers: dict[str, Any] | None = None) -> Response:
    return Response(value.model_dump_json(), status, headers, media_type="application/json")
