"""Pressing: what a button or a form means, by its custom id.

What hangs on an old message and is known no more changes nothing.
"""

import logging
from collections.abc import Mapping
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.approvals.buttons import (
    ApprovalButtonKind,
    data_of_approval_buttons,
    read_approval_button,
)
from opencrab.domain.discord.community import KIND, discord_address
from opencrab.domain.errors import Conflict, NotFound, OpenCrabError, Refused, Unavailable
from opencrab.domain.turn.turn import Turn
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.discord.presence import discord_presence
from opencrab.engine.discord.reactions import may_give_discord_feedback
from opencrab.engine.learning import feedback
from opencrab.engine.learning.feedback import Thumbs
from opencrab.gateways.discord.agent_lookup import AgentQuery
from opencrab.gateways.discord.interactions import task_command
from opencrab.gateways.discord.interactions.acks import STEERING_TEXT
from opencrab.gateways.discord.interactions.interaction import Interaction, Shown
from opencrab.gateways.discord.interactions.stop_button import press_stop_button
from opencrab.gateways.discord.text.embeds import (
    cut_discord_text,
    discord_text_length,
    escape_discord_markdown,
)
from opencrab.gateways.discord.text.sentences import CONTENT, discord_sentence
from opencrab.gateways.discord.views.approvals import show_approval_on_discord
from opencrab.ports.discord import Payload

log = logging.getLogger(__name__)

_DEPTH = 8
_THUMBS: dict[str, Thumbs] = {"u": "up", "d": "down"}


def press_interaction_button(asked: AgentQuery, interaction: Interaction) -> Payload | None:
    """Carry out a button; returns a message for the user who pressed it, if any.

    Raises Refused, NotFound and Conflict, which that user is shown as well.
    """
    if (press := read_approval_button(interaction.custom_id)) is not None:
        if press.kind is ApprovalButtonKind.SHOW:
            return _open(asked, interaction.shown, press.approval_id)
        shown_hash = press.shown_hash
        return _decide(asked, interaction.shown, press.approval_id, shown_hash=shown_hash)
    match interaction.custom_id.split(":"):
        case ["oc", "fb", turn_id, "u" | "d" as thumb]:
            return _feedback(asked, turn_id, _THUMBS[thumb])
        case ["oc", "sp", turn_id]:
            return press_stop_button(asked, turn_id)
        case ["oc", "cn" | "pa" | "re" as what, agent_id, goal_id]:
            return task_command.press_task_button(asked, what, agent_id, goal_id)
    return None


def submit_interaction_form(asked: AgentQuery, interaction: Interaction) -> Payload | None:
    """Handle a form; returns a message for its sender. Raises Refused, NotFound and Conflict."""
    match interaction.custom_id.split(":"):
        case ["oc", "sm", agent_id, goal_id]:
            text = interaction.values.get(STEERING_TEXT, "")
            return task_command.steer_task_by_interaction(asked, agent_id, goal_id, text)
    return None


def button_used_up(
    components: tuple[Mapping[str, Any], ...], begin: str, depth: int = 0
) -> list[dict[str, Any]]:
    """Return copies of the components; those whose custom id starts with `begin` are disabled."""
    switched = []
    for component in components:
        changed = dict(component)
        if str(component.get("custom_id", "")).startswith(begin):
            changed["disabled"] = True
        inner = component.get("components")
        if isinstance(inner, list) and depth < _DEPTH:
            known = tuple(each for each in inner if isinstance(each, dict))
            changed["components"] = button_used_up(known, begin, depth + 1)
        switched.append(changed)
    return switched


def _open(asked: AgentQuery, shown: Shown, approval_id: str) -> Payload | None:
    """Show the whole call of an approval to the user; close the message if it was decided."""
    approval = _find_or_close(asked, shown, approval_id)
    if approval is None:
        return None
    if approval.state is not ApprovalState.PENDING:
        outcome = _outcome(asked, approval)
        _close(asked, shown, approval_id, outcome)
        return {"content": outcome}
    try:
        return show_approval_on_discord(asked, approval)
    except Refused as error:
        raise Refused(discord_sentence(asked.language, "approval_refused")) from error


