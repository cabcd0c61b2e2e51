"""Payloads: interactions as Discord words them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.discord.state import File, Message, Person, Place, attachment

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 2, 3, 4, 5
OPTION_TYPES = {bool: 5, int: 4, str: 3}


@dataclass(frozen=True)
class Asking:
    """Who asks, where, and in which language."""

    person: Person
    place: Place
    locale: str = "ja"


def body(
    asking: Asking, kind: int, ids: tuple[str, str, str], data: Mapping[str, Any]
) -> dict[str, Any]:
    """A whole interaction; the ids are the interaction's, its token and the application's."""
    interaction_id, token, application_id = ids
    place, person = asking.place, asking.person
    told: dict[str, Any] = {
        "id": interaction_id,
        "application_id": application_id,
        "type": kind,
        "token": token,
        "version": 1,
        "data": dict(data),
        "channel_id": place.channel_id,
        "channel": _channel(place),
        "locale": asking.locale,
        "context": place.context,
        "app_permissions": "0" if place.guest else "442368",
        "authorizing_integration_owners": _owners(place, person),
        "entitlements": [],
        "attachment_size_limit": 10_485_760,
    }
    if place.guild_id is None:
        return {**told, "user": person.user}
    guild = {"id": place.guild_id, "locale": "en-US", "features": []}
    there = {"guild_id": place.guild_id, "guild": guild, "guild_locale": "en-US"}
    return {**told, **there, "member": member(person)}


def command(
    name: str, options: Mapping[str, Any], command_id: str, *, focused: str | None = None
) -> dict[str, Any]:
    """The data of a chat command; `name` holds its subcommand too, as in `session start`."""
    first, *inner = name.split()
    told = [_option(key, value, key == focused) for key, value in options.items()]
    for each in reversed(inner):
        told = [{"name": each, "type": 1, "options": told}]
    data: dict[str, Any] = {"id": command_id, "name": first, "type": 1}
    if told:
        data["options"] = told
    people = {each.id: each.user for each in options.values() if isinstance(each, Person)}
    files = {x.id: attachment(x, command_id) for x in options.values() if isinstance(x, File)}
    resolved = {"users": people, "attachments": files}
    if people or files:
        data["resolved"] = {name: found for name, found in resolved.items() if found}
    return data


def menu(name: str, message: Message, command_id: str, application_id: str) -> dict[str, Any]:
    """The data of a message's context menu."""
    told = message.json(application_id)
    return {
        "id": command_id,
        "name": name,
        "type": 3,
        "target_id": message.id,
        "resolved": {"messages": {message.id: told}},
    }


def component(custom_id: str) -> dict[str, Any]:
    """The data of a pressed button."""
    return {"custom_id": custom_id, "component_type": 2, "id": 2}


def modal(shown: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """The data of a modal that was filled in."""
    rows = []
    for number, label in enumerate(shown["components"]):
        inner = label["component"]
        told = {"type": inner["type"], "id": 2 * number + 2, "custom_id": inner["custom_id"]}
        told["value"] = values.get(inner["custom_id"], inner.get("value", ""))
        rows.append({"type": 18, "id": 2 * number + 1, "component": told})
    return {"custom_id": shown["custom_id"], "components": rows}


def _option(name: str, value: Any, is_focused: bool) -> dict[str, Any]:  # noqa: FBT001
    if isinstance(value, Person):
        return {"name": name, "type": 6, "value": value.id}
    if isinstance(value, File):
        return {"name": name, "type": 11, "value": value.id}
    told = {"name": name, "type": OPTION_TYPES[type(value)], "value": value}
    return {**told, "focused": True} if is_focused else told


def _channel(place: Place) -> dict[str, Any]:
    if place.guild_id is None:
        return {"id": place.channel_id, "type": 1, "flags": 0}
    here = {"name": place.shown_name, "guild_id": place.guild_id}
    return {"id": place.channel_id, "type": 0, **here}


def _owners(place: Place, person: Person) -> dict[str, str]:
    if place.guest:
        return {"1": person.id}
    return {"0": place.guild_id or "0"}


def member(person: Person) -> dict[str, Any]:
    """Discord's member object: what somebody is in a server."""
    return {
        "user": person.user,
        "roles": list(person.roles),
        "nick": None,
        "avatar": None,
        "permissions": "2147483647",
        "joined_at": "2024-01-01T00:00:00.000000+00:00",
        "premium_since": None,
        "communication_disabled_until": None,
        "pending": False,
        "deaf": False,
        "mute": False,
        "flags": 0,
    }
