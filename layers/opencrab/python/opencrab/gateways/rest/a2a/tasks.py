"""Tasks: a turn and what it answered, as A2A has them."""

import mimetypes
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from opencrab.domain.a2a.protocol import A2aErrorCode, A2aTaskState
from opencrab.domain.access.policy import Verb
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.errors import NotFound
from opencrab.domain.turn.action import FileWritten
from opencrab.domain.turn.record import CallResult
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.access.visibility import PUBLISHED, require_access_to_turn
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.control import is_turn_waiting_for_result
from opencrab.gateways.rest.a2a.client_request import A2aRequest
from opencrab.gateways.rest.a2a.errors import A2aError
from opencrab.gateways.rest.insight.turn_outcome import TurnErrorType, insight_turn_outcome
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.ports.turn.journal import resolve_record_pointers

ANSWER = "answer"
"""The id of the artifact with the agent's words."""

_RESULTS = "data/results/"
"""Where large results of tools are kept, which nobody wrote as a file."""

_OF_STATUS = {
    TurnStatus.QUEUED: A2aTaskState.SUBMITTED,
    TurnStatus.RUNNING: A2aTaskState.WORKING,
    TurnStatus.WAITING: A2aTaskState.INPUT_REQUIRED,
    TurnStatus.STOPPED: A2aTaskState.CANCELED,
    TurnStatus.EXHAUSTED: A2aTaskState.FAILED,
    TurnStatus.FAILED: A2aTaskState.FAILED,
}

Table = Mapping[str, Any]


def find_a2a_turn(asked: A2aRequest, task_id: str, verb: Verb = Verb.READ) -> Turn:
    """Return the turn that a task is; raises A2aError as if there were none if it is hidden."""
    try:
        turn = asked.runtime.home.journal.header(task_id)
        require_access_to_turn(asked.runtime.home, asked.caller.principal, turn, verb)
        if turn.agent_id == asked.agent_id:
            return turn
    except NotFound:
        pass
    raise A2aError(
        A2aErrorCode.TASK_NOT_FOUND,
        f"there is no task {task_id[:80]!r}: use the id of a task of this agent that this key sees",
    )


def a2a_answer_of_turn(asked: A2aRequest, turn: Turn) -> CompletionAnswer:
    """Return the answer of a turn, read as far as it is there."""
    answer = CompletionAnswer.of(asked.runtime, turn, asked.answer_language)
    answer.replies.read()
    return answer


def a2a_task_of_answer(
    asked: A2aRequest,
    answer: CompletionAnswer,
    *,
    history: int | None = None,
    artifacts: bool = True,
) -> Table:
    """Return a task as far as its answer was read, with at most so many messages of its history."""
    turn = answer.turn
    task: dict[str, Any] = {
        "id": turn.id,
        "contextId": turn.session_id,
        "status": a2a_status_of_answer(asked, answer),
    }
    if artifacts and (made := a2a_artifacts_of_answer(asked, answer)):
        task["artifacts"] = made
    if history != 0 and (said := _history(asked, answer)[-(history or 0) :]):
        task["history"] = said
    return task


def a2a_state_of_answer(answer: CompletionAnswer) -> A2aTaskState:
    """Return the state of a task."""
    turn = answer.turn
    outcome = insight_turn_outcome(answer.runtime.home.journal, turn, answer.language)
    if outcome.error is not None and outcome.error.type is TurnErrorType.FROZEN:
        return A2aTaskState.REJECTED
    if turn.status is TurnStatus.IDLE:
        said = any(line.kind is LineKind.SPEECH for line in answer.replies.lines)
        failed = outcome.error is not None and not said
        return A2aTaskState.FAILED if failed else A2aTaskState.COMPLETED
    return _OF_STATUS.get(turn.status, A2aTaskState.COMPLETED)


