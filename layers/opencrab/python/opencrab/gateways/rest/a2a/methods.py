"""The methods of A2A that bring one answer; those that stream begin here, too."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from fastapi.concurrency import run_in_threadpool

from opencrab.domain.a2a.protocol import (
    A2A_PUSH_METHODS,
    A2aErrorCode,
    A2aMethod,
    A2aTaskState,
)
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.policy import Verb
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.insight.turn_list import LOOKED_AT, newest_turns_for_insight
from opencrab.gateways.rest.a2a.client_request import (
    A2aRequest,
    a2a_count,
    a2a_switch,
    a2a_text,
)
from opencrab.gateways.rest.a2a.errors import A2aError
from opencrab.gateways.rest.a2a.sending import (
    push_notifications_error,
    read_a2a_sending,
    send_a2a_message,
)
from opencrab.gateways.rest.a2a.tasks import (
    a2a_answer_of_turn,
    a2a_state_of_answer,
    a2a_task_of_answer,
    a2a_time,
    find_a2a_turn,
)
from opencrab.gateways.rest.conversation.replies import wait_for_session_replies
from opencrab.gateways.rest.openai.answer import CompletionAnswer, wait_for_chat_completion

_HISTORY = 1_000
_PAGE, _LARGEST_PAGE = 50, 100
_STOP_SECONDS = 10

Table = Mapping[str, Any]


async def answer_a2a_method(asked: A2aRequest) -> Table:
    """Return the result of a request; raises A2aError, OpenCrabError and RouteProblem."""
    method = asked.message.method
    if method in A2A_PUSH_METHODS:
        raise push_notifications_error()
    answer = _METHODS.get(method)
    if answer is None:
        known = ", ".join((*_METHODS, A2aMethod.STREAM, A2aMethod.SUBSCRIBE))
        raise A2aError(
            A2aErrorCode.METHOD_NOT_FOUND, f"there is no method {method[:80]!r}: use {known}"
        )
    return await answer(asked)


async def begin_a2a_stream(asked: A2aRequest) -> CompletionAnswer:
    """Return the answer that a request wants to follow; raises as `answer_a2a_method` does."""
    if asked.message.method == A2aMethod.STREAM:
        turn = await send_a2a_message(asked, read_a2a_sending(asked))
        return await run_in_threadpool(_unread_answer, asked, turn)
    turn = await run_in_threadpool(_named_turn, asked)
    answer = await run_in_threadpool(a2a_answer_of_turn, asked, turn)
    if (await run_in_threadpool(a2a_state_of_answer, answer)).is_end:
        raise A2aError(
            A2aErrorCode.UNSUPPORTED_OPERATION,
            f"task {turn.id!r} has ended: get it with {A2aMethod.GET}",
        )
    return await run_in_threadpool(_unread_answer, asked, turn)


async def _send(asked: A2aRequest) -> Table:
    sending = read_a2a_sending(asked)
    turn = await send_a2a_message(asked, sending)
    answer = await run_in_threadpool(_unread_answer, asked, turn)
    if sending.is_awaited:
        await wait_for_chat_completion(asked.api, answer, asked.caller.key_hash)
    else:
        await run_in_threadpool(answer.replies.read)
    return {"task": await _task(asked, answer, sending.history)}


async def _get(asked: A2aRequest) -> Table:
    history = a2a_count(asked.message.params, "historyLength", _HISTORY)
    turn = await run_in_threadpool(_named_turn, asked)
    answer = await run_in_threadpool(a2a_answer_of_turn, asked, turn)
    return await _task(asked, answer, history)


async def _cancel(asked: A2aRequest) -> Table:
    asked.caller.principal.require(Scope.CHAT)
    turn = await run_in_threadpool(_named_turn, asked, Verb.CHANGE)
    if turn.status.is_end:
        raise A2aError(A2aErrorCode.TASK_NOT_CANCELABLE, f"task {turn.id!r} has ended already")
    answer = await run_in_threadpool(_unread_answer, asked, turn)
    async with asked.api.watch.watching(turn.session_id, settled=True) as next_change:
        key = asked.idempotency_key("cancel", turn.id)
        await asked.routes.call("POST", f"/api/turns/{turn.id}/cancel", body={}, key=key)
        # A turn ends before its next call: soon, but not at once.
        await run_in_threadpool(answer.replies.look)
        seconds = asked.api.capped_wait(_STOP_SECONDS) or 0
        await wait_for_session_replies(answer.replies, next_change, seconds, lambda: True)
    await run_in_threadpool(answer.require_hearer, asked.caller.key_hash)
    return await _task(asked, answer, None)


async def _list(asked: A2aRequest) -> Table:
    return await run_in_threadpool(_page_of_tasks, asked)


async def _extended_card(asked: A2aRequest) -> Table:  # noqa: ARG001 - as all methods
    raise A2aError(
        A2aErrorCode.UNSUPPORTED_OPERATION, "there is no extended card: the public one is whole"
    )


async def _task(asked: A2aRequest, answer: CompletionAnswer, history: int | None) -> Table:
    return await run_in_threadpool(a2a_task_of_answer, asked, answer, history=history)


def _page_of_tasks(asked: A2aRequest) -> Table:
    """Return the caller's own tasks, the newest change first."""
    params = asked.message.params
    size = a2a_count(params, "pageSize", _LARGEST_PAGE) or _PAGE
    history = a2a_count(params, "historyLength", _HISTORY)
    context, token = a2a_text(params, "contextId"), a2a_text(params, "pageToken")
    since, wanted = _wanted_time(params), _wanted_state(params)
    turns = newest_turns_for_insight(
        asked.runtime,
        asked.caller.principal,
        agent_id=asked.agent_id,
        session_id=context or None,
        status=None,
        limit=LOOKED_AT,
    )
    who = asked.caller.principal.id
    mine = {
        _place(turn): turn
        for turn in turns
        if turn.principal_id == who and turn.trigger is Trigger.MESSAGE
    }
    answers = [
        (place, a2a_answer_of_turn(asked, mine[place]))
        for place in sorted(mine, reverse=True)
        if place >= since
    ]
    fitting = [
        (place, answer)
        for place, answer in answers
        if wanted is None or a2a_state_of_answer(answer) is wanted
    ]
    left = [each for each in fitting if not token or each[0] < token]
    shown = left[:size]
    with_artifacts = a2a_switch(params, "includeArtifacts")
    tasks = [
        a2a_task_of_answer(asked, answer, history=history, artifacts=with_artifacts)
        for _, answer in shown
    ]
    return {
        "tasks": tasks,
        "nextPageToken": shown[-1][0] if len(left) > len(shown) else "",
        "pageSize": size,
        "totalSize": len(fitting),
    }


