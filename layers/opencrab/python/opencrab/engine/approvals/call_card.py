"""Call cards: everything that a human must see of a call before deciding about it.

Whatever shows an approval takes it from here: the exact arguments, the change that the call makes
to what is there now, and the hash that its approval is bound to.
"""

from dataclasses import dataclass
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.approval import Approval
from opencrab.domain.approvals.call_text import (
    TextChange,
    approval_call_arguments,
    approval_question_with_call,
    unified_diff_for_approval,
)
from opencrab.domain.errors import NotFound, OpenCrabError, Unavailable
from opencrab.domain.memory.clearance import NOTHING_WITHHELD
from opencrab.domain.text.message_split import split_text_to_limit
from opencrab.domain.turn.record import ActionCall, action_name_of_turn_call, arguments_of_turn_call
from opencrab.domain.value import Language
from opencrab.engine.approvals.approvals import ApprovalCall, call_awaiting_approval
from opencrab.engine.phrases import system_phrase
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.action import Action, ActionContext

_SEE_EVERYTHING = frozenset({Authority.OWNER, Authority.SELF})


@dataclass(frozen=True)
class CallCard:
    """A call as it will run: `text` are its arguments and `diff` its change, both visible.

    `replaces` says that something is there now which the call would change or remove.
    """

    arguments: dict[str, Any]
    argument_hash: str
    text: str
    diff: str = ""
    replaces: bool = False


def stored_approval_call_card(
    runtime: Runtime, approval: Approval, *, is_owner: bool
) -> CallCard | None:
    """Build the card of an approval; None if the records of its turn have expired.

    Who is no owner sees what is there now only if the owner or the agent itself asked: a user could
    have the agent ask for a call only to read what it would replace. Raises Unavailable.
    """
    awaiting = call_awaiting_approval(runtime.home, approval)
    if awaiting is None:
        return None
    action = runtime.actions.find(action_name_of_turn_call(awaiting.call))
    context = None if action is None else _context(runtime, approval, awaiting)
    if context is not None and not is_owner and context.turn.authority not in _SEE_EVERYTHING:
        context = None
    return call_card_for_approval(awaiting.call, action, context)


def call_card_for_approval(
    call: ActionCall, action: Action | None, context: ActionContext | None
) -> CallCard:
    """Build the card of a call; without a context it shows no change. Raises Unavailable."""
    arguments = arguments_of_turn_call(call) or {}
    change = None
    if action is not None and context is not None:
        change = _change(action, arguments, context)
    return CallCard(
        arguments=arguments,
        argument_hash=call.argument_hash,
        text=approval_call_arguments(arguments),
        diff="" if change is None else unified_diff_for_approval(change),
        replaces=change is not None and change.before is not None,
    )


def approval_question_for_channel(
    card: CallCard, question: str, approval_id: str, language: Language
) -> str:
    """Return a question for a channel: with the whole call, or that it must be opened to decide.

    What is there now is not shown in a channel: not everybody there may read it.
    """
    whole = approval_question_with_call(question, card.text, card.argument_hash)
    if not card.replaces and split_text_to_limit(whole) == (whole,):
        return whole
    return f"{question}\n{system_phrase('open_to_decide', language, id=approval_id)}"


def _context(runtime: Runtime, approval: Approval, awaiting: ApprovalCall) -> ActionContext | None:
    """Return what the call's action may read; None if its session or agent is gone."""
    try:
        turn = runtime.home.journal.header(approval.turn_id)
        return ActionContext(
            agent=runtime.home.agents.get(approval.agent_id).agent,
            session=runtime.home.sessions.get(approval.session_id),
            turn=turn,
            key=f"{turn.id}-{awaiting.call.id}",
            reach=runtime.reach,
            clock=runtime.clock,
            actions=runtime.actions,
            clearance=NOTHING_WITHHELD,
            targets=awaiting.targets,
        )
    except NotFound:
        return None


def _change(action: Action, arguments: dict[str, Any], context: ActionContext) -> TextChange | None:
    """Read the change; None for an action without one, and for a call that will fail."""
    if action.change is None:
        return None
    try:
        return action.change(action.arguments.model_validate(arguments), context)
    except Unavailable:
        raise
    except (OpenCrabError, ValueError):
        return None
