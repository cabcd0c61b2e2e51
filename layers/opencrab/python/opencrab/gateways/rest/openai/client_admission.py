"""Admits what clients of OpenAI's API send: the newest messages of a conversation."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from opencrab.domain.access.policy import Verb
from opencrab.domain.client_tools import CLIENT_TOOLS, ClientCalls, ClientTools
from opencrab.domain.conversation.attachment import message_attachment_picture_type
from opencrab.domain.conversation.client_transcript import ClientTranscript
from opencrab.domain.conversation.message import ImagePart, Message, Sender, TextPart
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound, Refused
from opencrab.domain.identifier import stable_id
from opencrab.domain.turn.record import TURN_ACTIONS
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.access.visibility import require_access_to_turn
from opencrab.engine.client_tools.results import accept_client_results
from opencrab.engine.conversation.client_conversation import ClientConversation
from opencrab.engine.conversation.uploads import store_session_upload
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.openai.answer import CompletionAnswer, wait_for_chat_completion
from opencrab.gateways.rest.openai.client_messages import ClientMessages
from opencrab.gateways.rest.openai.client_tools import client_call_results, unknown_client_call
from opencrab.gateways.rest.openai.models import find_agent_as_model

_TOOLS_KEPT = timedelta(days=35)
"""As long as the turns that ended."""


@dataclass(frozen=True)
class ClientAdmission:
    """What one request holds, on its way to the agent that it calls a model.

    `tools` are those of the client. A request that brings their results has `resumed` a turn that
    waited for them; it admits no message.
    """

    conversation: ClientConversation
    caller: Caller
    messages: ClientMessages
    transcript: ClientTranscript
    after: Turn | None = None
    tools: ClientTools | None = None
    resumed: tuple[Turn, ClientCalls] | None = None

    def admit(self, key: str | None) -> Turn:
        """Admit the newest messages, and return the turn that answers them.

        Raises Invalid, TooLarge, Conflict.
        """
        if self.resumed is not None:
            return self.resumed[0]
        pictures = self.messages.pictures()
        who = self.caller.principal

        def message_of(session: Session, source_id: str, text: str) -> Message:
            shown = tuple(
                self._picture_part(session, f"{source_id}-{place}", content)
                for place, content in enumerate(pictures)
            )
            try:
                message = Message(
                    source=self.caller.source,
                    source_id=source_id,
                    principal_id=who.id,
                    sender=Sender(id=who.id, name=self.messages.user or who.name),
                    authority=self.caller.authority,
                    parts=(*((TextPart(text=text),) if text.strip() else ()), *shown),
                    # A request with other tools is another one, whose calls its client can run.
                    metadata={} if self.tools is None else {TURN_ACTIONS: self.tools.names_hash},
                )
            except ValidationError as error:
                raise Invalid(
                    "the messages since the last answer exceed the limit of one message",
                    field=self.messages.field,
                    cure=f"send at most {MESSAGE_BYTES} bytes of text in all",
                ) from error
            self._keep_tools(session, message)
            return message

        return self.conversation.admit(self.transcript, message_of, key=key, after=self.after)[0]

    def answer(self, turn: Turn) -> CompletionAnswer:
        """Return the answer of the turn; of one that was resumed, what it says from then on."""
        since = None if self.resumed is None else self.resumed[1]
        language = self.caller.language_or(self.conversation.agent.agent.language)
        return CompletionAnswer.of(self.conversation.runtime, turn, language, since)

    async def wait_for_answer(self, api: RestContext, answer: CompletionAnswer) -> None:
        """Wait for the answer; a client that must ask again for it gets it then.

        Raises Unauthenticated or NotFound if the caller may not hear it any more.
        """
        await wait_for_chat_completion(api, answer, self.caller.key_hash)
        if not answer.is_settled and self.resumed is None:
            await run_in_threadpool(self.conversation.expect_repeat, self.transcript)

    def _keep_tools(self, session: Session, message: Message) -> None:
        """Store the client's tools before the turn that is offered them can begin."""
        if self.tools is None:
            return
        runtime, agent_id = self.conversation.runtime, self.conversation.agent.agent.id
        turn_id, until = message.turn_in(session.id, agent_id), runtime.clock.now() + _TOOLS_KEPT
        # The same message again finds them there.
        with suppress(Changed):
            runtime.home.facts.commit(
                new_fact(agent_id, CLIENT_TOOLS, turn_id, self.tools, expires_at=until)
            )

    def _picture_part(self, session: Session, name: str, content: bytes) -> ImagePart:
        # What is no picture is refused by its name, which claims that it is one.
        media_type = message_attachment_picture_type(content) or "image/png"
        stored = store_session_upload(
            self.conversation.runtime,
            session,
            stable_id("upload", name),
            f"picture.{media_type.partition('/')[2]}",
            content,
            by=self.caller.principal,
        )
        return ImagePart(reference=stored.reference)


def resume_client_turn(
    conversation: ClientConversation, caller: Caller, messages: ClientMessages
) -> tuple[Turn, ClientCalls] | None:
    """Take results of the client's tools, and return the turn that goes on with them.

    None if there are none, or if the user says something else behind them, whatever became of
    them. Raises NotFound, Invalid, TooLarge, Conflict.
    """
    results = messages.results()
    if not results:
        return None
    try:
        resumed = _accept_results(conversation, caller, messages)
    except (NotFound, Conflict, Invalid):
        if messages.has_news:
            return None
        raise
    return None if messages.has_news else resumed


def _accept_results(
    conversation: ClientConversation, caller: Caller, messages: ClientMessages
) -> tuple[Turn, ClientCalls]:
    runtime, who = conversation.runtime, caller.principal
    results, field = messages.results(), messages.field
    brought = client_call_results(results, field)
    unknown = unknown_client_call(results[0].call_id, field)
    try:
        turn = runtime.home.journal.header(brought.turn_id)
        require_access_to_turn(runtime.home, who, turn, Verb.CHANGE)
    except (NotFound, Refused):
        # Who shares the session learns no more of another one's calls than who does not.
        raise unknown from None
    if (turn.principal_id, turn.agent_id) != (who.id, conversation.agent.agent.id):
        raise unknown
    try:
        calls = accept_client_results(
            runtime, turn, brought.n, brought.texts, by=who.id, field=field
        )
    except NotFound:
        raise unknown from None
    return runtime.home.journal.header(turn.id), calls


def client_conversation_with_model(
    runtime: Runtime, caller: Caller, model: str, field: str
) -> ClientConversation:
    """Return the caller's conversations with the agent of a name; raises NotFound, Invalid."""
    profile = find_agent_as_model(runtime.home.agents, caller.principal, model)
    return ClientConversation(runtime, caller.principal.id, caller.source, profile, field)
