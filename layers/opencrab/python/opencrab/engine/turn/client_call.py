"""Calls of a client's own tools: the turn waits until the client has run them, and goes on.

Such a turn waits as for an approval and costs nothing. Calls that follow each other in one answer
of the model are asked for together. What comes back are words from outside.
"""

import json
from collections.abc import Callable
from datetime import timedelta

from pydantic import BaseModel

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.client_tools import (
    CLIENT_CALLS,
    ClientCalls,
    ClientTool,
    ClientTools,
    id_of_client_calls,
)
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.document import Document, new_fact
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.due_item import CLIENT_WAIT_ITEM, DueItem
from opencrab.domain.turn.record import (
    CLIENT_GROUP,
    CLIENT_TOOLS,
    ActionCall,
    ApprovalRequest,
    CallState,
)
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.phrases import system_phrase
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.call import ReadyCall, call_result, check_turn_call
from opencrab.engine.turn.close import close_narrowed_turn, close_turn
from opencrab.engine.turn.large_result import spill_large_turn_result
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.turn.action import Action, ActionContext, one_line
from opencrab.ports.turn.schema_arguments import argument_class_of_turn_schema

KEPT = timedelta(days=35)
"""As long as the turns that ended."""

_SHOWN = 300
_DESCRIPTIONS = {
    Language.EN: "Tool {tool} of the program that asks; it runs it and brings the result: {said}",
    Language.JA: "質問してきたプログラムのツール{tool}(プログラムが実行して結果を返します): {said}",
}
_SENTENCES = {
    Language.EN: "Let the program that asks run its tool {tool}",
    Language.JA: "質問してきたプログラムにツール{tool}を実行させる",
}

Finish = Callable[[TurnWork, ReadyCall, int, tuple[CallState, ActionResult]], None]
"""Saves a call's result."""


def read_client_tools_of_turn(runtime: Runtime, turn: Turn) -> tuple[Action, ...]:
    """Return the tools that the client of a turn has offered, as actions, sorted by name."""
    tools = _tools(runtime, turn).tools
    return tuple(sorted(map(_action, tools), key=lambda action: action.name))


def run_client_call_of_turn(work: TurnWork, ready: ReadyCall, finish: Finish) -> None:
    """Finish a call of a client's tool with the result that came, or wait for that.

    The turn ends if the wait has ended without one.
    """
    asked = work.transcript.approval
    stored = None if asked is None else _find_calls(work, asked)
    if asked is None or stored is None or ready.call.id not in stored.call_ids:
        _wait(work, ready)
    elif stored.results is not None:
        said = stored.results[stored.call_ids.index(ready.call.id)]
        result = ActionResult.ok(result=said).replaced(taint=True)
        result = spill_large_turn_result(work, ready, result)
        finish(work, ready, work.next_n, (CallState.COMPLETED, result))
    elif work.transcript.decision is None:
        # The request was saved before a worker died: the client is not asked a second time.
        waiting = work.turn.replaced(status=TurnStatus.WAITING)
        work.save(waiting, unless_stopped=True, progress=True)
    else:
        lost = ActionResult.failure("the program that asks brought no result; the turn ends here")
        record = call_result(work, ready.call, CallState.CANCELLED, lost)
        language = work.profile.agent.language
        notice = system_phrase("client_silent", language, what=ready.action.name)
        close_turn(work, TurnStatus.STOPPED, record, notice=notice)


def _wait(work: TurnWork, ready: ReadyCall) -> None:
    """Ask the client for the call and those behind it, and let the turn wait."""
    if work.narrowed:
        close_narrowed_turn(work)
        return
    calls = [ready.call]
    if not _tools(work.runtime, work.turn).one_at_a_time:
        calls += _calls_behind(work, ready.call)
    request = ApprovalRequest(
        n=work.next_n,
        call_id=ready.call.id,
        name=ready.action.name,
        argument_hash=ready.call.argument_hash,
        what=ready.what,
        touches=ready.touches,
        at=work.runtime.clock.now(),
    )
    waits = ClientCalls(
        turn_id=work.turn.id,
        n=request.n,
        call_ids=tuple(call.id for call in calls),
        argument_hash=request.argument_hash,
    )
    name, now = id_of_client_calls(work.turn.id, request.n), work.runtime.clock.now()
    fact = new_fact(work.turn.agent_id, CLIENT_CALLS, name, waits, expires_at=now + KEPT)
    work.save(
        work.turn.replaced(status=TurnStatus.WAITING),
        request,
        beside=ExtraWrites(facts=(fact,), due=(_end_of_wait(work, name),)),
        unless_stopped=True,
        progress=True,
    )


def _calls_behind(work: TurnWork, call: ActionCall) -> list[ActionCall]:
    """Return the calls that follow one at once and can be run by the client with it."""
    step, found = work.transcript.steps[-1], list[ActionCall]()
    for other in step.answer.calls[step.answer.calls.index(call) + 1 :]:
        ready = check_turn_call(work, other)
        if not isinstance(ready, ReadyCall) or ready.action.group != CLIENT_GROUP:
            break
        found.append(other)
    return found


def _end_of_wait(work: TurnWork, name: str) -> DueItem:
    """Return the item that ends the wait; a release that does not know it has nobody to ask."""
    text = system_phrase("client_silent", work.profile.agent.language, what=CLIENT_GROUP)
    minutes = timedelta(minutes=work.runtime.rules.client_tool_minutes)
    return DueItem(
        id=f"{CLIENT_WAIT_ITEM}{name}",
        at=work.runtime.clock.now() + minutes,
        session_id=work.turn.session_id,
        message=Message(
            source=Source.SCHEDULE,
            source_id=f"{CLIENT_WAIT_ITEM}{name}",
            principal_id=work.turn.agent_id,
            sender=Sender(id=work.turn.agent_id, name="OpenCrab"),
            authority=Authority.SELF,
            parts=(TextPart(text=text),),
        ),
        trigger=Trigger.EVENT,
        only=(),
    )


def _tools(runtime: Runtime, turn: Turn) -> ClientTools:
    stored = runtime.home.facts.get(turn.agent_id, CLIENT_TOOLS, turn.id)
    return ClientTools(tools=()) if stored is None else stored.read(ClientTools)


def _find_calls(work: TurnWork, asked: ApprovalRequest) -> ClientCalls | None:
    name = id_of_client_calls(work.turn.id, asked.n)
    stored: Document | None = work.runtime.home.facts.get(work.turn.agent_id, CLIENT_CALLS, name)
    return None if stored is None else stored.read(ClientCalls)


def _action(tool: ClientTool) -> Action:
    return Action(
        name=tool.action,
        group=CLIENT_GROUP,
        # What it does is the client's doing. All that goes out are words to whoever asks.
        impact=Impact.SPEECH,
        effect=Effect.PURE,
        arguments=argument_class_of_turn_schema(json.dumps(tool.parameters)),
        run=_refuse,
        descriptions={
            language: text.format(tool=tool.name, said=tool.description)
            for language, text in _DESCRIPTIONS.items()
        },
        sentences={
            language: text.format(tool=tool.name).replace("{", "{{").replace("}", "}}")
            for language, text in _SENTENCES.items()
        },
        touches=_excerpt,
    )


def _refuse(_arguments: BaseModel, _context: ActionContext) -> ActionResult:
    return ActionResult.failure("only the program that asks can run this")


def _excerpt(arguments: BaseModel) -> str:
    return one_line(arguments.model_extra or {}, _SHOWN)
