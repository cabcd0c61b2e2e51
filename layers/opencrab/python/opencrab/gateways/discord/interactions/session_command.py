"""Sessions: a channel's conversation is started, joined, left, looked at and ended."""

from contextlib import suppress

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.session import PARTICIPANTS, Session, SessionStatus
from opencrab.domain.errors import Invalid, NotFound, Refused
from opencrab.engine.access.session_access import record_access_speaking_freely
from opencrab.engine.conversation import channel_bindings
from opencrab.engine.conversation.channel_bindings import (
    conversation_bound_to_channel,
    open_conversation_of_channel,
)
from opencrab.engine.discord.presence import discord_presence
from opencrab.gateways.discord.agent_lookup import (
    AgentQuery,
    agent_seen_again_on_discord,
    agents_placed_in_discord_channel,
    discord_channel_session_settings,
    is_trusted_discord_user,
    place_of_discord_channel,
    resolve_agent_on_discord,
)
from opencrab.gateways.discord.interactions.ask_command import AskIntent, ask_intent_of_interaction
from opencrab.gateways.discord.text.embeds import cut_discord_text, escape_discord_markdown
from opencrab.gateways.discord.text.sentences import CONTENT, discord_sentence
from opencrab.ports.discord import Payload

_THEME = 500


def run_session_start_interaction(asked: AgentQuery) -> Payload | None:
    """Begin a new session in the channel, which replaces the current one.

    Without an agent it includes all agents placed in the channel. Agents follow a theme as their
    own, so only a user whom all of them trust may set one. Raises Refused, NotFound, Invalid.
    """
    theme = str(asked.options.get("theme", "")).strip()
    if len(theme) > _THEME:
        cure = discord_sentence(asked.language, "theme_cure", most=_THEME)
        raise Invalid(discord_sentence(asked.language, "theme_long"), field="theme", cure=cure)
    errand = ask_intent_of_interaction(asked.runtime, asked.reply, lambda: _to_start(asked, theme))
    session = asked.runtime.home.sessions.get(str(errand.session_id))
    return _session_reply(asked, "started", session, theme=True)


def run_session_join_interaction(asked: AgentQuery) -> Payload | None:
    """Add an agent to the channel's session, which is opened if there is none.

    Raises Refused if others opened the session, or it has a theme, unless the agent trusts the
    user.
    """
    errand = ask_intent_of_interaction(asked.runtime, asked.reply, lambda: _to_join(asked))
    seen = agent_seen_again_on_discord(asked.runtime.home, str(errand.agent_id))
    session = open_conversation_of_channel(
        asked.runtime,
        place_of_discord_channel(asked),
        discord_channel_session_settings(asked, seen),
    )
    return _session_reply(
        asked, "joined", session, name=escape_discord_markdown(seen[0].identity.name)
    )


def run_session_leave_interaction(asked: AgentQuery) -> Payload | None:
    """Remove an agent from the session; removing the last one ends it. Raises Refused, NotFound."""
    runtime = asked.runtime
    errand = ask_intent_of_interaction(runtime, asked.reply, lambda: _to_leave(asked))
    agent_id, session = str(errand.agent_id), runtime.home.sessions.get(str(errand.session_id))
    if agent_id in session.agent_ids and session.status is SessionStatus.ACTIVE:
        with suppress(NotFound):
            channel_bindings.leave_channel_conversation(
                runtime.home, runtime.clock, place_of_discord_channel(asked), agent_id
            )
    return {"content": discord_sentence(asked.language, "left", name=_name(asked, agent_id))}


def run_session_end_interaction(asked: AgentQuery) -> Payload | None:
    """End the channel's session; raises Refused unless the user opened it or owns its agents."""
    errand = ask_intent_of_interaction(asked.runtime, asked.reply, lambda: _to_end(asked))
    asked.runtime.home.sessions.end(str(errand.session_id), asked.runtime.clock.now())
    return {"content": discord_sentence(asked.language, "ended")}


def run_session_speak_freely_interaction(asked: AgentQuery) -> Payload | None:
    """Let agents use private memories in the channel's session, or end that with `off`.

    Raises Refused unless the user owns OpenCrab or all agents of the session.
    """
    session = _here(asked)
    _require_owner(asked, session, "freely_refused")
    freely = asked.options.get("off") is not True
    record_access_speaking_freely(asked.runtime.home.facts, session.id, speaks_freely=freely)
    key = "speaks_freely" if freely else "speaks_with_care"
    return {"content": discord_sentence(asked.language, key)}


