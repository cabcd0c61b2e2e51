"""Calls of a client's own tools: offered as actions, asked for, and answered once results came.

Calls that follow each other in one answer of the model are asked for together.
"""

import json
from collections.abc import Sequence
from datetime import timedelta

from pydantic import BaseModel

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.client_tools import (
    CLIENT_CALLS,
    CLIENT_TOOLS,
    ClientCalls,
    ClientTool,
    ClientTools,
    id_of_client_calls,
)
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.document import new_fact
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.due_item import CLIENT_WAIT_ITEM, DueItem
from opencrab.domain.turn.record import ActionCall, ApprovalRequest
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Language
from opencrab.engine.client_tools.results import find_client_calls
from opencrab.engine.consequence import FollowUp, OutsideAnswer
from opencrab.engine.phrases import system_phrase
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import Consequence, TurnWork
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import Action, ActionContext, one_line
from opencrab.ports.turn.schema_arguments import argument_class_of_turn_schema

KEPT = timedelta(days=35)
"""As long as the turns that ended."""

_GROUP = "client"
_SHOWN = 300
_TEXTS = Texts(__file__)


class ClientToolConsequence(Consequence):
    """Lets a turn use the tools of its client: it waits until the client has run a call."""

    def turn_actions(self, runtime: Runtime, turn: Turn) -> tuple[Action, ...]:
        return tuple(map(_action, _tools_of_turn(runtime, turn).tools))

    def on_ask_outside(
        self, work: TurnWork, asked: ApprovalRequest, calls: Sequence[ActionCall]
    ) -> FollowUp | None:
        offered = _tools_of_turn(work.runtime, work.turn)
        if offered.of_action(asked.name) is None:
            return None
        together = calls[:1] if offered.one_at_a_time else calls
        waits = ClientCalls(
            turn_id=work.turn.id,
            n=asked.n,
            call_ids=tuple(call.id for call in together),
            argument_hash=asked.argument_hash,
        )
        name, until = id_of_client_calls(work.turn.id, asked.n), work.runtime.clock.now() + KEPT
        fact = new_fact(work.turn.agent_id, CLIENT_CALLS, name, waits, expires_at=until)
        return FollowUp(facts=(fact,), due=(_end_of_wait(work, name),))

    def outside_answer(self, work: TurnWork, call: ActionCall) -> OutsideAnswer | None:
        asked = work.transcript.approval
        if asked is None:
            return None
        calls = find_client_calls(work.runtime, work.turn, asked.n)
        if calls is None or call.id not in calls.call_ids:
            return None
        if calls.results is not None:
            said = calls.results[calls.call_ids.index(call.id)]
            return OutsideAnswer(ActionResult.ok(result=said))
        if work.transcript.decision is None:
            return OutsideAnswer()
        lost = ActionResult.failure("the program that asks brought no result; the turn ends here")
        language = work.profile.agent.language
        return OutsideAnswer(lost, system_phrase("client_silent", language, what=asked.name))


def _end_of_wait(work: TurnWork, name: str) -> DueItem:
    """Return the item that ends the wait; a release that does not know it has nobody to ask."""
    text = system_phrase("client_silent", work.profile.agent.language, what=_GROUP)
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


def _tools_of_turn(runtime: Runtime, turn: Turn) -> ClientTools:
    stored = runtime.home.facts.get(turn.agent_id, CLIENT_TOOLS, turn.id)
    return ClientTools(tools=()) if stored is None else stored.read(ClientTools)


def _action(tool: ClientTool) -> Action:
    return Action(
        name=tool.action,
        group=_GROUP,
        # What it does is the client's doing. All that goes out are words to whoever asks.
        impact=Impact.SPEECH,
        effect=Effect.PURE,
        arguments=argument_class_of_turn_schema(json.dumps(tool.parameters)),
        run=_refuse,
        descriptions={
            language: _TEXTS["description"][language].format(tool=tool.name, said=tool.description)
            for language in Language
        },
        sentences={
            language: _escape(_TEXTS["sentence"][language].format(tool=tool.name))
            for language in Language
        },
        touches=_excerpt,
        outside=True,
    )


def _escape(sentence: str) -> str:
    return sentence.replace("{", "{{").replace("}", "}}")


def _refuse(_arguments: BaseModel, _context: ActionContext) -> ActionResult:
    return ActionResult.failure("only the program that asks can run this")


def _excerpt(arguments: BaseModel) -> str:
    return one_line(arguments.model_extra or {}, _SHOWN)
