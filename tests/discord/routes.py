"""Routes: the operations of Discord's API that agents use, each with its rules and its effect."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.discord import payloads, spec
from tests.discord.commands import Commands
from tests.discord.refusals import Refusal, invalid, not_found
from tests.discord.request import Answer, Request
from tests.discord.rules import (
    POST,
    WEBHOOK,
    check_choices,
    check_deferral,
    check_message,
    check_modal,
    check_post,
)
from tests.discord.state import Interaction, Person, Place
from tests.discord.world import Draft, World


@dataclass(frozen=True)
class Call:
    """A request at its operation, with the parameters of its path."""

    world: World
    commands: Commands
    request: Request
    parameters: dict[str, str]

    @property
    def bot(self) -> Person:
        """Who calls."""
        return self.world.bots[self.request.headers["authorization"].removeprefix("Bot ")]

    @property
    def interaction(self) -> Interaction:
        """The interaction whose token the address holds."""
        named = self.parameters
        return self.world.by_token(named["webhook_id"], named["webhook_token"])

    def draft(self, known: frozenset[str]) -> Draft:
        """The message in the body, which keeps the rules."""
        check_message(self.request.json, self.request.files, known=known)
        return Draft(self.request.json, self.request.files)

    def told(self, message: Any) -> Answer:
        """A message as an answer."""
        return Answer(200, message.json(self.world.application_id))


Operation = Callable[[Call], Answer]


@dataclass(frozen=True)
class Route:
    """One operation: its method, its path as the description writes it, and what it does."""

    method: str
    template: str
    operation: Operation

    def match(self, method: str, path: str) -> dict[str, str] | None:
        """The parameters of a path that this is the route of."""
        if method != self.method:
            return None
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.template)
        found = re.fullmatch(pattern, path)
        return None if found is None else found.groupdict()

    @property
    def major(self) -> str:
        """The parameter that has a bucket of its own."""
        return "channel_id" if "channel_id" in self.template else "webhook_token"


def acknowledge(call: Call) -> Answer:
    """The first answer to an interaction, apart from the answer to its request."""
    world, named = call.world, call.parameters
    interaction = world.interactions.get(named["interaction_id"])
    if interaction is None or interaction.token != named["interaction_token"]:
        raise not_found(10062)
    message = apply_answer(world, interaction, call.request, inline=False)
    if call.request.query.get("with_response") != "true":
        return Answer(204)
    told: dict[str, Any] = {"interaction": {"id": interaction.id, "type": interaction.kind}}
    if message is not None:
        told["interaction"] |= {
            "response_message_id": message.id,
            "response_message_loading": message.is_loading,
            "response_message_ephemeral": message.shown_to is not None,
        }
        kind = call.request.json["type"]
        if kind in {4, 7}:
            told["resource"] = {"type": kind, "message": message.json(world.application_id)}
    return Answer(200, told)


def apply_answer(world: World, interaction: Interaction, request: Request, *, inline: bool) -> Any:
    """Check a first answer, and let it happen."""
    body = request.json
    spec.judge("/interactions/{interaction_id}/{interaction_token}/callback", "post", body)
    if not isinstance(body, dict) or not isinstance(body.get("type"), int):
        raise invalid("type", "BASE_TYPE_REQUIRED", "an answer has a type")
    if set(body) - {"type", "data"}:
        raise invalid("", "OURS_UNKNOWN_KEY", "an answer has a type and data")
    data = body.get("data")
    match body["type"]:
        case 4 | 7:
            check_message(data, request.files, known=WEBHOOK)
        case 5:
            check_deferral(data)
        case 6 if data:
            raise invalid("data", "OURS_DEFERRAL", "a deferred update has no data")
        case 8:
            check_choices(data or {})
        case 9:
            check_modal(data or {})
    draft = Draft(data or {}, request.files)
    return world.answer(interaction, body["type"], draft, inline=inline)


def _get_original(call: Call) -> Answer:
    return call.told(call.world.original(call.interaction))


def _edit_original(call: Call) -> Answer:
    draft = call.draft(WEBHOOK)
    return call.told(call.world.edit_original(call.interaction, draft))


def _delete_original(call: Call) -> Answer:
    call.world.delete_original(call.interaction)
    return Answer(204)


def _follow_up(call: Call) -> Answer:
    draft = call.draft(WEBHOOK)
    return call.told(call.world.follow_up(call.interaction, draft))


def _post(call: Call) -> Answer:
    draft = call.draft(POST)
    check_post(draft.body)
    return call.told(call.world.post(call.parameters["channel_id"], call.bot, draft))


def _edit(call: Call) -> Answer:
    named = call.parameters
    draft = call.draft(POST - {"nonce", "enforce_nonce"})
    message = call.world.edit(named["channel_id"], named["message_id"], call.bot, draft)
    return call.told(message)


def _delete(call: Call) -> Answer:
    named = call.parameters
    call.world.delete(named["channel_id"], named["message_id"], call.bot)
    return Answer(204)


def _read(call: Call) -> Answer:
    named = call.parameters
    return call.told(call.world.message(named["channel_id"], named["message_id"]))


def _read_many(call: Call) -> Answer:
    """The newest first, as Discord answers them."""
    world, query = call.world, call.request.query
    place = world.place(call.parameters["channel_id"])
    limit = int(query.get("limit", "50"))
    if not 1 <= limit <= 100:
        raise invalid("limit", "NUMBER_TYPE_MAX", "1 to 100")
    after, before = int(query.get("after", "0")), int(query.get("before", str(1 << 63)))
    seen = [
        each
        for each in world.messages.values()
        if each.channel_id == place.channel_id and not each.deleted and each.shown_to is None
        if after < int(each.id) < before
    ]
    seen.sort(key=lambda each: int(each.id))
    chosen = seen[:limit] if "after" in query else seen[-limit:]
    return Answer(200, [each.json(world.application_id) for each in reversed(chosen)])


def _commands(call: Call) -> Answer:
    spelt = call.request.query.get("with_localizations") == "true"
    return Answer(200, call.commands.told(call.parameters, spelt=spelt))


def _overwrite(call: Call) -> Answer:
    return Answer(200, call.commands.overwrite(call.parameters, call.request.json))


def _application(call: Call) -> Answer:
    return Answer(200, call.commands.application())


def _change_application(call: Call) -> Answer:
    call.commands.settings.update(call.request.json)
    return Answer(200, call.commands.application())


def _me(call: Call) -> Answer:
    return Answer(200, call.bot.user)


def _guilds(call: Call) -> Answer:
    names = call.world.guilds
    return Answer(200, [_guild_of(call, each) for each in sorted(names)])


def _guild(call: Call) -> Answer:
    guild_id = call.parameters["guild_id"]
    if guild_id not in call.world.guilds:
        raise not_found(10004)
    return Answer(200, _guild_of(call, guild_id))


def _member(call: Call) -> Answer:
    _guild(call)
    person = call.world.people.get(call.parameters["user_id"], call.bot)
    return Answer(200, {**payloads.member(person), "permissions": "277025770560"})


def _roles(call: Call) -> Answer:
    """The role of everybody, which a server has under its own id."""
    _guild(call)
    guild_id = call.parameters["guild_id"]
    return Answer(200, [{"id": guild_id, "name": "@everyone", "permissions": "277025770560"}])


def _channels(call: Call) -> Answer:
    _guild(call)
    guild_id = call.parameters["guild_id"]
    places = [each for each in call.world.places.values() if each.guild_id == guild_id]
    return Answer(200, [_channel_of(each) for each in places])


def _channel(call: Call) -> Answer:
    place = call.world.place(call.parameters["channel_id"])
    return Answer(200, _channel_of(place))


def _gateway(call: Call) -> Answer:
    left = {"total": 1000, "remaining": 999, "reset_after": 14400000, "max_concurrency": 1}
    told = {"url": call.world.gateway_url, "shards": 1, "session_start_limit": left}
    return Answer(200, told)


def _guild_of(call: Call, guild_id: str) -> dict[str, Any]:
    name = call.world.guilds[guild_id]
    return {"id": guild_id, "name": name, "owner": False, "permissions": "277025770560"}


def _channel_of(place: Place) -> dict[str, Any]:
    if place.guild_id is None:
        return {"id": place.channel_id, "type": 1}
    return {
        "id": place.channel_id,
        "type": 0,
        "name": place.shown_name,
        "guild_id": place.guild_id,
        "parent_id": None,
        "position": 0,
        "permission_overwrites": [],
        "topic": None,
        "last_message_id": None,
        "rate_limit_per_user": 0,
        "flags": 0,
        "nsfw": False,
    }


_CALLBACK = "/interactions/{interaction_id}/{interaction_token}/callback"
_HOOK = "/webhooks/{webhook_id}/{webhook_token}"
_MESSAGES = "/channels/{channel_id}/messages"
_GLOBAL = "/applications/{application_id}/commands"
_LOCAL = "/applications/{application_id}/guilds/{guild_id}/commands"

ROUTES = (
    Route("POST", _CALLBACK, acknowledge),
    Route("GET", f"{_HOOK}/messages/@original", _get_original),
    Route("PATCH", f"{_HOOK}/messages/@original", _edit_original),
    Route("DELETE", f"{_HOOK}/messages/@original", _delete_original),
    Route("POST", _HOOK, _follow_up),
    Route("POST", _MESSAGES, _post),
    Route("GET", _MESSAGES, _read_many),
    Route("PATCH", f"{_MESSAGES}/{{message_id}}", _edit),
    Route("GET", f"{_MESSAGES}/{{message_id}}", _read),
    Route("DELETE", f"{_MESSAGES}/{{message_id}}", _delete),
    Route("GET", "/channels/{channel_id}", _channel),
    Route("GET", _GLOBAL, _commands),
    Route("PUT", _GLOBAL, _overwrite),
    Route("GET", _LOCAL, _commands),
    Route("PUT", _LOCAL, _overwrite),
    Route("GET", "/applications/@me", _application),
    Route("PATCH", "/applications/@me", _change_application),
    Route("GET", "/users/@me", _me),
    Route("GET", "/users/@me/guilds", _guilds),
    Route("GET", "/guilds/{guild_id}", _guild),
    Route("GET", "/guilds/{guild_id}/members/{user_id}", _member),
    Route("GET", "/guilds/{guild_id}/roles", _roles),
    Route("GET", "/guilds/{guild_id}/channels", _channels),
    Route("GET", "/gateway/bot", _gateway),
)


def find(request: Request) -> tuple[Route, dict[str, str]]:
    """The route of a request, with its parameters; raises a refusal where there is none."""
    for route in ROUTES:
        parameters = route.match(request.method, request.path)
        if parameters is not None:
            return route, parameters
    raise Refusal(404, 0, complaint=f"no such route: {request.line}")
