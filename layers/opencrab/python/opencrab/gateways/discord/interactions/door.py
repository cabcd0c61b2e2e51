"""The door of Discord: what is not signed, fresh and new stays outside, the rest is kept and taken.

It loads next to nothing and knows no installation. An interaction is kept before it is
acknowledged, so that nothing which somebody saw accepted is lost.
"""

import base64
import json
import logging
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from opencrab.domain.errors import OpenCrabError
from opencrab.gateways.discord.interactions import acks

FRESH_SECONDS = 300
"""How far a timestamp may be from now; a queue knows ids of messages for as long."""

MOST_BYTES = 1 << 18
MOST_CHOICES = 25
REMEMBERED = 1_000

_AMONG_OTHERS = 2
"""The context of a private conversation that is not with the bot."""

_CHOICE_CHARACTERS = 100
_SIGNATURE_LENGTH, _TIMESTAMP_LENGTH, _ID_LENGTH, _TOKEN_LENGTH = 128, 12, 20, 2_000
_DIGITS = frozenset("0123456789")
_HEX = _DIGITS | frozenset("abcdef")
_TOKEN = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-=:+/")
"""Sets, since each regular expression would take a part of a millisecond to compile."""

_KNOWN = frozenset({acks.PING, acks.COMMAND, acks.COMPONENT, acks.AUTOCOMPLETE, acks.MODAL_SUBMIT})
_UNCARRIED = {code: f"\\u{code:04x}" for code in (0xFFFE, 0xFFFF)}
"""What SQS does not carry and JSON may hold: the same string when it is escaped."""

log = logging.getLogger(__name__)

Verify = Callable[[bytes, bytes], bool]
"""Whether a signature is Discord's for a message."""

Acknowledge = Callable[[str, str, Mapping[str, object]], None]
"""Tell Discord, by an interaction's id and token, that it was taken; raises OpenCrabError."""

Choices = Callable[[], Any]
"""What can be chosen, as `acks.OFFERED` names its parts; raises OpenCrabError."""


class Send(Protocol):
    """A function like `ports.turn.queue.Queue.send`."""

    def __call__(self, body: str, *, group: str, deduplication: str) -> None:
        """Queue a message; raises OpenCrabError if it cannot be stored."""


class DoorResponse(NamedTuple):
    """The response to a request; without a body Discord was already answered by a call."""

    status: int
    body: Any = None

    @property
    def content(self) -> bytes:
        """The body as JSON; empty if there is none."""
        return b"" if self.body is None else json.dumps(self.body).encode()


class _NotOne(Exception):
    """The request is signed but is not an interaction that we know; the message says why."""


class DoorInteraction(NamedTuple):
    """The fields of an interaction that the endpoint needs."""

    id: str
    token: str
    kind: int
    group: str
    locale: object
    data: Mapping[str, Any]
    guild: str = ""
    channel: str = ""


