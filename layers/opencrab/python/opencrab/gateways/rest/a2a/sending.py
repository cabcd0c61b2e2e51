"""Messages of A2A clients: each is admitted once by its id, or decides what a task waits for."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from opencrab.domain.a2a.protocol import A2A_HOPS, MOST_A2A_HOPS, A2aErrorCode
from opencrab.domain.access.authority import Authority, Scope
from opencrab.domain.access.policy import Verb
from opencrab.domain.conversation.message import Message, Sender
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.access.visibility import require_access_to_session
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.control import is_turn_waiting_for_result
from opencrab.gateways.rest.a2a.client_request import (
    A2aRequest,
    a2a_count,
    a2a_switch,
    a2a_table,
    a2a_text,
)
from opencrab.gateways.rest.a2a.errors import A2aError
from opencrab.gateways.rest.a2a.message_parts import A2aPart, read_a2a_parts, store_a2a_parts
from opencrab.gateways.rest.a2a.tasks import find_a2a_turn
from opencrab.gateways.rest.mcp.route_calls import RouteProblem

_HISTORY = 1_000
_DECISION = {"approvalId", "approved", "argumentHash"}


@dataclass(frozen=True)
class A2aSending:
    """A checked message, and how its answer is wished."""

    message_id: str
    context_id: str
    task_id: str
    parts: tuple[A2aPart, ...]
    hops: int
    history: int | None
    is_awaited: bool


def read_a2a_sending(asked: A2aRequest) -> A2aSending:
    """Check the parameters of a message; raises A2aError, and Refused for a key that only reads."""
    asked.caller.principal.require(Scope.CHAT)
    params = asked.message.params
    said, wishes = a2a_table(params, "message"), a2a_table(params, "configuration")
    if wishes.get("taskPushNotificationConfig"):
        raise push_notifications_error()
    if said.get("role") != "ROLE_USER":
        raise _invalid('message.role must be "ROLE_USER"')
    hops = a2a_count(a2a_table(said, "metadata"), A2A_HOPS, 1_000_000) or 0
    if hops >= MOST_A2A_HOPS:
        raise A2aError(
            A2aErrorCode.UNSUPPORTED_OPERATION,
            f"this message has passed through {hops} agents, fewer than {MOST_A2A_HOPS} are "
            "accepted: let a person ask",
        )
    return A2aSending(
        message_id=a2a_text(said, "messageId", required=True),
        context_id=a2a_text(said, "contextId"),
        task_id=a2a_text(said, "taskId"),
        parts=read_a2a_parts(said.get("parts")),
        hops=hops,
        history=a2a_count(wishes, "historyLength", _HISTORY),
        is_awaited=not a2a_switch(wishes, "returnImmediately"),
    )


async def send_a2a_message(asked: A2aRequest, sending: A2aSending) -> Turn:
    """Admit a message, or decide with it, once, and return the turn that is its task.

    Raises A2aError, OpenCrabError and RouteProblem.
    """
    if sending.task_id:
        turn = await run_in_threadpool(find_a2a_turn, asked, sending.task_id)
        if sending.context_id not in {"", turn.session_id}:
            raise _invalid("message.contextId is not that of message.taskId: omit it")
        await _decide(asked, sending, turn)
        return await run_in_threadpool(find_a2a_turn, asked, turn.id)
    key = asked.idempotency_key("message", sending.message_id)
    session_id = sending.context_id
    if not session_id:
        body = {"participants": [asked.agent_id]}
        opened = await asked.routes.call("POST", "/api/sessions", body=body, key=key)
        session_id = str(opened["id"])
    # Whoever leaves meanwhile finds the task by sending the message again.
    return await asyncio.shield(run_in_threadpool(_admit, asked, sending, session_id, key))


def push_notifications_error() -> A2aError:
    """Return the error of whatever has to do with push notifications."""
    return A2aError(
        A2aErrorCode.PUSH_NOTIFICATION_NOT_SUPPORTED,
        "push notifications are not supported: subscribe to the task, or get it again",
    )


def _admit(asked: A2aRequest, sending: A2aSending, session_id: str, key: str) -> Turn:
    runtime, who = asked.runtime, asked.caller.principal
    try:
        session, _ = require_access_to_session(runtime.home, who, session_id, Verb.TAKE_PART)
    except NotFound:
        raise _unknown_context(session_id) from None
    if asked.agent_id not in session.agent_ids:
        raise _unknown_context(session_id)
    # What an agent says is no word of the person whose key it has.
    authority = Authority.PEER if sending.hops else asked.caller.authority
    try:
        message = Message(
            source=asked.caller.source,
            source_id=key,
            principal_id=who.id,
            sender=Sender(id=who.id, name=who.name),
            authority=authority,
            parts=store_a2a_parts(asked, session, sending.parts, key),
        )
    except ValidationError as error:
        raise Invalid("the parts do not fit in one message", cure="shorten them") from error
    return admit_turns_of_message(
        runtime, session_id, message, only=(asked.agent_id,), hops=sending.hops
    )[0]


async def _decide(asked: A2aRequest, sending: A2aSending, turn: Turn) -> None:
    """Decide the call for which a task waits; nothing else can be said to a task that exists."""
    decision = _decision(sending)
    if decision is None:
        raise _nothing_to_say(asked, turn)
    if sending.hops:
        raise A2aError(
            A2aErrorCode.UNSUPPORTED_OPERATION,
            f"this decision has passed through {sending.hops} agents: let a person send it",
        )
    approval = f"/api/approvals/{decision['approvalId']}"
    try:
        if (await asked.routes.call("GET", approval))["turn_id"] != turn.id:
            raise _invalid(f"approval {decision['approvalId']!r} is not one of task {turn.id!r}")
        await asked.routes.call(
            "POST",
            f"{approval}/decide",
            body={"approved": decision["approved"], "argument_hash": decision["argumentHash"]},
            key=asked.idempotency_key("decision", sending.message_id),
        )
    except RouteProblem:
        if turn.status.is_end:
            raise _nothing_to_say(asked, turn) from None
        raise


def _nothing_to_say(asked: A2aRequest, turn: Turn) -> A2aError:
    """Return the error of a message to a task that takes none, or none like this one."""
    if is_turn_waiting_for_result(asked.runtime.home, turn):
        words = (
            f"task {turn.id!r} waits for the program that began it, which brings the result of its "
            "own tool"
        )
    elif turn.status is TurnStatus.WAITING:
        names = ", ".join(sorted(_DECISION))
        words = (
            f"task {turn.id!r} waits for a decision: send a data part with {names}; its status "
            "names the approval"
        )
    elif turn.status.is_end:
        words = f"task {turn.id!r} has ended: send the message in its context, without taskId"
    else:
        words = (
            f"task {turn.id!r} is being worked on: send the message in its context, without taskId"
        )
    return A2aError(A2aErrorCode.UNSUPPORTED_OPERATION, words)


def _decision(sending: A2aSending) -> Mapping[str, Any] | None:
    for part in sending.parts:
        data = part.data
        if isinstance(data, dict) and set(data) == _DECISION:
            named = data["approvalId"]
            if isinstance(named, str) and named.replace("-", "").replace("_", "").isalnum():
                return data
    return None


def _unknown_context(context_id: str) -> A2aError:
    return _invalid(
        f"there is no context {context_id[:80]!r} in which this key may talk to this agent: "
        "omit contextId to begin one"
    )


def _invalid(message: str) -> A2aError:
    return A2aError(A2aErrorCode.INVALID_PARAMS, message)
