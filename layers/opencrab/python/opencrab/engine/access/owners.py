"""Owners: which of these principals may read everything anyway."""

from collections.abc import Iterable

from opencrab.domain.access.authority import Authority, Scope, chat_principal_id
from opencrab.domain.discord.community import PRESENCE, Person, Presence, discord_authority
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.engine.runtime import Runtime

_DISCORD = "discord-"


def owners_among_principals(
    runtime: Runtime, principal_ids: Iterable[str], agent_id: str
) -> frozenset[str]:
    """Return those principals who are owners of an agent, by their API keys or ids of others.

    Asks the store once for keys and once for Discord, and only if somebody is in question.
    """
    asked = frozenset(principal_ids)
    on_discord = frozenset(each for each in asked if each.startswith(_DISCORD))
    found = _discord_owners(runtime, on_discord, agent_id) if on_discord else frozenset()
    if runtime.chats:
        found |= asked & _chat_owners(runtime)
    if asked <= on_discord | found:
        return found
    keys = runtime.home.keys.list()
    owned = (key for key in keys if key.scope is Scope.OWNER and key.revoked_at is None)
    return found | (asked & {key.principal.id for key in owned})


def _discord_owners(runtime: Runtime, asked: frozenset[str], agent_id: str) -> frozenset[str]:
    fact = runtime.home.facts.get(INSTALLATION_FACTS, PRESENCE, agent_id)
    presence = None if fact is None else fact.read(Presence)
    people = (Person(id=each.removeprefix(_DISCORD), name=each) for each in asked)
    return frozenset(
        person.principal_id
        for person in people
        if discord_authority(person, runtime.community, presence) is Authority.OWNER
    )


def _chat_owners(runtime: Runtime) -> frozenset[str]:
    """Return the principals of owners on chat services, who are owners of every agent."""
    return frozenset(
        chat_principal_id(kind, user_id)
        for kind, chat in runtime.chats.items()
        for user_id in chat.people.owner_ids
    )
