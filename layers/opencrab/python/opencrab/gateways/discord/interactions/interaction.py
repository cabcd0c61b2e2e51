"""Interaction: what somebody did on Discord, read from Discord's own words into a frozen value.

What Discord adds some day is passed over; what is needed and missing makes the whole thing Invalid.
"""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from pydantic import ValidationError

from opencrab.domain.conversation.sent_file import FILES, URL_CHARACTERS, SentFile, sent_file_name
from opencrab.domain.discord.community import InteractionReply, Person
from opencrab.domain.errors import Invalid
from opencrab.domain.text.hidden import name_without_hidden_text
from opencrab.domain.value import Language, value_with_surrogates_joined
from opencrab.gateways.discord.interactions.acks import (
    EPHEMERAL,
    PUBLIC_COMMANDS,
    interaction_language,
)

_NAME = 100
_DEPTH = 32
_SUBCOMMANDS = {1, 2}
_MENU = 3
_BOT_DM, _PRIVATE = 1, 2
_INVISIBLE = {"Cc", "Cs", "Zl", "Zp"}
"""What turns the direction of the text after it."""

Raw = Mapping[str, Any]


class Kind(IntEnum):
    """Discord's types of interactions that reach the worker."""

    COMMAND = 2
    COMPONENT = 3
    MODAL = 5


@dataclass(frozen=True)
class Target:
    """A message that a user selected, with its author and its files."""

    id: str
    author: Person
    text: str
    files: tuple[SentFile, ...] = ()


@dataclass(frozen=True)
class Shown:
    """The message to which a pressed button belongs."""

    content: str = ""
    components: tuple[Raw, ...] = ()


@dataclass(frozen=True)
class Interaction:
    """One interaction; `name` is the command with its subcommand, `values` a modal's inputs.

    `files` are those that its options name.
    """

    kind: Kind
    person: Person
    reply: InteractionReply
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[SentFile, ...] = ()
    target: Target | None = None
    custom_id: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    shown: Shown = field(default_factory=Shown)