def a2a_status_of_answer(asked: A2aRequest, answer: CompletionAnswer) -> Table:
    """Return the status of a task; one that waits or failed says what for, or why."""
    turn, state = answer.turn, a2a_state_of_answer(answer)
    status: dict[str, Any] = {
        "state": state.value,
        "timestamp": a2a_time(turn.ended_at or turn.created_at),
    }
    parts: list[Table] = []
    if state is A2aTaskState.INPUT_REQUIRED:
        parts = [_text(line.text) for line in answer.replies.lines if not _is_speech(line)]
        if is_turn_waiting_for_result(asked.runtime.home, turn):
            parts = [_text(system_phrase("client_awaited", answer.language))]
        elif (waits := _waiting_call(asked, answer)) is not None:
            parts.append({"data": waits, "mediaType": "application/json"})
    elif state.is_end and state is not A2aTaskState.COMPLETED:
        outcome = insight_turn_outcome(answer.runtime.home.journal, turn, answer.language)
        if outcome.error is not None:
            parts = [_text(f"{outcome.error.message} {outcome.error.cure}")]
    if parts:
        status["message"] = _message(answer, "status", "ROLE_AGENT", parts)
    return status


def a2a_artifacts_of_answer(asked: A2aRequest, answer: CompletionAnswer) -> list[Table]:
    """Return what a turn brought: its words, and the files that it wrote and the caller may read.

    A file is an address of REST, where it is read with the same key.
    """
    said = "\n\n".join(line.text for line in answer.replies.lines if _is_speech(line))
    made: list[Table] = []
    if said:
        made.append({"artifactId": ANSWER, "name": ANSWER, "parts": [_text(said)]})
    return [*made, *a2a_file_artifacts(asked, answer)] if answer.is_settled else made


def a2a_file_artifacts(asked: A2aRequest, answer: CompletionAnswer) -> list[Table]:
    """Return the files that a turn wrote and the caller may read, each as an artifact."""
    recorded = asked.runtime.home.journal.load(answer.turn.id)
    records = resolve_record_pointers(recorded.records, asked.runtime.home.blobs)
    written = dict.fromkeys(
        effect.path
        for record in records
        if isinstance(record, CallResult)
        for effect in record.result.side_effects
        if isinstance(effect, FileWritten) and not effect.path.startswith(_RESULTS)
    )
    readable = (path for path in written if asked.caller.is_owner or path.startswith(PUBLISHED))
    return [_file(asked, path) for path in readable]


def a2a_time(at: datetime) -> str:
    """Return a time as A2A writes it: UTC with milliseconds."""
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def _file(asked: A2aRequest, path: str) -> Table:
    part = {
        "url": f"{asked.base}/api/agents/{asked.agent_id}/workspace/{quote(path)}",
        "filename": path.rpartition("/")[2],
        "mediaType": mimetypes.guess_type(path)[0] or "application/octet-stream",
    }
    return {"artifactId": f"file:{path}", "name": path, "parts": [part]}


def _waiting_call(asked: A2aRequest, answer: CompletionAnswer) -> Table | None:
    """Return the call that waits for a decision, with what a decision must name."""
    asks = [line for line in answer.replies.lines if line.kind is LineKind.APPROVAL]
    approval_id = str((asks[-1].data or {}).get("approval_id", "")) if asks else ""
    if not approval_id:
        return None
    return {"approvalId": approval_id, "approvalUrl": f"{asked.base}/api/approvals/{approval_id}"}


def _history(asked: A2aRequest, answer: CompletionAnswer) -> list[Table]:
    """Return the message that began a task, and what its agent said."""
    turn, journal = answer.turn, asked.runtime.home.journal
    first = journal.lines(turn.session_id, after=turn.trigger_line - 1, limit=1)
    lines = [("ROLE_USER", line) for line in first if line.sequence == turn.trigger_line]
    lines += [("ROLE_AGENT", line) for line in answer.replies.lines if _is_speech(line)]
    return [_message(answer, str(line.sequence), role, [_text(line.text)]) for role, line in lines]


def _message(answer: CompletionAnswer, name: str, role: str, parts: list[Table]) -> Table:
    turn = answer.turn
    return {
        "messageId": f"{turn.id}-{name}",
        "contextId": turn.session_id,
        "taskId": turn.id,
        "role": role,
        "parts": parts,
    }


def _text(words: str) -> Table:
    return {"text": words, "mediaType": "text/plain"}


def _is_speech(line: Line) -> bool:
    return line.kind is LineKind.SPEECH
