"""Admits what clients of OpenAI's API send: the newest messages of a conversation."""

from dataclasses import dataclass

from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from opencrab.domain.conversation.attachment import message_attachment_picture_type
from opencrab.domain.conversation.client_transcript import ClientTranscript
from opencrab.domain.conversation.message import ImagePart, Message, Sender, TextPart
from opencrab.domain.conversation.session import Session
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import stable_id
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.conversation.client_conversation import ClientConversation
from opencrab.engine.conversation.key_holders import conversation_connection_holder
from opencrab.engine.conversation.uploads import store_session_upload
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import Caller
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.openai.answer import CompletionAnswer, wait_for_chat_completion
from opencrab.gateways.rest.openai.client_messages import ClientMessages
from opencrab.gateways.rest.openai.models import find_agent_as_model


@dataclass(frozen=True)
class ClientAdmission:
    """What one request holds, on its way to the agent that it calls a model."""

    conversation: ClientConversation
    caller: Caller
    messages: ClientMessages
    transcript: ClientTranscript
    after: Turn | None = None

    def admit(self, key: str | None) -> Turn:
        """Admit the newest messages, and return the turn that answers them.

        Raises Invalid, TooLarge, Conflict.
        """
        pictures = self.messages.pictures()
        who = self.caller.principal

        def message_of(session: Session, source_id: str, text: str) -> Message:
            shown = tuple(
                self._picture_part(session, f"{source_id}-{place}", content)
                for place, content in enumerate(pictures)
            )
            try:
                return Message(
                    source=self.caller.source,
                    source_id=source_id,
                    principal_id=who.id,
                    sender=Sender(id=who.id, name=self.messages.user or who.name),
                    authority=self.caller.authority,
                    parts=(*((TextPart(text=text),) if text.strip() else ()), *shown),
                )
            except ValidationError as error:
                raise Invalid(
                    "the messages since the last answer exceed the limit of one message",
                    field=self.messages.field,
                    cure=f"send at most {MESSAGE_BYTES} bytes of text in all",
                ) from error

        return self.conversation.admit(self.transcript, message_of, key=key, after=self.after)[0]

    async def wait_for_answer(self, api: RestContext, answer: CompletionAnswer) -> None:
        """Wait for the answer; a client that must ask again for it gets it then.

        Raises Unauthenticated if the caller's key was revoked meanwhile.
        """
        await wait_for_chat_completion(api, answer)
        keys, key_hash = api.runtime.home.keys, self.caller.key_hash
        await run_in_threadpool(conversation_connection_holder, keys, key_hash)
        if not answer.is_settled:
            await run_in_threadpool(self.conversation.expect_repeat, self.transcript)

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


def client_conversation_with_model(
    runtime: Runtime, caller: Caller, model: str, field: str
) -> ClientConversation:
    """Return the caller's conversations with the agent of a name; raises NotFound, Invalid."""
    profile = find_agent_as_model(runtime.home.agents, caller.principal, model)
    return ClientConversation(runtime, caller.principal.id, caller.source, profile, field)