def parse_interaction(body: str) -> Interaction:
    """Parse an interaction from its JSON; raises Invalid."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("the interaction is not JSON") from error
    if not isinstance(raw, dict):
        raise Invalid("the interaction is not a JSON object")
    data = _object(raw, "data")
    try:
        kind = Kind(raw.get("type", 0))
        person = _person(raw)
        name, options = _command(data)
        return Interaction(
            kind=kind,
            person=person,
            name=name,
            options=options,
            files=_files(_object(_object(data, "resolved"), "attachments").values()),
            target=_target(data),
            custom_id=_text(data, "custom_id"),
            values=dict(_inputs(data)),
            shown=_parse_message(_object(raw, "message")),
            reply=_reply(raw, kind, person),
        )
    except (ValidationError, ValueError, TypeError) as error:
        raise Invalid("malformed interaction") from error


def _interaction_words(text: str) -> str:
    """Return a text with surrogate pairs joined and without NUL characters."""
    return str(value_with_surrogates_joined(text)).replace("\x00", "")


def interaction_user_name(*wanted: str) -> str:
    """Return the first of these that is a valid name: one line of at most 100 characters."""
    for text in wanted:
        composed = unicodedata.normalize("NFC", str(value_with_surrogates_joined(text)))
        kept = (
            " " if unicodedata.category(each) in _INVISIBLE else each
            for each in name_without_hidden_text(composed)
        )
        name = " ".join("".join(kept).split())[:_NAME].strip()
        if name:
            return name
    return "?"


def _person(raw: Raw) -> Person:
    """Return the user: a member of a server, or a user in private, never both."""
    member, user = _object(raw, "member"), _object(raw, "user")
    if bool(member) == bool(user):
        raise ValueError("the interaction must have either a member or a user")
    return _somebody(_object(member, "user") if member else user, member)


def _somebody(user: Raw, member: Raw) -> Person:
    shown = (_text(member, "nick"), _text(user, "global_name"), _text(user, "username"))
    roles = tuple(each for each in _list(member, "roles") if isinstance(each, str))
    identifier = _text(user, "id")
    return Person(
        id=identifier,
        name=interaction_user_name(*shown, identifier),
        role_ids=roles,
        is_bot=user.get("bot") is True,
    )


def _reply(raw: Raw, kind: Kind, person: Person) -> InteractionReply:
    channel_id = _text(raw, "channel_id") or _text(_object(raw, "channel"), "id") or person.id
    return InteractionReply(
        id=_text(raw, "id"),
        application_id=_text(raw, "application_id"),
        token=_text(raw, "token"),
        channel_id=channel_id,
        guild_id=_text(raw, "guild_id") or None,
        is_ephemeral=_is_quiet(raw, kind),
        is_guest=_is_guest(raw),
        language=Language(interaction_language(raw.get("locale"))),
    )


def _is_quiet(raw: Raw, kind: Kind) -> bool:
    """Check whether only the user sees the answer; for a button, as its message was shown."""
    if kind is Kind.COMMAND:
        return _text(_object(raw, "data"), "name") not in PUBLIC_COMMANDS
    flags = _object(raw, "message").get("flags")
    return kind is Kind.MODAL or (isinstance(flags, int) and bool(flags & EPHEMERAL))


def _is_guest(raw: Raw) -> bool:
    """Check whether the bot is not in this server, because only the user installed it.

    In a conversation with the bot itself that is never so; owner "0" means no server.
    """
    owners, context = _object(raw, "authorizing_integration_owners"), raw.get("context")
    if context == _PRIVATE:
        return True
    if context == _BOT_DM or "1" not in owners:
        return False
    return owners.get("0") in {None, "0"}


def _command(data: Raw) -> tuple[str, dict[str, Any]]:
    """Return a command's name with its subcommands, and its options by name."""
    names, options = [_text(data, "name")], _list(data, "options")
    for _ in range(2):
        first = options[0] if options and isinstance(options[0], dict) else {}
        if first.get("type") not in _SUBCOMMANDS:
            break
        names.append(_text(first, "name"))
        options = _list(first, "options")
    given = (each for each in options if isinstance(each, dict))
    return " ".join(names).strip(), {
        _text(each, "name"): _interaction_words(value) if isinstance(value, str) else value
        for each in given
        if isinstance(value := each.get("value"), str | int | float)
    }


def _target(data: Raw) -> Target | None:
    if data.get("type") != _MENU:
        return None
    target_id = _text(data, "target_id")
    message = _object(_object(_object(data, "resolved"), "messages"), target_id)
    return Target(
        id=target_id,
        author=_somebody(_object(message, "author"), {}),
        text=_interaction_words(_text(message, "content")),
        files=_files(_list(message, "attachments")),
    )


def _files(attachments: Iterable[Any]) -> tuple[SentFile, ...]:
    listed = [each for each in attachments if isinstance(each, dict)]
    return tuple(map(_file, listed[:FILES]))


def _file(attachment: Raw) -> SentFile:
    url, size = _text(attachment, "url"), attachment.get("size")
    return SentFile(
        name=interaction_user_name(
            sent_file_name(_text(attachment, "filename"), _text(attachment, "title"))
        ),
        size=size if isinstance(size, int) and size > 0 else 0,
        url=_interaction_words(url) if len(url) <= URL_CHARACTERS else "",
    )


def _parse_message(message: Raw) -> Shown:
    components = tuple(each for each in _list(message, "components") if isinstance(each, dict))
    return Shown(content=_interaction_words(_text(message, "content")), components=components)


def _inputs(component: Raw, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Return the ids and texts of a modal's inputs, which are nested in labels or rows."""
    if isinstance(component.get("value"), str):
        yield _text(component, "custom_id"), _interaction_words(component["value"])
    if depth < _DEPTH:
        inner = (*_list(component, "components"), component.get("component"))
        for each in inner:
            if isinstance(each, dict):
                yield from _inputs(each, depth + 1)


def _object(raw: Raw, key: str) -> Raw:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _list(raw: Raw, key: str) -> list[Any]:
    value = raw.get(key)
    return value if isinstance(value, list) else []


def _text(raw: Raw, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""
