"""Discord: is it set up, which commands are registered, who listens where, and what was heard.

Ordinary messages and reactions do not reach Discord's interactions: the relay brings them here.
"""

from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Header, Query, Request, Response

from opencrab.domain.discord.community import Presence, Snowflake
from opencrab.domain.value import Value
from opencrab.engine.discord import ambient_messages, diagnosis, presence, reactions, setup
from opencrab.engine.discord.setup import BotApplication, Difference, Invitation
from opencrab.gateways.rest.discord.views import (
    DoctorView,
    OverheardView,
    PresencePut,
    PresencesView,
    ReactedView,
)
from opencrab.gateways.rest.http.accept_language import preferred_language
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

DOOR = "/discord/interactions"
"""Where Discord sends interactions, on the same host as the API."""

router = routes_below("/api", "discord")

_Guild = Annotated[
    Snowflake | None, Query(description="only this server's commands; by default everywhere")
]


class CommandsPut(Value, defer_build=False):
    """Where the commands are to be registered."""

    guild_id: Snowflake | None = None


@router.get("/discord", summary="Is Discord set up?")
def get_discord(
    api: Api,
    _caller: Owner,
    request: Request,
    accept_language: Annotated[str | None, Header(description="the language of the advice")] = None,
) -> DoctorView:
    """Look at token, keys, endpoint, commands and permissions, and say what to click."""
    application = _with_default_endpoint(api.discord, str(request.base_url))
    language = preferred_language(accept_language or "")
    return DoctorView(checks=diagnosis.diagnose_discord(api.runtime, application, language))


@router.get("/discord/commands", summary="Which commands are registered?")
def get_discord_commands(api: Api, _caller: Owner, guild_id: _Guild = None) -> Difference:
    """How the commands that Discord has differ from those that it should have."""
    return setup.command_registration_difference(api.runtime.discord, api.discord, guild_id)


@router.put("/discord/commands", summary="Register the commands")
def put_discord_commands(api: Api, _caller: Owner, body: Strict[CommandsPut]) -> Difference:
    """Put our commands in place of all that are registered there; answers what that changed."""
    return setup.register_commands(api.runtime.discord, api.discord, body.guild_id)


@router.get("/discord/invite", summary="Links to invite the bot")
def invite_discord(api: Api, _caller: Owner) -> Invitation:
    """The links by which the bot comes to a server, or along with one user."""
    return setup.bot_invitation(api.runtime.discord, api.discord)


@router.get("/discord/presences", summary="Who is on Discord?")
def list_discord_presences(api: Api, _caller: Owner) -> PresencesView:
    """What every agent is on Discord for which something is kept."""
    return PresencesView(items=presence.discord_presences(api.runtime.home.facts))


@router.get("/agents/{agent_id}/discord", summary="What is an agent on Discord?")
def get_agent_discord(api: Api, _caller: Owner, agent_id: Id) -> Presence:
    """Where an agent takes part, and who is who to it; the defaults where nothing is kept."""
    api.runtime.home.agents.get(agent_id)
    return presence.discord_presence(api.runtime.home.facts, agent_id) or Presence(
        agent_id=agent_id
    )


@router.put("/agents/{agent_id}/discord", summary="Set what an agent is on Discord")
def put_agent_discord(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[PresencePut]
) -> Presence:
    """Replace where an agent takes part, and who is who to it; it counts at once."""
    return presence.save_discord_presence(
        api.runtime.home, Presence(agent_id=agent_id, **dict(body))
    )


@router.delete("/agents/{agent_id}/discord", summary="Let an agent be nothing special on Discord")
def delete_agent_discord(api: Api, _caller: Owner, agent_id: Id) -> Presence:
    """Keep nothing of an agent any more: it can be asked anywhere, and speaks up nowhere."""
    presence.delete_discord_presence(api.runtime.home, agent_id)
    return Presence(agent_id=agent_id)


@router.post(
    "/discord/messages",
    status_code=202,
    response_model=OverheardView,
    summary="Bring an ordinary message",
)
def bring_discord_message(
    api: Api, _caller: Owner, once: Repeatable, body: Strict[ambient_messages.Said]
) -> Response:
    """Let the agents that it concerns answer in its channel; the same message again is one turn."""

    def make() -> OverheardView:
        setup.require_discord(api.runtime.discord)
        found = ambient_messages.answer_ambient_message(
            api.runtime, body, own_ids=_own_ids(api.discord)
        )
        return OverheardView.of(found)

    return once.answer(body, make, status=202)


@router.post("/discord/reactions", response_model=ReactedView, summary="Bring a reaction")
def bring_discord_reaction(
    api: Api, _caller: Owner, once: Repeatable, body: Strict[reactions.Reaction]
) -> Response:
    """Keep a thumb under one of our messages as feedback on the turn that wrote it, if known."""

    def make() -> ReactedView:
        found = reactions.record_reaction(api.runtime, body, own_ids=_own_ids(api.discord))
        return ReactedView(turn_id=found.turn_id, reason=found.unused)

    return once.answer(body, make)


def _own_ids(application: BotApplication) -> frozenset[str]:
    """A bot's id is its application's, for all that were made since 2016."""
    return frozenset({application.application_id})


def _with_default_endpoint(application: BotApplication, base_url: str) -> BotApplication:
    """The application with its endpoint, where this installation is known by a public address."""
    address = urlsplit(base_url)
    if application.endpoint is not None or address.scheme != "https":
        return application
    return replace(application, endpoint=f"https://{address.netloc}{DOOR}")
