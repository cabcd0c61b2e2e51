"""Discord: is it set up, which commands are registered, who listens where, and what was heard.

Ordinary messages and reactions do not reach Discord's interactions: the relay brings them here.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Header, Query, Request, Response

from opencrab.domain.discord.community import Presence, Snowflake
from opencrab.domain.errors import Unavailable
from opencrab.domain.value import Value
from opencrab.engine.approvals.signed_links import ensure_approval_link_secret
from opencrab.engine.discord import ambient_messages, diagnosis, presence, reactions, setup
from opencrab.engine.discord.setup import BotApplication, CommandsDifference, Invitation
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.discord.views import (
    DoctorView,
    OverheardView,
    PresencePut,
    PresencesView,
    ReactedView,
)
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.idempotency import Repeatable

DOOR = "/discord/interactions"
"""Where Discord sends interactions, on the same host as the API."""

router = http_routes_below("/api", "discord")

_Guild = Annotated[
    Snowflake | None, Query(description="the commands of this server; by default the global ones")
]


class CommandsPut(Value, defer_build=False):
    """The place where the commands are registered."""

    guild_id: Snowflake | None = None


@router.get("/discord")
def get_discord(
    api: Api,
    _caller: Owner,
    request: Request,
    accept_language: Annotated[str | None, Header(description="the language of the advice")] = None,
) -> DoctorView:
    """Check the setup of the Discord bot.

    Covers token, keys, endpoint, commands and permissions. Each failed check says what to do.
    """
    application = _with_default_endpoint(api.discord, str(request.base_url))
    language = language_of_http_request(accept_language or "")
    return DoctorView(checks=diagnosis.discord_setup_checks(api.runtime, application, language))


@router.get("/discord/commands")
def get_discord_commands(api: Api, _caller: Owner, guild_id: _Guild = None) -> CommandsDifference:
    """Compare registered with expected commands."""
    return setup.discord_registration_difference(api.runtime.discord, api.discord, guild_id)


@router.put("/discord/commands")
def put_discord_commands(api: Api, _caller: Owner, body: Strict[CommandsPut]) -> CommandsDifference:
    """Register the commands, replacing all registered ones.

    Returns what changed.
    """
    # Who presses a button gets a signed link, from a function that may not store secrets.
    with suppress(Unavailable):
        ensure_approval_link_secret(api.runtime)
    return setup.register_all_discord_commands(api.runtime.discord, api.discord, body.guild_id)


@router.get("/discord/invite")
def invite_discord(api: Api, _caller: Owner) -> Invitation:
    """Get links that invite the bot to a server or install it for one user."""
    return setup.discord_bot_invitation(api.runtime.discord, api.discord)


@router.get("/discord/presences")
def list_discord_presences(api: Api, _caller: Owner) -> PresencesView:
    """List stored Discord settings of all agents."""
    return PresencesView(items=presence.discord_presences(api.runtime.home.facts))


@router.get("/agents/{agent_id}/discord")
def get_agent_discord(api: Api, _caller: Owner, agent_id: Id) -> Presence:
    """Get an agent's Discord settings.

    They hold its channels, owners and known users. The defaults are returned if nothing is stored.
    """
    api.runtime.home.agents.get(agent_id)
    return presence.discord_presence(api.runtime.home.facts, agent_id) or Presence(
        agent_id=agent_id
    )


@router.put("/agents/{agent_id}/discord")
def put_agent_discord(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[PresencePut]
) -> Presence:
    """Replace an agent's Discord settings.

    They apply at once.
    """
    return presence.set_agent_discord_presence(
        api.runtime.home, Presence(agent_id=agent_id, **dict(body))
    )


@router.delete("/agents/{agent_id}/discord")
def delete_agent_discord(api: Api, _caller: Owner, agent_id: Id) -> Presence:
    """Delete an agent's Discord settings.

    The defaults apply again: the agent answers in any channel when asked and never posts on its
    own.
    """
    presence.remove_agent_discord_presence(api.runtime.home, agent_id)
    return Presence(agent_id=agent_id)


@router.post(
    "/discord/messages",
    status_code=202,
    response_model=OverheardView,
)
def bring_discord_message(
    api: Api, _caller: Owner, once: Repeatable, body: Strict[ambient_messages.ReceivedMessage]
) -> Response:
    """Deliver a channel message from the relay.

    The same message is processed once.
    """

    def make() -> OverheardView:
        setup.require_discord(api.runtime.discord)
        found = ambient_messages.answer_ambient_discord_message(
            api.runtime, body, own_ids=_own_ids(api.discord)
        )
        return OverheardView.of(found)

    return once.answer(body.without_addresses, make, status=202)


@router.post("/discord/reactions", response_model=ReactedView)
def bring_discord_reaction(
    api: Api, _caller: Owner, once: Repeatable, body: Strict[reactions.Reaction]
) -> Response:
    """Deliver a reaction from the relay.

    It is feedback on the turn that wrote the message, or stops the turns that answer it.
    """

    def make() -> ReactedView:
        found = reactions.record_discord_reaction(api.runtime, body, own_ids=_own_ids(api.discord))
        return ReactedView(turn_id=found.turn_id, reason=found.unused)

    return once.answer(body, make)


def _own_ids(application: BotApplication) -> frozenset[str]:
    """Return the bot's user ids: the application's id, for all bots made since 2016."""
    return frozenset({application.application_id})


def _with_default_endpoint(application: BotApplication, base_url: str) -> BotApplication:
    """Return the application with the endpoint of its public address, if none is configured."""
    address = urlsplit(base_url)
    if application.endpoint is not None or address.scheme != "https":
        return application
    return replace(application, endpoint=f"https://{address.netloc}{DOOR}")
