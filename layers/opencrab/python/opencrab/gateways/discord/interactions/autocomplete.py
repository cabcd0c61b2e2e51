"""Choices: the agents and models that are offered while somebody types.

They are kept as one fact: the door has a second and a half, and reads nothing else.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from opencrab.domain.discord.community import Presence
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Unavailable, UnreadableValue
from opencrab.domain.value import Value
from opencrab.engine.discord.presence import discord_presences
from opencrab.engine.runtime import Runtime
from opencrab.gateways.discord.agent_lookup import living_agents_for_discord
from opencrab.gateways.discord.interactions.acks import CHOICES_ID, CHOICES_KIND
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home

MOST = 500
MOST_SPOTS = 20
MOST_BYTES = 300_000
"""An agent in more channels is not offered, nor one that does not fit into the fact any more; both
are named by hand. DynamoDB keeps 400 KB."""

GOOD_FOR = timedelta(seconds=60)

_CHARACTERS = 100
"""Characters of a choice, in Discord's limits: what is longer is typed by hand."""


class Choice(Value):
    """A choice of an option; `channels` are the only ones where it is offered, if any are named."""

    id: str
    name: str
    channels: tuple[str, ...] = ()


class Choices(Value):
    """The choices at a time; if `guilds` are named, other servers are offered nothing."""

    guilds: tuple[str, ...] = ()
    agents: tuple[Choice, ...] = ()
    models: tuple[Choice, ...] = ()
    at: datetime


def read_discord_autocomplete_cache(facts: Documents) -> dict[str, Any] | None:
    """Return the stored choices as JSON, or None."""
    fact = _stored_choices(facts)
    return None if fact is None else fact.body


def refresh_discord_autocomplete(runtime: Runtime) -> bool:
    """Store the current choices, unless the stored ones are younger than a minute.

    Returns whether they were stored; if several processes do so at once, one succeeds.
    """
    kept, now = _stored_choices(runtime.home.facts), runtime.clock.now()
    guilds = runtime.community.guild_ids
    if kept is not None and _is_young(kept, now, guilds):
        return False
    without = Choices(guilds=guilds, models=tuple(_models(runtime)), at=now)
    agents = _fitting(_agents(runtime.home), MOST_BYTES - _size(without))
    choices = without.replaced(agents=tuple(agents))
    fresh = new_fact(INSTALLATION_FACTS, CHOICES_KIND, CHOICES_ID, choices)
    with suppress(Changed):
        runtime.home.facts.commit(fresh if kept is None else kept.with_body(choices))
        return True
    return False


def _stored_choices(facts: Documents) -> Document | None:
    return facts.get(INSTALLATION_FACTS, CHOICES_KIND, CHOICES_ID)


def _is_young(kept: Document, now: datetime, guilds: tuple[str, ...]) -> bool:
    """Check whether the stored choices are fresh; those of another version are not."""
    try:
        known = kept.read(Choices)
    except UnreadableValue:
        return False
    return known.guilds == guilds and now < known.at + GOOD_FOR


def _agents(home: Home) -> Iterator[Choice]:
    at = {presence.agent_id: presence for presence in discord_presences(home.facts)}
    for profile in islice(living_agents_for_discord(home.agents), MOST):
        agent = profile.agent
        channels = _channels(at.get(agent.id))
        if len(channels) <= MOST_SPOTS:
            yield Choice(id=agent.id, name=agent.name, channels=channels)


def _fitting(choices: Iterator[Choice], left: int) -> Iterator[Choice]:
    """Return the choices that fit together into so many bytes."""
    for choice in choices:
        size = _size(choice) + 1
        if size <= left:
            left -= size
            yield choice


def _size(value: Value) -> int:
    return len(value.model_dump_json().encode())


def _channels(presence: Presence | None) -> tuple[str, ...]:
    return () if presence is None else tuple(spot.channel_id for spot in presence.spots)


def _models(runtime: Runtime) -> Iterator[Choice]:
    """Return the aliases, then all models of configured providers, if this process knows them."""
    names = list[str]()
    with suppress(Unavailable):
        runtime.models.refresh(runtime.home.preferences.get().version)
        names += sorted(runtime.models.routing.aliases)
    if runtime.directory is not None:
        ready = {each.name for each in runtime.directory.providers() if not each.missing}
        names += sorted(info.name for info in runtime.directory.infos() if info.provider in ready)
    fitting = (name for name in dict.fromkeys(names) if len(name) <= _CHARACTERS)
    return (Choice(id=name, name=name) for name in islice(fitting, MOST))
