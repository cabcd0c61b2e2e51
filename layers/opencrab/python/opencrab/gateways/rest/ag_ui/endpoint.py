"""`POST /ag-ui/{agent}`: one run of an agent, as server-sent events of AG-UI."""

import asyncio
import json
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.policy import Verb
from opencrab.domain.agents.agent import Profile
from opencrab.domain.approvals.approval import DECIDED, OPEN, Approval
from opencrab.domain.conversation.attachment import message_attachment_picture_type
from opencrab.domain.conversation.message import (
    ImagePart,
    LineKind,
    Message,
    Sender,
    TextPart,
)
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.identifier import stable_id
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.access.visibility import require_access_to_session
from opencrab.engine.conversation.uploads import store_session_upload
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.gateways.language.error_texts import error_words_in
from opencrab.gateways.rest.ag_ui.run_input import AgUiInput, read_ag_ui_input
from opencrab.gateways.rest.ag_ui.run_stream import (
    AgUiRunStream,
    ag_ui_error_events,
    open_ag_ui_approval,
)
from opencrab.gateways.rest.agents.agent_names import find_agent_by_id_or_name
from opencrab.gateways.rest.http.access import CALLER, Caller, may_http_caller_see_details
from opencrab.gateways.rest.http.dependencies import Api, RestContext
from opencrab.gateways.rest.http.event_stream import http_event_stream_response
from opencrab.gateways.rest.http.problem import MEDIA_TYPE
from opencrab.gateways.rest.mcp.route_calls import RouteCalls, RouteProblem
from opencrab.gateways.rest.openai.answer import (
    ANSWER_SECONDS,
    CompletionAnswer,
    wait_for_chat_completion,
)

_LATELY = 50
_EVENTS = "text/event-stream"

router = APIRouter(include_in_schema=False)


@router.post("/ag-ui/{agent}")
async def run_agent_for_ag_ui(request: Request, api: Api, agent: str) -> Response:
    """Run an agent for the newest message of a thread, or after the answer to an interrupt.

    The same message sent again is the same turn, and its run tells the same answer.
    """
    caller: Caller = request.scope[CALLER]
    caller.principal.require(Scope.CHAT)
    asked = read_ag_ui_input(await request.body())
    profile = await run_in_threadpool(
        find_agent_by_id_or_name,
        api.runtime.home.agents,
        caller.principal,
        agent,
        field="agent",
        cure="GET /api/agents lists the agents of this key",
    )
    run = AgUiRun(api, caller, profile, asked, RouteCalls(request))
    try:
        stream = await run.begin()
    except Conflict as error:
        words = error_words_in(caller.language, error.message, error.cure)
        events = ag_ui_error_events(asked, words, error.code)
        return Response(events, media_type=_EVENTS)
    except RouteProblem as error:
        return Response(json.dumps(error.problem), error.status, media_type=MEDIA_TYPE)
    if api.longest_seconds is None:
        return http_event_stream_response(stream.events(api.watch, ANSWER_SECONDS, caller.key_hash))
    # Lambda sends an answer when it is complete, so its events come all at once.
    await wait_for_chat_completion(api, stream.answer, caller.key_hash)
    whole = await run_in_threadpool(lambda: "".join(stream.events_so_far()))
    return Response(whole, media_type=_EVENTS)