def _find_or_close(asked: AgentQuery, shown: Shown, approval_id: str) -> Approval | None:
    """Return an approval; None, with its message closed, if it is gone."""
    try:
        return approvals.find_approval(asked.runtime.home.facts, approval_id)
    except NotFound:
        _close(asked, shown, approval_id, discord_sentence(asked.language, "approval_gone"))
        return None


def _decide(
    asked: AgentQuery, shown: Shown, approval_id: str, *, shown_hash: str | None
) -> Payload | None:
    """Approve the call with the shown hash, or reject without one, and close the message.

    If it was already decided, tell the user.
    """
    runtime, person = asked.runtime, asked.person
    approval = _find_or_close(asked, shown, approval_id)
    if approval is None:
        return None
    is_owner = (
        asked.authority(discord_presence(runtime.home.facts, approval.agent_id)) is Authority.OWNER
    )
    name = f"{person.name} ({person.principal_id})"
    who = Decider(id=person.principal_id, is_owner=is_owner, name=name)
    late: OpenCrabError | None = None
    try:
        approval = approvals.decide_approval(
            runtime,
            approval_id,
            approved=shown_hash is not None,
            who=who,
            shown_hash=shown_hash,
        )
    except Refused as error:
        raise Refused(discord_sentence(asked.language, "approval_refused")) from error
    except Conflict as error:
        if error.field == "argument_hash":
            raise Conflict(discord_sentence(asked.language, "approval_changed")) from error
        approval, late = approvals.find_approval(runtime.home.facts, approval_id), error
    if approval.state is ApprovalState.PENDING:
        raise Conflict(discord_sentence(asked.language, "approval_busy")) from late
    outcome = _outcome(asked, approval)
    _close(asked, shown, approval_id, outcome)
    return None if late is None else {"content": outcome}


def _outcome(asked: AgentQuery, approval: Approval) -> str:
    return discord_sentence(
        asked.language, approval.state.value, by=escape_discord_markdown(approval.by or "")
    )


def _close(asked: AgentQuery, shown: Shown, approval_id: str, outcome: str) -> None:
    """Show the decision in the message of an approval, and disable its buttons."""
    if asked.runtime.discord is None:
        return
    room = CONTENT - discord_text_length(outcome) - 2
    content = "\n\n".join(filter(None, (cut_discord_text(shown.content, room), outcome)))
    components = button_used_up(shown.components, data_of_approval_buttons(approval_id))
    message = {"content": content, "components": components}
    try:
        asked.runtime.discord.edit_reply(asked.reply, message)
    except Unavailable:
        raise
    except OpenCrabError as error:
        log.warning(
            "cannot update the Discord message of an approval: approval=%s, error=%s",
            approval_id,
            error.message,
        )


def _feedback(asked: AgentQuery, turn_id: str, thumbs: Thumbs) -> Payload | None:
    runtime, language = asked.runtime, asked.language
    turn = runtime.home.journal.header(turn_id)
    if not _was_heard_here(asked, turn):
        raise Refused(discord_sentence(language, "feedback_refused"))
    name = escape_discord_markdown(runtime.home.agents.get(turn.agent_id).identity.name)
    if not may_give_discord_feedback(runtime, asked.person, turn.agent_id):
        raise Refused(discord_sentence(language, "feedback_public", name=name))
    by, key = asked.person.principal_id, asked.person.id
    is_owner = (
        asked.authority(discord_presence(runtime.home.facts, turn.agent_id)) is Authority.OWNER
    )
    if not turn.status.is_end:
        raise Conflict(discord_sentence(language, "feedback_early"))
    try:
        feedback.give_feedback(
            runtime, turn_id, by=by, thumbs=thumbs, remark="", key=key, by_owner=is_owner
        )
    except Conflict as error:
        raise Conflict(discord_sentence(language, "feedback_before")) from error
    return {"content": discord_sentence(language, "thanks", name=name)}


def _was_heard_here(asked: AgentQuery, turn: Turn) -> bool:
    """Check whether the turn replied to this channel, where the user may ask its agent."""
    channel, reply = turn.channel, asked.reply
    if channel is None or channel.kind != KIND or discord_address(channel)[0] != reply.channel_id:
        return False
    presence = discord_presence(asked.runtime.home.facts, turn.agent_id)
    return presence is None or presence.may_be_asked(reply.channel_id, reply.guild_id)