def run_session_status_interaction(asked: AgentQuery) -> Payload | None:
    """Show the participants and turns of the channel's session, and the phase of a discussion."""
    session = _here(asked)
    turns = session.turn_number
    if not session.discusses:
        return _session_reply(asked, "status", session, theme=True, turns=turns)
    phase = discord_sentence(asked.language, session.phase.value)
    return _session_reply(
        asked, "status_of_discussion", session, theme=True, turns=turns, phase=phase
    )


def _to_start(asked: AgentQuery, theme: str) -> AskIntent:
    named = asked.options.get("agent") is not None
    seen = () if named else agents_placed_in_discord_channel(asked)[:PARTICIPANTS]
    current = conversation_bound_to_channel(asked.runtime.home, place_of_discord_channel(asked))
    if current is not None:
        _require_rule(asked, current)
    seen = seen or (resolve_agent_on_discord(asked),)
    if theme and not all(is_trusted_discord_user(asked, presence) for _, presence in seen):
        cure = discord_sentence(asked.language, "theme_refused_cure")
        raise Refused(discord_sentence(asked.language, "theme_refused"), cure=cure)
    opened = discord_channel_session_settings(asked, *seen, theme=theme)
    session = open_conversation_of_channel(
        asked.runtime, place_of_discord_channel(asked), opened, key=asked.reply.id
    )
    return AskIntent(session_id=session.id)


def _to_join(asked: AgentQuery) -> AskIntent:
    profile, presence = resolve_agent_on_discord(asked)
    current = conversation_bound_to_channel(asked.runtime.home, place_of_discord_channel(asked))
    if current is not None and profile.agent.id not in current.agent_ids:
        is_own = current.created_by == asked.person.principal_id and not current.theme
        if not is_own and not is_trusted_discord_user(asked, presence):
            raise Refused(
                discord_sentence(
                    asked.language,
                    "join_refused",
                    name=escape_discord_markdown(profile.identity.name),
                )
            )
    return AskIntent(agent_id=profile.agent.id)


def _to_leave(asked: AgentQuery) -> AskIntent:
    profile, presence = resolve_agent_on_discord(asked)
    session = _here(asked)
    is_own = session.created_by == asked.person.principal_id
    if not is_own and not is_trusted_discord_user(asked, presence):
        raise Refused(
            discord_sentence(
                asked.language, "leave_refused", name=escape_discord_markdown(profile.identity.name)
            )
        )
    return AskIntent(agent_id=profile.agent.id, session_id=session.id)


def _to_end(asked: AgentQuery) -> AskIntent:
    session = _here(asked)
    _require_rule(asked, session)
    return AskIntent(session_id=session.id)


def _here(asked: AgentQuery) -> Session:
    session = conversation_bound_to_channel(asked.runtime.home, place_of_discord_channel(asked))
    if session is None:
        cure = discord_sentence(asked.language, "no_session_cure")
        raise NotFound(discord_sentence(asked.language, "no_session"), cure=cure)
    return session


def _require_rule(asked: AgentQuery, session: Session) -> None:
    """Raise Refused unless the user opened the session, or owns OpenCrab or all its agents."""
    if session.created_by != asked.person.principal_id:
        _require_owner(asked, session, "session_refused")


def _require_owner(asked: AgentQuery, session: Session, refused: str) -> None:
    """Raise Refused with this sentence unless the user owns OpenCrab or all its agents."""
    if asked.authority(None) is Authority.OWNER:
        return
    presences = (discord_presence(asked.runtime.home.facts, each) for each in session.agent_ids)
    if not all(asked.authority(each) is Authority.OWNER for each in presences):
        raise Refused(discord_sentence(asked.language, refused))


def _session_reply(
    asked: AgentQuery, key: str, session: Session, *, theme: bool = False, **values: object
) -> Payload:
    names = ", ".join(_name(asked, each) for each in session.agent_ids)
    told = discord_sentence(asked.language, key, names=names, **values)
    if theme and session.theme:
        told += "\n" + discord_sentence(
            asked.language, "theme", theme=escape_discord_markdown(session.theme)
        )
    return {"content": cut_discord_text(told, CONTENT)}


def _name(asked: AgentQuery, agent_id: str) -> str:
    try:
        return escape_discord_markdown(asked.runtime.home.agents.get(agent_id).identity.name)
    except NotFound:
        return agent_id