def _wanted_time(params: Table) -> str:
    """Return the time from which on changes are wanted, as places in the list have it."""
    said = a2a_text(params, "statusTimestampAfter")
    if not said:
        return ""
    try:
        found = datetime.fromisoformat(said)
        return a2a_time((found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC))
    except (ValueError, OverflowError):
        raise A2aError(
            A2aErrorCode.INVALID_PARAMS,
            'statusTimestampAfter must be a time, such as "2026-11-30T09:00:00Z"',
        ) from None


def _wanted_state(params: Table) -> A2aTaskState | None:
    said = a2a_text(params, "status")
    if said in {"", "TASK_STATE_UNSPECIFIED"}:
        return None
    try:
        return A2aTaskState(said)
    except ValueError:
        raise A2aError(
            A2aErrorCode.INVALID_PARAMS, f"status must be one of {', '.join(A2aTaskState)}"
        ) from None


def _place(turn: Turn) -> str:
    """Return the place of a task in the list: the time of its last change, and its id."""
    return f"{a2a_time(turn.ended_at or turn.created_at)} {turn.id}"


def _named_turn(asked: A2aRequest, verb: Verb = Verb.READ) -> Turn:
    return find_a2a_turn(asked, a2a_text(asked.message.params, "id", required=True), verb)


def _unread_answer(asked: A2aRequest, turn: Turn) -> CompletionAnswer:
    return CompletionAnswer.of(asked.runtime, turn, asked.answer_language)


_METHODS: Mapping[str, Callable[[A2aRequest], Awaitable[Table]]] = {
    A2aMethod.SEND: _send,
    A2aMethod.GET: _get,
    A2aMethod.LIST: _list,
    A2aMethod.CANCEL: _cancel,
    A2aMethod.EXTENDED_CARD: _extended_card,
}