@dataclass(frozen=True)
class AgUiRun:
    """A run with all that it needs, until its turn is admitted or goes on."""

    api: RestContext
    caller: Caller
    agent: Profile
    asked: AgUiInput
    routes: RouteCalls

    async def begin(self) -> AgUiRunStream:
        """Admit the newest message, or decide what the thread waits for, and return its events.

        Raises Conflict for what the protocol calls an error of a run, RouteProblem, Invalid.
        """
        key = stable_id("ag-ui-thread", self.agent.agent.id, self.asked.thread_id)
        body = {"participants": [self.agent.agent.id]}
        opened = await self.routes.call("POST", "/api/sessions", body=body, key=key)
        session_id = str(opened["id"])
        if self.asked.resume:
            return await self._resume(session_id)
        # Whoever leaves meanwhile finds the turn by sending the message again.
        turn = await asyncio.shield(run_in_threadpool(self._admit, session_id))
        return self._stream(turn)

    async def _resume(self, session_id: str) -> AgUiRunStream:
        answer = self.asked.resume[0]
        approval = await run_in_threadpool(self._approval, answer.interrupt_id, session_id)
        if approval is None or len(self.asked.resume) > 1:
            raise Conflict(
                f"interrupt {answer.interrupt_id[:80]!r} is none of this thread, or not the only",
                cure="answer the one interrupt of the run that waits",
            )
        turn = await run_in_threadpool(self._runtime.home.journal.header, approval.turn_id)
        stream = self._stream(turn)
        await run_in_threadpool(stream.resume_after, approval)
        body = {"approved": answer.approved, "argument_hash": answer.argument_hash}
        try:
            await self.routes.call(
                "POST",
                f"/api/approvals/{approval.id}/decide",
                body=body,
                key=stable_id("ag-ui-resume", approval.id, json.dumps(body)),
            )
        except RouteProblem as error:
            raise Conflict(str(error)) from None
        return stream

    def _admit(self, session_id: str) -> Turn:
        who, home = self.caller.principal, self._runtime.home
        session, _ = require_access_to_session(home, who, session_id, Verb.TAKE_PART)
        self._require_no_interrupt(session)
        asked, agent = self.asked, self.agent.agent
        key = stable_id("ag-ui", agent.id, asked.thread_id, asked.message_id)
        pictures = (
            ImagePart(reference=self._store_picture(session, key, place, content))
            for place, content in enumerate(asked.pictures)
        )
        words = asked.words(agent.language)
        try:
            message = Message(
                source=self.caller.source,
                source_id=key,
                principal_id=who.id,
                sender=Sender(id=who.id, name=who.name),
                authority=self.caller.authority,
                parts=(*((TextPart(text=words),) if words.strip() else ()), *pictures),
            )
        except ValidationError as error:
            raise Invalid(
                "message and context exceed the limit of one message",
                field="messages",
                cure=f"send at most {MESSAGE_BYTES} bytes of text in all",
            ) from error
        return admit_turns_of_message(self._runtime, session_id, message, only=(agent.id,))[0]

    def _require_no_interrupt(self, session: Session) -> None:
        """Raise Conflict while the thread waits for a decision, as the protocol wishes."""
        journal = self._runtime.home.journal
        lines = journal.lines(session.id, limit=_LATELY, newest_first=True)
        asks = (line for line in lines if line.kind is LineKind.APPROVAL)
        approval = open_ag_ui_approval(self._runtime, line) if (line := next(asks, None)) else None
        if approval is not None:
            raise Conflict(
                f"the thread waits for an answer to interrupt {approval.id!r}",
                cure="send resume, or another threadId",
            )

    def _approval(self, approval_id: str, session_id: str) -> Approval | None:
        """Return an approval of the thread, open or decided."""
        facts = self._runtime.home.facts
        for kind in (OPEN, DECIDED):
            found = facts.get(INSTALLATION_FACTS, kind, approval_id)
            if found is not None:
                approval = found.read(Approval)
                return approval if approval.session_id == session_id else None
        return None

    def _store_picture(self, session: Session, key: str, place: int, content: bytes) -> str:
        # What is no picture is refused by its name, which claims that it is one.
        kind = message_attachment_picture_type(content) or "image/png"
        name, upload_id = f"picture.{kind.partition('/')[2]}", stable_id("upload", key, str(place))
        who = self.caller.principal
        stored = store_session_upload(self._runtime, session, upload_id, name, content, by=who)
        return stored.reference

    def _stream(self, turn: Turn) -> AgUiRunStream:
        language = self.caller.language_or(self.agent.agent.language)
        answer = CompletionAnswer.of(self._runtime, turn, language)
        agents, agent_id = self._runtime.home.agents, self.agent.agent.id
        sees = may_http_caller_see_details(agents, agent_id, self.caller)
        return AgUiRunStream(self.asked, answer, sees_calls=sees)

    @property
    def _runtime(self) -> Runtime:
        return self.api.runtime
