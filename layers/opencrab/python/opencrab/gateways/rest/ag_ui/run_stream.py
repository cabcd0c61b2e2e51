"""The events of a run: words, tool calls and their results, state, and how it ended.

Source of the format: `@ag-ui/core` 1.0, `Event`.
"""

import json
from collections.abc import Iterator
from typing import Any

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import OPEN, Approval
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.turn.account import CallAccount, TurnAccount
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.runtime import Runtime
from opencrab.gateways.language.error_texts import error_text_in, error_words_in
from opencrab.gateways.rest.ag_ui.run_input import PROTOCOL, AgUiInput
from opencrab.gateways.rest.openai.answer import CompletionAnswer
from opencrab.gateways.rest.openai.stream import AnswerStream
from opencrab.ports.turn.journal import resolve_record_pointers

SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "argumentHash": {"type": "string"}},
    "required": ["approved"],
}
"""What a payload that answers an interrupt holds."""

_RESULT_CHARACTERS = 20_000


class AgUiRunStream(AnswerStream):
    """The events of one run; of a resumed one those after the interrupt.

    Args:
        asked: What the run was asked for.
        answer: The answer of its turn.
        sees_calls: Whether the caller may read arguments and results of tool calls.
    """

    def __init__(self, asked: AgUiInput, answer: CompletionAnswer, *, sees_calls: bool) -> None:
        super().__init__(answer)
        self._asked = asked
        self._sees_calls = sees_calls
        self._message = ""
        self._messages = 0
        self._begun = set[str]()
        self._ended = set[str]()
        self._sequence = 0

    def resume_after(self, approval: Approval) -> None:
        """Leave out what was told before an interrupt."""
        replies = self._answer.replies
        replies.read()
        asked = (
            n
            for n, line in enumerate(replies.lines, 1)
            if (line.data or {}).get("approval_id") == approval.id
        )
        self._told = next(asked, 0)
        for call in self._calls():
            self._begun.add(call.call.id)
            if call.call.id == approval.call_id:
                break
            self._ended.add(call.call.id)

    def begin(self) -> Iterator[str]:
        """Return the event that opens the run."""
        turn = self._answer.turn
        place = {"opencrab": {"sessionId": turn.session_id, "turnId": turn.id}}
        yield self._event("RUN_STARTED", **self._ids(), protocolVersion=PROTOCOL, metadata=place)

    def words(self, words: str) -> str:
        """Return the event of the next words, in a message that is opened if none is."""
        opened = ""
        if not self._message:
            words = words.lstrip("\n")
            self._messages += 1
            self._message = f"{self._answer.turn.id}-{self._asked.run_id[:80]}-{self._messages}"
            opened = self._of_message("TEXT_MESSAGE_START", role="assistant")
        return opened + self._of_message("TEXT_MESSAGE_CONTENT", delta=words) if words else opened

    def asides(self) -> list[str]:
        """Return the events of tool calls that began or ended since the last look."""
        # Each step of a turn has a number of its own: what did not go on has nothing new.
        if self._sequence == self._answer.turn.sequence:
            return []
        self._sequence = self._answer.turn.sequence
        events = [event for call in self._calls() for event in self._of_call(call)]
        return [*self._close_message(), *events] if events else []

    def end(self) -> Iterator[str]:
        """Return the state and how the run ended; an interrupt says what it waits for."""
        yield from self._close_message()
        turn, error = self._answer.turn, self._answer.error()
        told = {"sessionId": turn.session_id, "turnId": turn.id, "status": turn.status.value}
        state = self._asked.state
        if state is None or isinstance(state, dict):
            snapshot = {**(state or {}), "opencrab": {**told, "costMicroUsd": turn.spent}}
            yield self._event("STATE_SNAPSHOT", snapshot=snapshot)
        if turn.status is TurnStatus.WAITING:
            yield self._interrupted()
        elif turn.status is TurnStatus.STOPPED:
            yield self._finished({"type": "cancelled"})
        elif error is not None:
            words = error_words_in(self._answer.language, error.message, error.cure)
            yield self._event("RUN_ERROR", message=words, code=error.code)
        else:
            yield self._finished({"type": "success"})

    def events_so_far(self) -> Iterator[str]:
        """Return all that there is by now, where an answer is sent as a whole."""
        yield from self.begin()
        news = self._news()
        yield from self.asides()
        yield from map(self.words, news)
        yield from self.end()

    def _of_line(self, line: Line) -> str:
        # What is no speech, as a question for an approval, is told by an interrupt or error.
        return super()._of_line(line) if line.kind is LineKind.SPEECH else ""

    def _calls(self) -> Iterator[CallAccount]:
        """Yield the tool calls of the turn that are more than speech."""
        runtime = self._answer.runtime
        recorded = runtime.home.journal.load(self._answer.turn.id)
        records = resolve_record_pointers(recorded.records, runtime.home.blobs)
        for call in TurnAccount.of(recorded.turn, records).calls:
            action = runtime.actions.find(call.call.name)
            if action is None or action.impact is not Impact.SPEECH:
                yield call

    def _of_call(self, call: CallAccount) -> Iterator[str]:
        call_id, has_begun = call.call.id, bool(call.begun_at or call.result)
        if has_begun and call_id not in self._begun:
            self._begun.add(call_id)
            named = {"toolCallId": self._call_id(call_id)}
            yield self._event("TOOL_CALL_START", **named, toolCallName=call.call.name)
            arguments = call.call.arguments if self._sees_calls else {}
            delta = json.dumps(arguments, ensure_ascii=False)
            yield self._event("TOOL_CALL_ARGS", **named, delta=delta)
            yield self._event("TOOL_CALL_END", **named)
        if call.result is not None and call_id not in self._ended:
            self._ended.add(call_id)
            yield self._event(
                "TOOL_CALL_RESULT",
                messageId=f"{self._call_id(call_id)}-result",
                toolCallId=self._call_id(call_id),
                content=self._result(call),
                role="tool",
            )

    def _result(self, call: CallAccount) -> str:
        if not self._sees_calls or call.result is None:
            return str(call.state)
        result = call.result.result
        told = {"success": result.success, "data": result.data, "error": result.error}
        kept = {name: value for name, value in told.items() if value is not None}
        return json.dumps(kept, ensure_ascii=False)[:_RESULT_CHARACTERS]

    def _interrupted(self) -> str:
        lines = self._answer.replies.lines
        asks = [line for line in lines if line.kind is LineKind.APPROVAL]
        approval = open_ag_ui_approval(self._answer.runtime, asks[-1]) if asks else None
        if approval is None:
            words = "the run is paused: resume it where it was paused, and send the input again"
            told = error_text_in(self._answer.language, words)
            return self._event("RUN_ERROR", message=told, code="paused")
        shown = {"argumentHash": approval.argument_hash} if self._sees_calls else {}
        interrupt: dict[str, Any] = {
            "id": approval.id,
            "reason": "tool_call",
            "message": asks[-1].text,
            "toolCallId": self._call_id(approval.call_id),
            "responseSchema": SCHEMA,
            "metadata": {"opencrab": {"action": approval.action, **shown}},
        }
        if approval.expires_at is not None:
            interrupt["expiresAt"] = approval.expires_at.isoformat()
        return self._finished({"type": "interrupt", "interrupts": [interrupt]})

    def _finished(self, outcome: dict[str, Any]) -> str:
        return self._event("RUN_FINISHED", **self._ids(), outcome=outcome)

    def _close_message(self) -> Iterator[str]:
        if self._message:
            yield self._of_message("TEXT_MESSAGE_END")
            self._message = ""

    def _of_message(self, kind: str, **more: Any) -> str:
        return self._event(kind, messageId=self._message, **more)

    def _call_id(self, call_id: str) -> str:
        return f"{self._answer.turn.id}-{call_id}"

    def _ids(self) -> dict[str, str]:
        return {"threadId": self._asked.thread_id, "runId": self._asked.run_id}

    def _event(self, kind: str, **fields: Any) -> str:
        return f"data: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def ag_ui_error_events(asked: AgUiInput, message: str, code: str) -> str:
    """Return the events of a run that fails before its turn begins."""
    place = {"threadId": asked.thread_id, "runId": asked.run_id, "protocolVersion": PROTOCOL}
    begun = {"type": "RUN_STARTED", **place}
    failed = {"type": "RUN_ERROR", "message": message, "code": code}
    events = (json.dumps(each, ensure_ascii=False) for each in (begun, failed))
    return "".join(f"data: {event}\n\n" for event in events)


def open_ag_ui_approval(runtime: Runtime, line: Line) -> Approval | None:
    """Return the approval that a line of a session asks for, None if it does not wait any more."""
    approval_id = str((line.data or {}).get("approval_id", ""))
    found = runtime.home.facts.get(INSTALLATION_FACTS, OPEN, approval_id)
    return None if found is None else found.read(Approval)
