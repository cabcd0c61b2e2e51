"""Worker: what becomes of an interaction after the door has queued it.

What it asks for is done once, however often its message comes; what cannot be done soon is told.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from opencrab.domain.discord.community import InteractionReply
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.errors import (
    Changed,
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    Unavailable,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.discord.agent_lookup import AgentQuery, is_discord_user_admitted
from opencrab.gateways.discord.interactions import (
    ask_command,
    buttons,
    session_command,
    task_command,
)
from opencrab.gateways.discord.interactions.acks import EPHEMERAL
from opencrab.gateways.discord.interactions.ask_command import KEPT, AskIntent
from opencrab.gateways.discord.interactions.autocomplete import refresh_discord_autocomplete
from opencrab.gateways.discord.interactions.interaction import (
    Interaction,
    Kind,
    Target,
    parse_interaction,
)
from opencrab.gateways.discord.text.sentences import discord_problem_text, discord_sentence
from opencrab.gateways.discord.views.view_commands import ANSWERS
from opencrab.ports.clock import Clock
from opencrab.ports.discord import Discord, Payload
from opencrab.ports.documents import Documents
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

log = logging.getLogger(__name__)

TRIES = 5
"""Deliveries until it is told that something cannot be done now; they take half a minute."""

_BACKOFF_SECONDS = 2

TOLD = "discord_told"
"""The kind of facts that say which presses of a button were answered beside the message."""

COMMANDS: Mapping[str, Callable[[AgentQuery], Payload | None]] = {
    "ask": ask_command.ask_agent_by_interaction,
    "task": task_command.run_discord_task_command,
    "session start": session_command.run_session_start_interaction,
    "session join": session_command.run_session_join_interaction,
    "session leave": session_command.run_session_leave_interaction,
    "session status": session_command.run_session_status_interaction,
    "session end": session_command.run_session_end_interaction,
    "session speak-freely": session_command.run_session_speak_freely_interaction,
    **ANSWERS,
}
"""By name; what answers nothing is answered later, through its channel."""

MENUS: Mapping[str, Callable[[AgentQuery, Target], Payload | None]] = {
    "Ask about this": ask_command.ask_about_message_by_interaction,
    "Remember this": ask_command.remember_message_by_interaction,
}


def handle_interaction(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    """Handle an interaction; handling a redelivered one again has no further effect."""
    discord, queue = runtime.discord, runtime.home.interactions
    try:
        interaction = parse_interaction(delivery.body)
    except Invalid as error:
        return _bury_delivery(queue, delivery, error.message)
    if discord is None or queue is None:
        return _bury_delivery(queue, delivery, "Discord is disabled")
    if delivery.count > TRIES:
        return _given_up(runtime, discord, queue, interaction, delivery)
    try:
        _answer_interaction(runtime, discord, interaction)
    except Unavailable as error:
        log.warning(
            "interaction failed, retrying: id=%s, error=%s", interaction.reply.id, error.message
        )
        if delivery.count >= TRIES:
            return _given_up(runtime, discord, queue, interaction, delivery)
        queue.continue_later(delivery.receipt, _BACKOFF_SECONDS**delivery.count)
        return MessageOutcome.CONTINUE
    return MessageOutcome.FINISHED


def _bury_delivery(queue: Queue | None, delivery: Delivery, why: str) -> MessageOutcome:
    """Move an interaction that cannot be handled to the dead-letter queue."""
    log.warning(
        "interaction moved to the dead-letter queue: group=%s, reason=%s", delivery.group, why
    )
    if queue is not None:
        queue.dead_letter(delivery.body, group=delivery.group, reason=why)
    return MessageOutcome.FINISHED


def _answer_interaction(runtime: Runtime, discord: Discord, interaction: Interaction) -> None:
    try:
        payload = _answer(runtime, interaction)
    except Unavailable:
        raise
    except OpenCrabError as error:
        payload = {"content": discord_problem_text(error, interaction.reply.language)}
    if payload is not None:
        _send(runtime.home.facts, runtime.clock, discord, interaction, payload)
    if interaction.kind is Kind.COMMAND:
        with suppress(OpenCrabError):
            refresh_discord_autocomplete(runtime)


def _answer(runtime: Runtime, interaction: Interaction) -> Payload | None:
    """Carry out an interaction; returns the reply, if any. Raises any OpenCrabError."""
    reply = interaction.reply
    said = interaction.name, interaction.options, interaction.person
    asked = AgentQuery(runtime, *said, reply, interaction.files)
    if not is_discord_user_admitted(asked):
        key = "private" if reply.guild_id is None else "guild"
        raise Refused(
            discord_sentence(reply.language, key),
            cure=discord_sentence(reply.language, f"{key}_cure"),
        )
    match interaction.kind:
        case Kind.COMMAND:
            menu, command = MENUS.get(asked.name), COMMANDS.get(asked.name)
            if menu is not None and interaction.target is not None:
                return menu(asked, interaction.target)
            if command is not None:
                return command(asked)
            raise NotFound(
                discord_sentence(reply.language, "unknown"),
                cure=discord_sentence(reply.language, "unknown_cure"),
            )
        case Kind.COMPONENT:
            return buttons.press_interaction_button(asked, interaction)
        case Kind.MODAL:
            return buttons.submit_interaction_form(asked, interaction)


def _send(
    facts: Documents, clock: Clock, discord: Discord, interaction: Interaction, payload: Payload
) -> None:
    """Send the reply: for a button as a follow-up, else in place of the acknowledgement.

    Raises Unavailable.
    """
    try:
        _send_reply(facts, clock, discord, interaction, payload)
    except Unavailable:
        raise
    except Invalid as error:
        log.warning(
            "Discord rejected a reply: id=%s, error=%s", interaction.reply.id, error.message
        )
        with suppress(OpenCrabError):
            _send_reply(facts, clock, discord, interaction, _apology(interaction))
    except OpenCrabError as error:
        log.warning(
            "cannot reply to an interaction: id=%s, error=%s", interaction.reply.id, error.message
        )


def _send_reply(
    facts: Documents, clock: Clock, discord: Discord, interaction: Interaction, payload: Payload
) -> None:
    if interaction.kind is Kind.COMPONENT:
        _whisper(facts, clock, discord, interaction.reply, payload)
    else:
        discord.edit_reply(interaction.reply, payload)


def _whisper(
    facts: Documents, clock: Clock, discord: Discord, reply: InteractionReply, payload: Payload
) -> None:
    """Reply to the user who pressed a button, to them only, and at most once."""
    until = clock.now() + KEPT
    mark = new_fact(INSTALLATION_FACTS, TOLD, reply.id, AskIntent(), expires_at=until)
    try:
        facts.commit(mark)
    except Changed:
        return
    try:
        discord.follow_up(reply, {**payload, "flags": EPHEMERAL})
    except NeverSent:
        facts.commit(mark.removed())
        raise
    except Unavailable as error:
        log.warning(
            "unknown if the reply to a button was sent: id=%s, error=%s", reply.id, error.message
        )


def _given_up(
    runtime: Runtime, discord: Discord, queue: Queue, interaction: Interaction, delivery: Delivery
) -> MessageOutcome:
    """Tell the user that the interaction failed, and move it to the dead-letter queue."""
    with suppress(OpenCrabError):
        _send_reply(runtime.home.facts, runtime.clock, discord, interaction, _apology(interaction))
    reason = f"failed after {delivery.count} deliveries"
    queue.dead_letter(delivery.body, group=delivery.group, reason=reason)
    return MessageOutcome.FINISHED


def _apology(interaction: Interaction) -> Payload:
    return {"content": f"⚠️ {discord_sentence(interaction.reply.language, 'given_up')}"}