class Door:
    """Discord's interactions endpoint, the same in Lambda and on your own computer."""

    def __init__(
        self, verify: Verify, send: Send, acknowledge: Acknowledge, choices: Choices
    ) -> None:
        self._verify = verify
        self._send = send
        self._acknowledge = acknowledge
        self._choices = choices
        self._taken: dict[str, None] = {}

    def answer(self, headers: Mapping[str, str], body: bytes, now: float) -> DoorResponse:
        """Answer a request; names of headers are in lower case, `now` is in seconds since 1970."""
        if len(body) > MOST_BYTES:
            return _refusal(413, f"the body has more than {MOST_BYTES} bytes")
        if not self._is_genuine(headers, body, now):
            return _refusal(401, "invalid request signature")
        try:
            text = body.decode()
            sent = json.loads(text)
            kind = _kind(sent)
            if kind == acks.PING:
                return DoorResponse(200, {"type": acks.PONG})
            interaction = _interaction(kind, sent)
        except (ValueError, RecursionError):
            return _refusal(400, "the body is not JSON")
        except _NotOne as error:
            return _refusal(400, str(error))
        return self._answered(interaction, text)

    def _is_genuine(self, headers: Mapping[str, str], body: bytes, now: float) -> bool:
        signature = headers.get("x-signature-ed25519", "")
        timestamp = headers.get("x-signature-timestamp", "")
        if len(signature) != _SIGNATURE_LENGTH or not _HEX.issuperset(signature):
            return False
        if not _is_made_of(_DIGITS, timestamp, _TIMESTAMP_LENGTH):
            return False
        if abs(now - int(timestamp)) > FRESH_SECONDS:
            return False
        return self._verify(bytes.fromhex(signature), timestamp.encode() + body)

    def _answered(self, interaction: DoorInteraction, text: str) -> DoorResponse:
        if interaction.kind == acks.AUTOCOMPLETE:
            return DoorResponse(
                200, {"type": acks.CHOICES, "data": {"choices": self._offer(interaction)}}
            )
        custom_id = str(interaction.data.get("custom_id", ""))
        if interaction.kind == acks.COMPONENT and custom_id.startswith(acks.STEER):
            return DoorResponse(
                200, acks.steering_form_of_interaction(custom_id, interaction.locale)
            )
        if interaction.id in self._taken:
            return _refusal(409, "this interaction was already accepted")
        return self._kept(interaction, text)

    def _kept(self, interaction: DoorInteraction, text: str) -> DoorResponse:
        """Queue an interaction and acknowledge it by a call; if that fails, in the response."""
        said = text if text.isascii() else text.translate(_UNCARRIED)
        try:
            self._send(said, group=interaction.group, deduplication=interaction.id)
        except OpenCrabError as error:
            log.error("cannot queue interaction: id=%s, error=%s", interaction.id, error)  # noqa: TRY400 - what failed is named
            return DoorResponse(200, acks.interaction_not_taken(interaction.locale))
        self._remember(interaction.id)
        acknowledgement = _acknowledgement(interaction)
        try:
            self._acknowledge(interaction.id, interaction.token, acknowledgement)
        except OpenCrabError as error:
            log.warning(
                "acknowledging by a call failed, using the HTTP response: id=%s, error=%s",
                interaction.id,
                error,
            )
            return DoorResponse(200, acknowledgement)
        return DoorResponse(202)

    def _remember(self, interaction_id: str) -> None:
        self._taken[interaction_id] = None
        if len(self._taken) > REMEMBERED:
            self._taken.pop(next(iter(self._taken)), None)

    def _offer(self, interaction: DoorInteraction) -> list[dict[str, str]]:
        """Return at most 25 choices that match the typed text; none if they cannot be read."""
        name, typed = _focused_option(interaction.data)
        if name not in acks.OFFERED:
            return []
        try:
            known = self._choices()
        except OpenCrabError as error:
            log.warning("autocomplete failed: id=%s, error=%s", interaction.id, error)
            return []
        if not isinstance(known, dict) or not _is_admitted(known.get("guilds"), interaction.guild):
            return []
        return _fitting(known.get(acks.OFFERED[name]), typed, interaction.channel)


def discord_interaction_headers_and_body(event: Mapping[str, Any]) -> tuple[dict[str, str], bytes]:
    """Return the headers and body of an API Gateway event; a malformed body becomes empty."""
    headers = {name.lower(): str(text) for name, text in (event.get("headers") or {}).items()}
    content = event.get("body") or ""
    try:
        if event.get("isBase64Encoded"):
            return headers, base64.b64decode(content, validate=True)
        return headers, content.encode()
    except ValueError:
        return headers, b""


def interaction_http_result(answer: DoorResponse) -> dict[str, Any]:
    """Convert a response to the form that API Gateway takes."""
    given = {} if answer.body is None else {"content-type": "application/json"}
    return {"statusCode": answer.status, "headers": given, "body": answer.content.decode()}


def _refusal(status: int, why: str) -> DoorResponse:
    return DoorResponse(status, {"error": why})


