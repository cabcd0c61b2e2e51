"""Approval buttons on chat services: what a press decides, and what its presser is told."""

from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.approvals.buttons import ApprovalButtonKind, read_approval_button
from opencrab.domain.chat.event import ChatButtonEvent
from opencrab.domain.chat.people import ChatPerson
from opencrab.domain.errors import Conflict, NotFound, Refused
from opencrab.domain.value import Language
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.chat.messages import name_chat_person, tell_chat_person
from opencrab.engine.chat.sentences import chat_sentence
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.chat_link import Chat


def press_chat_button(runtime: Runtime, chat: Chat, press: ChatButtonEvent) -> None:
    """Carry out a button; pressing it again decides nothing else.

    Only an owner or a delegate decides; anybody else is told so. What is not a button of ours does
    nothing. Raises Unavailable of the stores, NeverSent if nobody could be told.
    """
    found = read_approval_button(press.data)
    if press.user_id is None or found is None or found.kind is ApprovalButtonKind.SHOW:
        return
    person = name_chat_person(chat, press, press.user_id)
    said = _decide(runtime, chat, person, found.approval_id, found.shown_hash)
    tell_chat_person(chat, press, said)


def _decide(
    runtime: Runtime,
    chat: Chat,
    person: ChatPerson,
    approval_id: str,
    shown_hash: str | None,
) -> str:
    """Approve the call with the shown hash, or reject without one; return what to say of it."""
    facts = runtime.home.facts
    try:
        approval = approvals.find_approval(facts, approval_id)
    except NotFound:
        return chat_sentence("approval_gone")
    language = Language(runtime.home.agents.get(approval.agent_id).agent.language)
    try:
        approval = approvals.decide_approval(
            runtime,
            approval_id,
            approved=shown_hash is not None,
            who=_decider(chat, person),
            shown_hash=shown_hash,
        )
    except Refused:
        return chat_sentence("approval_refused", language)
    except Conflict as error:
        if error.field == "argument_hash":
            return chat_sentence("approval_changed", language)
        approval = approvals.find_approval(facts, approval_id)
    return _outcome(approval, language)


def _decider(chat: Chat, person: ChatPerson) -> Decider:
    name = f"{person.name} ({person.principal_id})"
    is_owner = chat.people.authority(person.id) is Authority.OWNER
    return Decider(id=person.principal_id, is_owner=is_owner, name=name)


def _outcome(approval: Approval, language: Language) -> str:
    if approval.state is ApprovalState.PENDING:
        return chat_sentence("approval_busy", language)
    return chat_sentence(approval.state.value, language, by=approval.by or "")