def _kind(sent: Any) -> int:
    """Return the type of an interaction; raises _NotOne."""
    kind = sent.get("type") if isinstance(sent, dict) else None
    if type(kind) is not int or kind not in _KNOWN:
        raise _NotOne(f"unknown type of interaction: {str(kind)[:40]}")
    return kind


def _interaction(kind: int, sent: Mapping[str, Any]) -> DoorInteraction:
    """Return the fields that the endpoint needs; raises _NotOne."""
    person = _person(sent)
    channel_id: Any = sent.get("channel_id")
    guild = str(sent.get("guild_id") or "")
    data = sent.get("data")
    return DoorInteraction(
        id=_validate_field(sent.get("id"), "id"),
        token=_validate_field(sent.get("token"), "token", _TOKEN, _TOKEN_LENGTH),
        kind=kind,
        group=channel_id if _is_made_of(_DIGITS, channel_id, _ID_LENGTH) else person,
        locale=sent.get("locale"),
        data=data if isinstance(data, dict) else {},
        guild=guild,
        channel=str(channel_id) if guild or sent.get("context") == _AMONG_OTHERS else "",
    )


def _person(sent: Mapping[str, Any]) -> str:
    """Return the id of the user: in a server from the member, in private from the user."""
    member = sent.get("member")
    user = member.get("user") if isinstance(member, dict) else sent.get("user")
    if not isinstance(user, dict):
        raise _NotOne("the interaction has neither a member nor a user")
    return _validate_field(user.get("id"), "user's id")


def _is_made_of(letters: frozenset[str], value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and letters.issuperset(value)


def _validate_field(
    value: Any, what: str, letters: frozenset[str] = _DIGITS, longest: int = _ID_LENGTH
) -> str:
    if not _is_made_of(letters, value, longest):
        raise _NotOne(f"the {what} is missing or malformed")
    return str(value)


def _acknowledgement(interaction: DoorInteraction) -> Mapping[str, object]:
    if interaction.kind == acks.COMMAND:
        return acks.ack_of_command_interaction(str(interaction.data.get("name", "")))
    return (
        acks.discord_ack_of_button()
        if interaction.kind == acks.COMPONENT
        else acks.discord_ack_of_form()
    )


def _focused_option(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of the option that the user is typing into, and the text so far."""
    for option in _options(data):
        if option.get("focused") is True:
            return str(option.get("name", "")), str(option.get("value", ""))
    return "", ""


def _options(data: Mapping[str, Any], depth: int = 3) -> Iterator[Mapping[str, Any]]:
    """Return the options of a command, of its subcommand and of its subcommand group."""
    listed = data.get("options")
    for option in listed if isinstance(listed, list) else []:
        if isinstance(option, dict):
            yield option
            if depth > 1:
                yield from _options(option, depth - 1)


def _fitting(listed: Any, typed: str, channel: str) -> list[dict[str, str]]:
    """Return the choices that contain the typed text, ignoring case and width.

    In a shared channel, choices that belong to other channels only are left out.
    """
    wanted = _normalize_text(typed).strip()
    found: list[dict[str, str]] = []
    for each in listed if isinstance(listed, list) else []:
        if not isinstance(each, dict) or not _is_here(each.get("channels"), channel):
            continue
        name, value = str(each.get("name", "")), str(each.get("id", ""))
        if not name.strip() or not 0 < len(value) <= _CHOICE_CHARACTERS:
            continue
        if wanted in _normalize_text(name) or wanted in _normalize_text(value):
            found.append({"name": _cut(name), "value": value})
        if len(found) == MOST_CHOICES:
            break
    return found


def _is_admitted(guilds: Any, guild: str) -> bool:
    """Check whether a server gets choices; if servers are listed, private chats get none."""
    return not guilds or guild in guilds


def _is_here(channels: Any, channel: str) -> bool:
    return not channels or not channel or channel in channels


def _normalize_text(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _cut(name: str) -> str:
    """Cut a name to 100 UTF-16 units, the limit of Discord."""
    units = name.encode("utf-16-le", "ignore")[: 2 * _CHOICE_CHARACTERS]
    return units.decode("utf-16-le", "ignore")
